"""One server for the whole folder, reset between tests; hides the developer's own keys and addresses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loopback import LoopbackServer
from tests.reranking.rerank_server import ranking_response
from tests.reranking.tiny_model import make_folder
from veracity.reranking.remote import SERVICES


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in SERVICES.values():
        monkeypatch.delenv(service.key_variable, raising=False)
        monkeypatch.delenv(service.url_variable, raising=False)


@pytest.fixture(scope="package")
def running_server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        yield running


@pytest.fixture
def server(running_server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, no_credentials: None) -> LoopbackServer:
    running_server.reset()
    running_server.respond_with(ranking_response())
    monkeypatch.setenv("RERANK_BASE_URL", running_server.url)
    return running_server


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny cross-encoder. Not to be changed."""
    return make_folder(tmp_path_factory.mktemp("tiny"))
