"""Ingests documents: prepares them in worker processes, embeds the passages, writes batches to the store.

Documents reported as added or updated are on disk. A document that fails does not stop the others.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from time import monotonic, time_ns
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veracity.embedding import Embedder
from veracity.errors import KnowledgeError
from veracity.knowledge import rows
from veracity.knowledge.discovery import File
from veracity.knowledge.prepare import TASK, UNCHANGED, chunking_options, passage_context
from veracity.knowledge.rows import Entry, Fingerprint
from veracity.knowledge.store import Store
from veracity.models import Document, Outcome
from veracity.models.documents import MetadataValue
from veracity.reading.sandbox.pool import SandboxPool
from veracity.reading.sandbox.process import WorkerFailure
from veracity.settings import KnowledgeSettings, ReadingSettings
from veracity.workers import processors

# A batch is written when it reaches one of these.
MAX_BATCH_PASSAGES, MAX_BATCH_CHARACTERS, MAX_BATCH_SECONDS = 1024, 20_000_000, 5.0
# Batches start small and grow while they are written fast: progress shows early, and an interruption loses little.
FIRST_BATCH_PASSAGES, FAST_WRITE_SECONDS, SLOW_WRITE_SECONDS = 64, 1.0, 3.0
# How much is prepared ahead while a batch is written.
MAX_AHEAD_PER_WORKER, MAX_AHEAD_BYTES = 8, 100_000_000
REPLY_FIELDS = frozenset(("text", "title", "format", "pages", "markdown", "digest", "language", "passages"))
KEPT = "the previous version is kept"

Prepared = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """A document to ingest. `request` goes to `prepare`; `name` is the user's name for the document."""

    name: str
    request: dict[str, Any]
    fingerprint: Fingerprint
    is_known: bool
    metadata: dict[str, MetadataValue] = field(default_factory=dict)

    @property
    def document_id(self) -> str:
        return self.fingerprint.document_id

    @classmethod
    def from_file(cls, file: File, location: str, known: Fingerprint | None) -> Self:
        """`known` is the stored document with this id. If that was added as text, it is replaced."""
        now = time_ns()
        fingerprint = Fingerprint(file_document_id(location), location, file.size, file.modified, "", now, now)
        digest = known.digest if known and known.location == location else None
        return cls(file.path, {"path": file.path, "known_digest": digest}, fingerprint, known is not None)

    @classmethod
    def from_document(cls, document: Document, is_known: bool) -> Self:
        now = time_ns()
        fingerprint = Fingerprint(document.id, "", len(document.text), 0, "", now, now)
        fields = {"text": document.text, "title": document.title, "markdown": document.markdown}
        request = {**fields, "format": "text", "pages": [], "digest": ""}
        return cls(document.id, request, fingerprint, is_known, document.metadata)

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        fingerprint = Fingerprint(**{name: row[name] for name in rows.FINGERPRINT_COLUMNS})
        request = {name: row[name] for name in ("text", "title", "format", "markdown", "pages", "digest")}
        return cls(row["location"] or row["document_id"], request, fingerprint, True, json.loads(row["metadata"]))


def file_document_id(location: str) -> str:
    """The document id of a file. Derived from its location, so that it stays the same when the content changes."""
    return blake2b(location.encode(), digest_size=8).hexdigest()


class _Batch:
    """Documents that are written to the store together."""

    def __init__(self, max_passages: int) -> None:
        self.tasks: list[Task] = []
        self.entries: list[Entry] = []
        self._max_passages = min(max_passages, MAX_BATCH_PASSAGES)
        self.ids: set[str] = set()
        self._passages = self._characters = 0
        self._started = monotonic()

    def add(self, task: Task, prepared: Prepared) -> None:
        self.tasks.append(task)
        metadata = {**prepared.get("metadata", {}), **task.metadata}
        self.entries.append(Entry(replace(task.fingerprint, digest=prepared["digest"]), prepared, metadata))
        self.ids.add(task.document_id)
        self._passages += len(prepared["passages"])
        self._characters += len(prepared["text"])

    @property
    def is_full(self) -> bool:
        is_late = monotonic() - self._started > MAX_BATCH_SECONDS
        return is_late or self._passages >= self._max_passages or self._characters >= MAX_BATCH_CHARACTERS

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


class Ingestion:
    """Keeps its worker processes until it is closed."""

    def __init__(
        self, store: Store, embedder: Embedder, knowledge: KnowledgeSettings, reading: ReadingSettings
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._chunking = chunking_options(knowledge)
        self._worker_count = reading.workers or processors()
        self._batch_passages = FIRST_BATCH_PASSAGES
        self._workers = SandboxPool(
            TASK, workers=self._worker_count, seconds=reading.seconds, memory_megabytes=reading.memory_megabytes
        )

    def run(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Yield the outcome of each document as soon as it is final."""
        batch = _Batch(self._batch_passages)
        confirmed: list[Fingerprint] = []
        for task, prepared in self._prepare_all(tasks):
            if batch.is_full or task.document_id in batch.ids:  # a later document replaces an earlier one of its id
                yield from self._write(batch)
                batch = _Batch(self._batch_passages)
            if not isinstance(prepared, Outcome):
                batch.add(task, prepared)
                continue
            if prepared.status == "unchanged" and task.fingerprint.is_certain:
                confirmed.append(task.fingerprint)
            yield self.give_up(prepared, task.document_id) if task.is_known else prepared
        yield from self._write(batch)
        self._store.confirm(confirmed)

    def tables(self, tasks: Iterable[Task]) -> Iterator[tuple[pa.Table, list[Outcome]]]:
        """Yield the documents as tables of rows, for a caller that writes them all in one commit."""
        batch = _Batch(MAX_BATCH_PASSAGES)
        for task, prepared in self._prepare_all(tasks):
            if isinstance(prepared, Outcome):
                raise KnowledgeError(
                    f'"{prepared.name}" cannot be indexed: {prepared.reason}; forget it, or raise the limits in '
                    "[reading]."
                )
            batch.add(task, prepared)
            if batch.is_full:
                yield self._table(batch.entries), batch.outcomes()
                batch = _Batch(MAX_BATCH_PASSAGES)
        yield self._table(batch.entries), batch.outcomes()

    def rows_by_document(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, pa.Table | Outcome]]:
        """Yield the rows of each document, or why it has none, for a caller that writes them later. The tasks have
        different ids."""
        batch = _Batch(MAX_BATCH_PASSAGES)
        for task, prepared in self._prepare_all(tasks):
            if isinstance(prepared, Outcome):
                yield task, prepared
                continue
            batch.add(task, prepared)
            if batch.is_full:
                yield from self._split(batch)
                batch = _Batch(MAX_BATCH_PASSAGES)
        yield from self._split(batch)

    def commit(self, known: dict[str, Fingerprint], tables: Sequence[pa.Table]) -> list[Outcome]:
        """Write documents from `rows_by_document`, each in its own table, in one commit. Those that are stored already,
        such as by a process that was killed, are left as they are. `known` are the stored ones; it is updated."""
        changed: list[pa.Table] = []
        replaced: list[str] = []
        outcomes: list[Outcome] = []
        for table in tables:
            fingerprint = rows.fingerprint_of(table)
            stored = known.get(fingerprint.document_id)
            is_same = stored and (stored.location, stored.digest) == (fingerprint.location, fingerprint.digest)
            if not is_same:
                changed.append(table)
                replaced += [stored.document_id] if stored else []
                known[fingerprint.document_id] = fingerprint
            is_own = stored is None or (is_same and stored.added == fingerprint.added)
            outcomes.append(
                Outcome(
                    name=fingerprint.location,
                    status="added" if is_own else "unchanged" if is_same else "updated",
                    document_id=fingerprint.document_id,
                    passages=table.num_rows - 1 if is_own or not is_same else 0,
                )
            )
        if changed:
            self._store.replace(pa.concat_tables(changed), replaced)
        return outcomes

    def give_up(self, outcome: Outcome, document_id: str, is_certain: bool = True) -> Outcome:
        """Forget a stored document whose file no longer holds text. Keep it if reading failed or may succeed later."""
        if outcome.status == "failed" or (outcome.status == "skipped" and not is_certain):
            return outcome.model_copy(update={"reason": f"{outcome.reason}; {KEPT}"})
        if outcome.status == "skipped":
            self._store.forget([document_id])
            return outcome.model_copy(update={"status": "removed", "document_id": document_id})
        return outcome

    def close(self) -> None:
        self._workers.close()

    def _prepare_all(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Prepared | Outcome]]:
        """Yield in the order of the tasks, while the following tasks are being prepared."""
        waiting: deque[tuple[Task, Future[Prepared]]] = deque()
        size = 0
        try:
            for task in tasks:
                waiting.append((task, self._workers.submit({**task.request, "chunking": self._chunking})))
                size += task.fingerprint.size
                while len(waiting) >= MAX_AHEAD_PER_WORKER * self._worker_count or (size > MAX_AHEAD_BYTES and waiting):
                    size -= waiting[0][0].fingerprint.size
                    yield _result(*waiting.popleft())
            while waiting:
                yield _result(*waiting.popleft())
        except WorkerFailure:
            raise KnowledgeError("Ingestion was stopped: the documents reported so far are stored.") from None
        finally:
            for _, future in waiting:
                future.cancel()

    def _write(self, batch: _Batch) -> Iterator[Outcome]:
        if not batch.tasks:
            return
        started = monotonic()
        known = [task.document_id for task in batch.tasks if task.is_known]
        self._store.replace(self._table(batch.entries), known)
        seconds = monotonic() - started
        if seconds < FAST_WRITE_SECONDS:
            self._batch_passages = min(self._batch_passages * 2, MAX_BATCH_PASSAGES)
        elif seconds > SLOW_WRITE_SECONDS:
            self._batch_passages = max(1, self._batch_passages // 2)
        yield from batch.outcomes()

    def _split(self, batch: _Batch) -> Iterator[tuple[Task, pa.Table]]:
        table = self._table(batch.entries)
        for task in batch.tasks:
            yield task, table.filter(pc.field("document_id") == task.document_id)

    def _table(self, entries: list[Entry]) -> pa.Table:
        texts = [(entry, passage, entry.text_of(passage)) for entry in entries for passage in entry.passages]
        covered = np.array([self._embedder.covers(text) for _, _, text in texts], bool)
        embedded = [
            "\n".join(filter(None, (passage_context(entry.prepared["title"], passage["headings"], text), text)))
            for (entry, passage, text), is_covered in zip(texts, covered, strict=True)
            if is_covered
        ]
        no_vectors = np.zeros((0, self._embedder.dimensions), np.float32)
        vectors = self._embedder.embed_passages(embedded) if embedded else no_vectors
        return rows.table_of(entries, vectors, covered, self._store.schema)


def _result(task: Task, future: Future[Prepared]) -> tuple[Task, Prepared | Outcome]:
    try:
        prepared = future.result()
    except WorkerFailure as failure:
        return task, Outcome(name=task.name, status="failed", reason=failure.reason)
    if prepared.keys() >= REPLY_FIELDS:
        return task, prepared
    status, reason = prepared.get("unreadable", ("failed", "the process that read it sent an invalid reply"))
    if reason == UNCHANGED:
        return task, Outcome(name=task.name, status="unchanged", document_id=task.document_id)
    return task, Outcome(name=task.name, status=status, reason=reason)
