"""Workspaces with documents, a copy for each test, and engines with scripted models."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.scripts import DOCUMENTS
from tests.runs.websites import SearchServer
from tests.waiting import PATIENT
from veracity.engine import Veracity
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

MakeEngine = Callable[..., Veracity]
ROLES = ("writer", "reviewer", "rewriter", "router", "summarizer", "judge")


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("filled") / "workspace"
    with Veracity(root, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        report = engine.add(DOCUMENTS)
        assert report.count("added") == len(DOCUMENTS)
        with engine._parts.ledger._database.writing():
            pass  # creates the ledger, which the copies then have
    return root


@pytest.fixture
def root(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "workspace"))


@pytest.fixture
def engine_with(root: Path) -> Iterator[MakeEngine]:
    """`engine_with(llm, answering={...})`: every role in the script gets a model. The approval policy is "never" unless
    `approval` is set."""
    engines: list[Veracity] = []

    def make(llm: ScriptedLLM | None = None, **sections: Any) -> Veracity:
        roles = [role for role in ROLES if llm and llm._script.of(role)]
        local = dict.fromkeys(("embedder", "reranker", "reader"), "none")
        models = {**local, **{role: f"test:{role}" for role in roles}, **sections.pop("models", {})}
        sections["approval"] = {"undo_seconds": 0, **sections.get("approval", {"policy": "never"})}
        sections["server"] = {"examples": False, **sections.get("server", {})}  # no work in the background
        sections.update({name: {**deadlines, **sections.get(name, {})} for name, deadlines in PATIENT.items()})
        engines.append(Veracity(root, settings=Settings.model_validate({"models": models, **sections}), llm=llm))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def gated(engine_with: MakeEngine) -> MakeEngine:
    """Like `engine_with`, with the default approval settings."""
    return lambda llm=None, **sections: engine_with(llm, **{"approval": {}, **sections})


@pytest.fixture
def website() -> Iterator[SearchServer]:
    with SearchServer() as server:
        yield server
