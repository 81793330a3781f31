"""Libraries in folders of their own that share the worker processes of the test session."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge.material import Hashed, MakeLibrary, aged
from veracity.embedding import Embedder
from veracity.knowledge.library import Library
from veracity.knowledge.prepare import TASK
from veracity.reading import CappedWorkers
from veracity.settings import KnowledgeSettings, ReadingSettings


@pytest.fixture(scope="session")
def workers() -> Iterator[CappedWorkers]:
    with CappedWorkers(TASK, workers=2, seconds=60, memory_megabytes=1024) as shared:
        yield shared


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "knowledge"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


@pytest.fixture
def make_library(folder: Path, workers: CappedWorkers) -> MakeLibrary:
    def make(embedder: Embedder | None = None, reading: ReadingSettings | None = None, **knowledge: Any) -> Library:
        settings = KnowledgeSettings(**{"passage_tokens": 200, "overlap_tokens": 30, **knowledge})
        made = Library(folder, embedder or Hashed(), settings, reading or ReadingSettings(workers=2))
        made._ingestion._workers = workers
        return made

    return make


@pytest.fixture
def library(make_library: MakeLibrary) -> Library:
    return make_library()


@pytest.fixture
def write(files: Path) -> Callable[..., Path]:
    """`write("a.md", text)` gives the path. It looks old, so that its looks tell whether it was changed."""

    def write(name: str, text: str | bytes, *, age: float = 100) -> Path:
        path = files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return aged(path, age)

    return write
