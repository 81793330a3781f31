"""A workspace with documents, a web search server and a pseudo-terminal."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import Talk, make_talk
from tests.runs.scripts import DOCUMENTS
from tests.runs.websites import SearchServer
from veracity.engine import Veracity
from veracity.settings import Settings

WORDS_ONLY = "[models]\nembedder = 'none'\n"


@pytest.fixture(scope="session")
def filled_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("filled") / "workspace"
    with Veracity(root, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        engine.add(DOCUMENTS)
    return root


@pytest.fixture
def filled(filled_workspace: Path, workspace: Path) -> Path:
    """A workspace with documents and without an embedder."""
    shutil.copytree(filled_workspace, workspace, dirs_exist_ok=True)
    (workspace / "veracity.toml").write_text(WORDS_ONLY)
    return workspace


@pytest.fixture
def strict(filled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace where every answer needs approval."""
    monkeypatch.setenv("VERACITY_APPROVAL__POLICY", "always")
    return filled


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchServer]:
    with SearchServer() as server:
        monkeypatch.setenv("VERACITY_WEB__PROVIDER", "searxng")
        monkeypatch.setenv("VERACITY_WEB__SEARXNG_URL", server.settings["searxng_url"])
        yield server


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Talk:
    """`talk("chat", …, typed=[("> ", "Hello\\r"), …])`: types at a terminal."""
    return make_talk(monkeypatch)
