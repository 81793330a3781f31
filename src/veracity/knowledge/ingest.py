"""Brings documents into the store: prepares them in worker processes, embeds them, writes them in batches.

What is reported as added or updated is on disk. Documents that fail, fail alone. Knows nothing about where the store
is or which embedder there is.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from veracity.embedding import Embedder
from veracity.errors import KnowledgeError
from veracity.knowledge import rows
from veracity.knowledge.discovery import File
from veracity.knowledge.prepare import TASK, UNCHANGED, context
from veracity.knowledge.rows import Entry, Fingerprint
from veracity.knowledge.store import Store
from veracity.models import Document, Outcome
from veracity.models.documents import MetadataValue
from veracity.reading import CappedWorkers, WorkerFailure
from veracity.settings import KnowledgeSettings, ReadingSettings
from veracity.workers import processors

# A batch is written when it has so many passages, characters or seconds.
PASSAGES, CHARACTERS, SECONDS = 1024, 20_000_000, 5.0
# The first is small, and the next as large as can be embedded and written in a few seconds: who watches sees progress,
# and who stops loses little.
FIRST, QUICK, SLOW = 64, 1.0, 3.0
# So many documents per worker are prepared while a batch is written, and not more than so many bytes of them.
# What a process must have told of a document.
PREPARED = frozenset(("text", "title", "format", "pages", "markdown", "digest", "language", "passages"))
AHEAD, AHEAD_BYTES = 8, 100_000_000
KEPT = "what was known of it is kept"


@dataclass(frozen=True, slots=True)
class Task:
    """A document to bring in. `request` is what `preparing` is asked; `name` is what the user calls it."""

    name: str
    request: dict[str, Any]
    fingerprint: Fingerprint
    is_known: bool
    metadata: dict[str, MetadataValue] = field(default_factory=dict)

    @property
    def document_id(self) -> str:
        return self.fingerprint.document_id


Prepared = dict[str, Any]


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
        self._count = reading.workers or processors()
        self._most = FIRST
        self._workers = CappedWorkers(
            TASK, workers=self._count, seconds=reading.seconds, memory_megabytes=reading.memory_megabytes
        )

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """What became of each document, as soon as that is certain."""
        batch = _Batch(self._most)
        confirmed: list[Fingerprint] = []
        for task, prepared in self._prepared(tasks):
            if batch.is_full or batch.holds(task.document_id):  # a later document replaces an earlier of its name
                yield from self._write(batch)
                batch = _Batch(self._most)
            if not isinstance(prepared, Outcome):
                batch.add(task, prepared)
                continue
            if prepared.status == "unchanged" and task.fingerprint.is_certain:
                confirmed.append(task.fingerprint)
            yield self.give_up(prepared, task.document_id) if task.is_known else prepared
        yield from self._write(batch)
        self._store.confirm(confirmed)

    def tables(self, tasks: Iterable[Task]) -> Iterator[tuple[pa.Table, list[Outcome]]]:
        """Some documents as rows, and then the next, for who writes them all at once."""
        batch = _Batch(PASSAGES)
        for task, prepared in self._prepared(tasks):
            if isinstance(prepared, Outcome):
                raise KnowledgeError(
                    f'"{prepared.name}" cannot be indexed: {prepared.reason}; forget it, or allow more under [reading].'
                )
            batch.add(task, prepared)
            if batch.is_full:
                yield self._table(batch.entries), batch.outcomes()
                batch = _Batch(PASSAGES)
        yield self._table(batch.entries), batch.outcomes()

    def give_up(self, outcome: Outcome, document_id: str, is_certain: bool = True) -> Outcome:
        """A known document that has become nothing is forgotten. What failed, or is not taken, may be well again."""
        if outcome.status == "failed" or (outcome.status == "skipped" and not is_certain):
            return outcome.model_copy(update={"reason": f"{outcome.reason}; {KEPT}"})
        if outcome.status == "skipped":
            self._store.forget([document_id])
            return outcome.model_copy(update={"status": "removed", "document_id": document_id})
        return outcome

    def close(self) -> None:
        self._workers.close()

    def _submit(self, task: Task) -> Future[Prepared]:
        try:
            return self._workers.submit({**task.request, "cut": self._cut})
        except WorkerFailure:
            raise KnowledgeError("Reading was stopped in the midst: what was reported until then is stored.") from None

    def _prepared(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Prepared | Outcome]]:
        """In the order of the tasks, while those that follow are being prepared."""
        waiting: deque[tuple[Task, Future[Prepared]]] = deque()
        size = 0
        try:
            for task in tasks:
                waiting.append((task, self._submit(task)))
                size += task.fingerprint.size
                while len(waiting) >= AHEAD * self._count or (size > AHEAD_BYTES and waiting):
                    size -= waiting[0][0].fingerprint.size
                    yield _outcome(*waiting.popleft())
            while waiting:
                yield _outcome(*waiting.popleft())
        finally:
            for _, future in waiting:
                future.cancel()

    def _write(self, batch: _Batch) -> Iterator[Outcome]:
        if not batch.tasks:
            return
        started = monotonic()
        known = [task.document_id for task in batch.tasks if task.is_known]
        self._store.replace(self._table(batch.entries), known)
        taken = monotonic() - started
        if taken < QUICK:
            self._most *= 2
        elif taken > SLOW:
            self._most = max(1, self._most // 2)
        self._most = min(self._most, PASSAGES)
        yield from batch.outcomes()

    def _table(self, entries: list[Entry]) -> pa.Table:
        texts = [(entry, passage, entry.text_of(passage)) for entry in entries for passage in entry.passages]
        covered = np.array([self._embedder.covers(text) for _, _, text in texts], bool)
        embedded = [
            "\n".join(filter(None, (context(entry.prepared["title"], passage["headings"], text), text)))
            for (entry, passage, text), is_covered in zip(texts, covered, strict=True)
            if is_covered
        ]
        none = np.zeros((0, self._embedder.dimensions), np.float32)
        vectors = self._embedder.embed_passages(embedded) if embedded else none
        return rows.table_of(entries, vectors, covered, self._store.schema)


class _Batch:
    """Documents that go to the store together."""

    def __init__(self, most: int) -> None:
        self.tasks: list[Task] = []
        self._most = min(most, PASSAGES)
        self.entries: list[Entry] = []
        self._ids: set[str] = set()
        self._passages = self._characters = 0
        self._since = monotonic()

    def add(self, task: Task, prepared: Prepared) -> None:
        self.tasks.append(task)
        self.entries.append(Entry(replace(task.fingerprint, digest=prepared["digest"]), prepared, task.metadata))
        self._ids.add(task.document_id)
        self._passages += len(prepared["passages"])
        self._characters += len(prepared["text"])

    def holds(self, document_id: str) -> bool:
        return document_id in self._ids

    @property
    def is_full(self) -> bool:
        late = monotonic() - self._since > SECONDS
        return late or self._passages >= self._most or self._characters >= CHARACTERS

    def outcomes(self) -> list[Outcome]:
        return [
            Outcome(
                name=task.name,
                status="updated" if task.is_known else "added",
                document_id=task.document_id,
                passages=len(entry.passages),
            )
            for task, entry in zip(self.tasks, self.entries, strict=True)
        ]


def _outcome(task: Task, future: Future[Prepared]) -> tuple[Task, Prepared | Outcome]:
    try:
        prepared = future.result()
    except WorkerFailure as failure:
        return task, Outcome(name=task.name, status="failed", reason=failure.reason)
    if prepared.keys() >= PREPARED:
        return task, prepared
    status, reason = prepared.get("unreadable", ("failed", "the process that read it answered nonsense"))
    if reason == UNCHANGED:
        return task, Outcome(name=task.name, status="unchanged", document_id=task.document_id)
    return task, Outcome(name=task.name, status=status, reason=reason)


def id_of(location: str) -> str:
    """A file's document is called by its place, so that it stays the same document whatever the file holds."""
    return blake2b(location.encode(), digest_size=8).hexdigest()


def is_unchanged(file: File, location: str, known: Fingerprint | None) -> bool:
    """By its looks. False where only reading it can tell."""
    if known is None or not known.is_certain:
        return False
    return (location, file.size, file.modified) == (known.location, known.size, known.modified)


def of_file(file: File, location: str, known: Fingerprint | None) -> Task:
    """`known` is the document that has its id: it may have been handed in as a text, and is replaced then."""
    now = time.time_ns()
    mark = Fingerprint(id_of(location), location, file.size, file.modified, "", now, now)
    digest = known.digest if known and known.location == location else None
    return Task(file.path, {"path": file.path, "known_digest": digest}, mark, known is not None)


def of_document(document: Document, is_known: bool) -> Task:
    now = time.time_ns()
    mark = Fingerprint(document.id, "", len(document.text), 0, "", now, now)
    request = _text_request(document.text, document.title, "text", document.markdown, [], "")
    return Task(document.id, request, mark, is_known, document.metadata)


def of_stored(row: dict[str, Any]) -> Task:
    mark = Fingerprint(
        row["document_id"], row["location"], row["size"], row["modified"], row["digest"], row["added"], row["checked"]
    )
    request = _text_request(row["text"], row["title"], row["format"], row["markdown"], row["pages"], row["digest"])
    return Task(row["location"] or row["document_id"], request, mark, True, json.loads(row["metadata"]))


def _text_request(text: str, title: str, kind: str, markdown: bool, pages: list[int], digest: str) -> dict[str, Any]:
    return {"text": text, "title": title, "format": kind, "markdown": markdown, "pages": pages, "digest": digest}
