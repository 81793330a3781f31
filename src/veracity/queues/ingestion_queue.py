"""Uploads that workers ingest: a server stores and queues the files, workers prepare them in slices, one commits them.

A slice is some files of one upload. Its job reads and embeds them without a lock, on any worker, and puts the rows of
each next to the uploaded file. The committing job, of which one runs at a time, holds the locks: it writes all prepared
rows to the documents, and only then makes the uploaded files visible. So a file that cannot be read replaces nothing.

Both jobs can be executed twice. Preparing again replaces the rows by equal ones, and a document that is stored already
is not stored again. The rows are files, because they can be larger than what a database likes to hold, and files are
deleted at once when a document is forgotten.
"""

from __future__ import annotations

import io
import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO

import pyarrow as pa

from veracity.deadlines import NEVER, Stop
from veracity.errors import BusyError, KnowledgeError, LedgerError, VeracityError
from veracity.knowledge.discovery import File
from veracity.knowledge.file_names import safe_file_name
from veracity.knowledge.library import Library
from veracity.knowledge.staging import Key, remove_orphans
from veracity.knowledge.uploads import Uploads
from veracity.ledger.rows.ingestions import Ingestions, Progress, QueuedFile
from veracity.models import Outcome

log = logging.getLogger("veracity.worker")

MAX_SLICE_FILES, MAX_SLICE_BYTES = 16, 8_000_000
MAX_COMMIT_BYTES = 64_000_000
BUSY_SECONDS = 2  # until the next attempt to commit
NOT_SHARED = "the worker cannot see it: set store.uploads to an object store, which all machines share"
NOT_STORED = "The documents could not be stored: see the worker's log."


class IngestionQueue:
    """Threads can share it."""

    def __init__(self, ingestions: Ingestions, uploads: Uploads, library: Callable[[], Library]) -> None:
        self._rows = ingestions
        self._uploads = uploads
        self._library = library

    # For servers

    @staticmethod
    def divide(sizes: Sequence[int]) -> Iterator[range]:
        """The slices of files with these sizes, in order."""
        start, size = 0, 0
        for at, each in enumerate(sizes):
            if at > start and (at - start >= MAX_SLICE_FILES or size + each > MAX_SLICE_BYTES):
                yield range(start, at)
                start, size = at, 0
            size += each
        if sizes:
            yield range(start, len(sizes))

    def add(self, upload: str, user: str, files: Sequence[tuple[str, BinaryIO]]) -> list[str | Outcome]:
        """Store and queue the files as one slice of the upload. Returns the id of each, or why it was not queued."""
        queued: list[QueuedFile] = []
        results: list[str | Outcome] = []
        for name, source in files:
            file = self._queued_file(name)
            skipped = self._uploads.stage(_upload_key(file), source)
            results.append(skipped or file.ingestion_id)
            queued += [] if skipped else [file]
        if queued:
            self._rows.add(upload, user, queued)
        return results

    def progress(self, upload: str) -> Progress:
        return self._rows.progress(upload)

    def cancel(self, upload: str) -> None:
        """Drop the files of an upload that are not being committed."""
        for file in self._rows.cancel(upload):
            self._discard(file)

    def remove(self, upload: str) -> None:
        """Delete the results of an upload, once they were read."""
        self._rows.remove(upload)

    # For workers

    def prepare(self, slice_id: str, stop: Stop = NEVER) -> None:
        """Read and embed the queued files of a slice. Raises `Stopped` between two of them."""
        files = self._rows.queued(slice_id)
        if not files:
            return
        locations = self._uploads.locations
        by_location = {locations.location_of_upload(file.name): file for file in files}
        replaced = self._rows.replaced(files)
        anyway = {location for location, file in by_location.items() if file.ingestion_id in replaced}
        try:
            with ExitStack() as stack:
                present = self._present(by_location, stack)
                for location, prepared in self._library().prepare(present, anyway):
                    stop.check()
                    self._store_prepared(by_location[location], prepared)
        except LedgerError:
            raise  # the job is queued again
        except VeracityError as error:
            self._fail(self._rows.queued(slice_id), error)

    def commit(self) -> None:
        """Store the documents that are prepared, unless other documents are being changed: then it is tried again."""
        try:
            with self._uploads.lock(0), self._library().committing() as commit:
                while batch := self._next_batch():
                    self._commit_batch(batch, commit)
        except BusyError:
            self._rows.commit_later(BUSY_SECONDS)
        except LedgerError:
            raise
        except VeracityError as error:
            self._fail(self._rows.claim_prepared(), error)
        except Exception:
            log.exception("Prepared documents could not be stored")
            self._fail(self._rows.claim_prepared(), KnowledgeError(NOT_STORED))

    def queue_lost(self) -> None:
        """Queue what has lost its job, because a worker died."""
        self._rows.queue_lost()

    def clean_up(self) -> None:
        """Remove what processes left that ended."""
        self._rows.remove_unread()
        remove_orphans(self._uploads.staging, self._rows.list_open())

    def _queued_file(self, name: str) -> QueuedFile:
        stored_name = safe_file_name(name)
        return QueuedFile(secrets.token_hex(8), stored_name, self._uploads.document_id(name))

    def _present(self, files: dict[str, QueuedFile], stack: ExitStack) -> Iterator[tuple[File, str]]:
        """Each file as it is on this machine. One that is not there has no rows."""
        for location, file in files.items():
            path = stack.enter_context(self._uploads.staging.read(_upload_key(file)))
            if path is None:
                missing = Outcome(name=file.name, status="failed", reason=NOT_SHARED)
                self._rows.finish({file.ingestion_id: missing})
            else:
                status = path.stat()
                yield File(str(path), status.st_size, status.st_mtime_ns), location

    def _store_prepared(self, file: QueuedFile, prepared: pa.Table | Outcome) -> None:
        if isinstance(prepared, Outcome):
            self._rows.finish({file.ingestion_id: prepared.model_copy(update={"name": file.name})})
            self._discard(file)
            return
        self._uploads.staging.put(_rows_key(file), _dump(prepared))
        if self._rows.mark_prepared(file.ingestion_id) in (None, "done"):  # meanwhile cancelled, forgotten or committed
            self._discard(file)

    def _next_batch(self) -> list[tuple[QueuedFile, pa.Table]]:
        """Different documents, oldest uploads first."""
        batch: list[tuple[QueuedFile, pa.Table]] = []
        size = 0
        for file in self._rows.claim_prepared():
            if size > MAX_COMMIT_BYTES or any(file.document_id == other.document_id for other, _ in batch):
                break
            table = self._load(file)
            if table is None or not self._library().is_current(table):
                self._rows.prepare_again([file.ingestion_id])
                continue
            batch.append((file, table))
            size += table.nbytes
        return batch

    def _commit_batch(
        self, batch: list[tuple[QueuedFile, pa.Table]], commit: Callable[[Sequence[pa.Table]], list[Outcome]]
    ) -> None:
        outcomes = commit([table for _, table in batch])
        results: dict[str, Outcome | VeracityError] = {}
        for (file, _), outcome in zip(batch, outcomes, strict=True):
            self._uploads.staging.publish(_upload_key(file))
            results[file.ingestion_id] = outcome.model_copy(update={"name": file.name})
        self._rows.finish(results)
        for file, _ in batch:
            self._discard(file)

    def _fail(self, files: list[QueuedFile], error: VeracityError) -> None:
        self._rows.finish({file.ingestion_id: error for file in files})
        for file in files:
            self._discard(file)

    def _load(self, file: QueuedFile) -> pa.Table | None:
        with self._uploads.staging.read(_rows_key(file)) as path:
            if path is None:
                return None
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as reader:
                return reader.read_all()

    def _discard(self, file: QueuedFile) -> None:
        for key in (_upload_key(file), _rows_key(file)):
            self._uploads.staging.delete(key)


def _upload_key(file: QueuedFile) -> Key:
    return Key("upload", file.ingestion_id, file.name)


def _rows_key(file: QueuedFile) -> Key:
    return Key("rows", file.ingestion_id, file.name)


def _dump(table: pa.Table) -> BinaryIO:
    content = io.BytesIO()
    with pa.ipc.new_stream(content, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)
    content.seek(0)
    return content
