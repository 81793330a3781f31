"""One server for the whole folder, forgetful between tests; none of the developer's own keys and addresses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.loopback import LoopbackServer
from tests.reranking.rerank_server import reranks
from tests.reranking.tiny_model import make_folder
from veracity.reranking.remote import SERVICES


@pytest.fixture(autouse=True)
def no_way_in(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in SERVICES.values():
        monkeypatch.delenv(service.key_variable, raising=False)
        monkeypatch.delenv(service.address_variable, raising=False)


@pytest.fixture(scope="package")
def running_server() -> Iterator[LoopbackServer]:
    with LoopbackServer() as running:
        yield running


@pytest.fixture
def server(running_server: LoopbackServer, monkeypatch: pytest.MonkeyPatch, no_way_in: None) -> LoopbackServer:
    running_server.forget()
    running_server.behaves(reranks())
    monkeypatch.setenv("RERANK_BASE_URL", running_server.url)
    return running_server


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny cross-encoder. Not to be changed."""
    return make_folder(tmp_path_factory.mktemp("tiny"))
