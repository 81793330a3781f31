"""Libraries in temporary folders that share the worker processes of the test session."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge.material import HashEmbedder, MakeLibrary, aged
from tests.moto import keys, moto
from veracity.embedding import Embedder
from veracity.knowledge.library import Library
from veracity.knowledge.prepare import TASK
from veracity.reading.sandbox.pool import SandboxPool
from veracity.settings import KnowledgeSettings, ReadingSettings

__all__ = ["keys", "moto"]


@pytest.fixture(scope="session")
def workers() -> Iterator[SandboxPool]:
    with SandboxPool(TASK, workers=2, seconds=600, memory_megabytes=1024) as shared:
        yield shared


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "knowledge"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


@pytest.fixture
def make_library(folder: Path, workers: SandboxPool) -> MakeLibrary:
    def make(embedder: Embedder | None = None, reading: ReadingSettings | None = None, **knowledge: Any) -> Library:
        settings = KnowledgeSettings(**{"passage_tokens": 200, "overlap_tokens": 30, **knowledge})
        made = Library(folder, embedder or HashEmbedder(), settings, reading or ReadingSettings(workers=2))
        made._ingestion._workers = workers
        return made

    return make


@pytest.fixture
def library(make_library: MakeLibrary) -> Library:
    return make_library()


@pytest.fixture
def write(files: Path) -> Callable[..., Path]:
    """`write("a.md", text)` returns the path. The file looks old, so that its timestamp proves it unchanged."""

    def write(name: str, text: str | bytes, *, age: float = 100) -> Path:
        path = files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return aged(path, age)

    return write
