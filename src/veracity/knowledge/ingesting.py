"""Brings documents into the store: prepares them in worker processes, embeds them, writes them in batches.

What is reported as added or updated is on disk. Documents that fail, fail alone. Knows nothing about where the store
is or which embedder there is.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from veracity.embedding import Embedder
from veracity.errors import KnowledgeError
from veracity.knowledge import rows
from veracity.knowledge.preparing import TASK, UNCHANGED, context
from veracity.knowledge.rows import Entry, Fingerprint
from veracity.knowledge.store import Store
from veracity.models import Outcome
from veracity.models.documents import MetadataValue
from veracity.reading import CappedWorkers, WorkerFailure
from veracity.settings import KnowledgeSettings, ReadingSettings

# A batch is written when it has so many passages, characters or seconds.
PASSAGES, CHARACTERS, SECONDS = 512, 20_000_000, 5.0
AHEAD = 8  # documents that are prepared while others wait, per worker


@dataclass(frozen=True, slots=True)
class Task:
    """A document to bring in. `request` is what `preparing` is asked; `name` is what the user calls it."""

    name: str
    request: dict[str, Any]
    fingerprint: Fingerprint
    is_known: bool
    metadata: dict[str, MetadataValue] = field(default_factory=dict)


class Ingestion:
    """Keeps its worker processes until it is closed."""

    def __init__(
        self, store: Store, embedder: Embedder, knowledge: KnowledgeSettings, reading: ReadingSettings
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._cut = {
            "most": knowledge.passage_tokens,
            "overlap": min(knowledge.overlap_tokens, knowledge.passage_tokens // 2),
        }
        self._count = reading.workers or _processors()
        self._workers = CappedWorkers(
            TASK, workers=self._count, seconds=reading.seconds, memory_megabytes=reading.memory_megabytes
        )

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """What became of each document, as soon as that is certain."""
        batch = _Batch()
        for task, prepared in self._prepared(tasks):
            if isinstance(prepared, Outcome):
                yield prepared
                continue
            batch.add(task, prepared)
            if batch.is_full:
                yield from self._write(batch)
                batch = _Batch()
        yield from self._write(batch)

    def tables(self, tasks: Iterable[Task]) -> Iterator[tuple[pa.Table, Outcome]]:
        """Each document as rows, for who writes them all at once."""
        for task, prepared in self._prepared(tasks):
            if isinstance(prepared, Outcome):
                raise KnowledgeError(f'"{prepared.name}" cannot be indexed: {prepared.reason}.')
            entry = _entry(task, prepared)
            yield self._table([entry]), _written(task, entry)

    def close(self) -> None:
        self._workers.close()

    def _prepared(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, dict[str, Any] | Outcome]]:
        """In the order of the tasks, while those that follow are being prepared."""
        waiting: deque[tuple[Task, Future[dict[str, Any]]]] = deque()
        for task in tasks:
            waiting.append((task, self._workers.submit({**task.request, "cut": self._cut})))
            if len(waiting) >= AHEAD * self._count:
                yield _outcome(*waiting.popleft())
        while waiting:
            yield _outcome(*waiting.popleft())

    def _write(self, batch: _Batch) -> Iterator[Outcome]:
        if not batch.tasks:
            return
        entries = [_entry(task, prepared) for task, prepared in batch.tasks]
        known = [task.fingerprint.document_id for task, _ in batch.tasks if task.is_known]
        self._store.replace(self._table(entries), known)
        for (task, _), entry in zip(batch.tasks, entries, strict=True):
            yield _written(task, entry)

    def _table(self, entries: list[Entry]) -> pa.Table:
        texts = [(entry, passage, entry.text_of(passage)) for entry in entries for passage in entry.passages]
        covered = np.array([self._embedder.covers(text) for _, _, text in texts], bool)
        embedded = [
            "\n".join(filter(None, (context(entry.prepared["title"], passage["headings"], text), text)))
            for (entry, passage, text), is_covered in zip(texts, covered, strict=True)
            if is_covered
        ]
        vectors = self._embedder.embed_passages(embedded)
        return rows.table_of(entries, vectors, covered, self._store.schema)


class _Batch:
    def __init__(self) -> None:
        self.tasks: list[tuple[Task, dict[str, Any]]] = []
        self._passages = self._characters = 0
        self._since = monotonic()

    def add(self, task: Task, prepared: dict[str, Any]) -> None:
        self.tasks.append((task, prepared))
        self._passages += len(prepared["passages"])
        self._characters += len(prepared["text"])

    @property
    def is_full(self) -> bool:
        late = monotonic() - self._since > SECONDS
        return late or self._passages >= PASSAGES or self._characters >= CHARACTERS


def _entry(task: Task, prepared: dict[str, Any]) -> Entry:
    return Entry(replace(task.fingerprint, digest=prepared["digest"]), prepared, task.metadata)


def _written(task: Task, entry: Entry) -> Outcome:
    return Outcome(
        name=task.name,
        status="updated" if task.is_known else "added",
        document_id=task.fingerprint.document_id,
        passages=len(entry.passages),
    )


def _outcome(task: Task, future: Future[dict[str, Any]]) -> tuple[Task, dict[str, Any] | Outcome]:
    try:
        prepared = future.result()
    except WorkerFailure as failure:
        return task, Outcome(name=task.name, status="failed", reason=failure.reason)
    if "unreadable" not in prepared:
        return task, prepared
    status, reason = prepared["unreadable"]
    if reason == UNCHANGED:
        return task, Outcome(name=task.name, status="unchanged", document_id=task.fingerprint.document_id)
    return task, Outcome(name=task.name, status=status, reason=reason)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
