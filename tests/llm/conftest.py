"""One server for the whole folder, reset between tests, so that an LLM can keep its connections."""

from collections.abc import Iterator

import pytest

from tests.loopback import LoopbackServer


@pytest.fixture(scope="package")
def running_server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        yield running


@pytest.fixture
def server(running_server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> LoopbackServer:
    running_server.reset()
    monkeypatch.setenv("OPENAI_BASE_URL", running_server.url)
    return running_server
