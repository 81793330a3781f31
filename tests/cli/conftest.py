"""A workspace with documents to ask, a web to search, and a terminal to sit at."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminals import Talk, talker
from tests.runs.scripts import DOCUMENTS
from tests.runs.websites import SearchServer
from veracity.engine import Veracity
from veracity.settings import Settings

WORDS_ONLY = "[models]\nembedder = 'none'\n"


@pytest.fixture(scope="session")
def documents_brought_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("filled") / "workspace"
    with Veracity(root, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        engine.add(DOCUMENTS)
    return root


@pytest.fixture
def asked(documents_brought_in: Path, workspace: Path) -> Path:
    """A workspace that searches by words, with documents in it."""
    shutil.copytree(documents_brought_in, workspace, dirs_exist_ok=True)
    (workspace / "veracity.toml").write_text(WORDS_ONLY)
    return workspace


@pytest.fixture
def careful(asked: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One where a person decides on every answer."""
    monkeypatch.setenv("VERACITY_APPROVAL__POLICY", "always")
    return asked


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchServer]:
    with SearchServer() as server:
        monkeypatch.setenv("VERACITY_WEB__PROVIDER", "searxng")
        monkeypatch.setenv("VERACITY_WEB__SEARXNG_URL", server.settings["searxng_url"])
        yield server


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Talk:
    """`talk("chat", …, typed=[("> ", "Hello\\r"), …])`: as somebody at a terminal does it."""
    return talker(monkeypatch)
