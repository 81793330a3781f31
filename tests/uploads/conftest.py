"""An engine on a new workspace, with reader processes that all these tests share."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from veracity.engine import Veracity
from veracity.knowledge.prepare import TASK
from veracity.reading.sandbox.pool import SandboxPool
from veracity.settings import Settings

SETTINGS = Settings.model_validate({"models": {"embedder": "none"}, "reading": {"max_megabytes": 1, "workers": 1}})

OpenEngine = Callable[[Path], AbstractContextManager[Veracity]]


@pytest.fixture(scope="session")
def open_engine() -> Iterator[OpenEngine]:
    with SandboxPool(TASK, workers=1, seconds=60, memory_megabytes=1024) as shared:

        @contextmanager
        def opened(root: Path) -> Iterator[Veracity]:
            with Veracity(root, settings=SETTINGS) as engine:
                ingestion = engine._parts.library._ingestion
                own, ingestion._workers = ingestion._workers, shared
                yield engine
                ingestion._workers = own  # closed with the engine

        yield opened


@pytest.fixture
def engine(tmp_path: Path, open_engine: OpenEngine) -> Iterator[Veracity]:
    with open_engine(tmp_path / "work") as engine:
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "work" / "uploads"
