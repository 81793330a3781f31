"""One server for the whole folder, reset between tests."""

from collections.abc import Iterator

import pytest

from tests.embedding.embedding_server import vector_response
from tests.loopback import LoopbackServer


@pytest.fixture(scope="package")
def running_server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        yield running


@pytest.fixture
def server(running_server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> LoopbackServer:
    running_server.reset()
    running_server.respond_with(vector_response())
    monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
    return running_server
