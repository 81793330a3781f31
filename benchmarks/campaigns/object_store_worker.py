"""The writers of the object store campaign. Each runs in a process of its own that may be killed at any request."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from benchmarks.campaigns.s3_servers import ENVIRONMENT
from veracity.errors import BusyError, KnowledgeError
from veracity.knowledge import store as store_module
from veracity.knowledge.library import Library
from veracity.knowledge.location import SharedLock
from veracity.knowledge.object_store import S3Location
from veracity.knowledge.prepare import prepare
from veracity.models import Document, Outcome
from veracity.settings import KnowledgeSettings, ReadingSettings

BUSY_SECONDS = 0.05
SENTENCES = (
    "Every engineer in Dublin gets twenty-five days of leave.",
    "上海办公室的员工出差时每晚住宿不超过六百元。",
    "大阪の社員は年に二十日の有給休暇をもらえます。",
)


class LengthEmbedder:
    """Two dimensions are enough: the campaign searches by words."""

    name, dimensions = "length", 2

    def covers(self, text: str) -> bool:
        return True

    def embed_passages(self, texts: list[str]) -> NDArray[np.float32]:
        return np.array([[1.0, 1.0 / len(text)] for text in texts], np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embed_passages([text])[0]
        return vector


class InProcessWorkers:
    """Prepares documents without reader processes, which take longer to start than a round takes."""

    def submit(self, request: dict[str, Any]) -> Future[dict[str, Any]]:
        future: Future[dict[str, Any]] = Future()
        future.set_result(prepare(request))
        return future

    def close(self) -> None:
        pass


def text_of(document_id: str, writer: int) -> str:
    """The writer's text for a document: a few passages in three languages, and a word of its own."""
    return "\n\n".join([f"# {document_id} by writer {writer}", *(SENTENCES * 4)])


def make_library(url: str, endpoint: str, locks: Path | None) -> Library:
    """Without `locks`, nothing excludes other writers."""
    lock: SharedLock = lambda name, timeout: (  # noqa: E731
        FileLock(locks / name, timeout=timeout, thread_local=False) if locks else nullcontext()
    )
    settings = KnowledgeSettings(passage_tokens=64, overlap_tokens=10)
    embedder: Any = LengthEmbedder()
    library = Library(S3Location(url, endpoint), embedder, settings, ReadingSettings(workers=1), shared_lock=lock)
    workers: Any = InProcessWorkers()
    library._ingestion._workers = workers
    return library


def use_small_limits() -> None:
    """Compact often, so that kills meet compaction, index updates and the deletion of old versions, too."""
    store_module.MAX_UNINDEXED_ROWS, store_module.MAX_SMALL_FRAGMENTS = 40, 6
    store_module.MAX_SUPERSEDED_VERSIONS, store_module.KEEP_VERSIONS_SECONDS = 8, 20.0


def write(options: dict[str, Any]) -> None:
    """Add the documents, and log each report."""
    os.environ.update(ENVIRONMENT)
    use_small_limits()
    locks = Path(options["locks"]) if options["locks"] else None
    library = make_library(options["url"], options["endpoint"], locks)
    if locks is None:  # these need the lock
        library.store.maintain = lambda purge=False: None  # type: ignore[method-assign]
        library.store._require_only_writer = lambda table: None  # type: ignore[method-assign]
    log = os.open(options["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def report(outcome: Outcome, _: int | None) -> None:
        os.write(log, (json.dumps([outcome.document_id, options["writer"], outcome.status]) + "\n").encode())

    names: list[str] = options["documents"]
    refused = BusyError if locks else KnowledgeError  # without the lock, LanceDB reports conflicts
    while True:
        try:
            library.add(
                [Document(id=name, text=text_of(name, options["writer"]), markdown=True) for name in names], report
            )
            break
        except refused:
            time.sleep(BUSY_SECONDS)
    library.close()
