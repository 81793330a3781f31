"""Workspaces with documents in them, each test its own copy, and engines over them whose models follow a script."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runs.scripts import DOCUMENTS
from veracity.engine import Veracity
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

MakeEngine = Callable[..., Veracity]


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("filled") / "workspace"
    with Veracity(root, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        report = engine.add(DOCUMENTS)
        assert report.count("added") == len(DOCUMENTS)
    return root


@pytest.fixture
def root(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "workspace"))


@pytest.fixture
def engine_with(root: Path) -> Iterator[MakeEngine]:
    """`engine_with(llm, answering={...})`: each role that the script has is set to a model."""
    made: list[Veracity] = []

    def make(llm: ScriptedLLM | None = None, **sections: Any) -> Veracity:
        roles = [role for role in ("writer", "reviewer", "rewriter") if llm and llm._script.of(role)]
        models = {"embedder": "none", **{role: f"test:{role}" for role in roles}, **sections.pop("models", {})}
        made.append(Veracity(root, settings=Settings.model_validate({"models": models, **sections}), llm=llm))
        return made[-1]

    yield make
    for engine in made:
        engine.close()
