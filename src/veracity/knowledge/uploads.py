"""Uploaded files: stored in a folder of the workspace or in an object store, each whole or not at all.

All changes hold the lock of the files. If a process dies while it ingests a file, another can finish the upload:
`upload_files.py` keeps what that needs.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from veracity.errors import BusyError, ConfigurationError
from veracity.knowledge.discovery import EMPTY
from veracity.knowledge.file_names import Locations, safe_file_name
from veracity.knowledge.ingest import KEPT, file_document_id
from veracity.knowledge.staging import Key, Staging, remove_staged
from veracity.knowledge.upload_files import READ_BYTES, RETRY_SECONDS, FolderFiles, UploadFiles
from veracity.models import Outcome

LOCK_TIMEOUT_SECONDS = 30.0
ACCEPTED = ("added", "updated", "unchanged")

Ingest = Callable[[Path], Outcome]


class Uploads:
    """`staging` holds files that wait for workers: none if there are no workers."""

    def __init__(self, place: Path | UploadFiles, max_megabytes: int, staging: Staging | None = None) -> None:
        self._files: UploadFiles = FolderFiles(place) if isinstance(place, Path) else place
        self._max_bytes = max_megabytes * 1_000_000
        self._staging = staging

    @property
    def locations(self) -> Locations:
        return self._files.locations

    def document_id(self, name: str) -> str:
        """The id of the document that a file of this name is, once it was uploaded."""
        return file_document_id(self.locations.location_of_upload(safe_file_name(name)))

    def add(self, name: str, source: BinaryIO, ingest: Ingest) -> Outcome:
        """Store the file and ingest it. Replaces a file of the same name, unless the new one cannot be read."""
        stored_name = safe_file_name(name)
        with self._receive(source) as received:
            if reason := self._reason_to_skip(received.tell()):
                return Outcome(name=stored_name, status="skipped", reason=reason)
            with self.lock():
                outcome = self._replace(received, stored_name, ingest)
                return outcome.model_copy(update={"name": stored_name})

    def stage(self, key: Key, source: BinaryIO) -> Outcome | None:
        """Store the file for a worker. Returns why it was not stored, or None."""
        with self._receive(source) as received:
            if reason := self._reason_to_skip(received.tell()):
                return Outcome(name=key.name, status="skipped", reason=reason)
            received.seek(0)
            self.staging.put(key, received)
        return None

    @property
    def staging(self) -> Staging:
        if self._staging is None:
            raise ConfigurationError("Only a ledger in Postgres has workers: set store.ledger.")
        return self._staging

    def unfinished(self) -> list[str]:
        """The names of files whose ingestion was interrupted."""
        with self.lock():
            return self._files.unfinished()

    def finish(self, name: str, ingest: Ingest) -> Outcome | None:
        """Finish an interrupted upload. Returns None if there is nothing left to do."""
        with self.lock():
            if name not in self._files.unfinished():
                return None
            return self._finish(name, ingest).model_copy(update={"name": name})

    def remove(self, locations: Iterable[str]) -> None:
        """Delete the files at these locations that are uploads, and those that wait for workers."""
        for path in filter(None, map(self.locations.upload_at, locations)):
            self._files.remove(path.name)
            if self._staging is not None:
                remove_staged(self._staging, path.name)

    def name_of(self, location: str) -> str | None:
        """The name of the upload at this location; None if it is not an upload."""
        path = self.locations.upload_at(location)
        return path.name if path else None

    def size(self, name: str) -> int | None:
        """The size of the file in bytes; None if there is none. Needs no lock."""
        return self._files.size(name)

    def view(self, name: str) -> AbstractContextManager[Path]:
        """The file, or a copy of it, on this machine. Needs no lock: the name always refers to a whole file."""
        return self._files.view(name)

    @contextmanager
    def lock(self, timeout_seconds: float | None = None) -> Iterator[None]:
        """Exclude other threads and processes. Raises BusyError after the timeout."""
        with ExitStack() as stack:
            try:
                stack.enter_context(
                    self._files.lock(LOCK_TIMEOUT_SECONDS if timeout_seconds is None else timeout_seconds)
                )
            except TimeoutError:
                raise BusyError("Other documents are being ingested: try again when that has finished.") from None
            yield

    def _reason_to_skip(self, size: int) -> str:
        if size > self._max_bytes:
            return f"it has more than the {self._max_bytes / 1e6:,.0f} MB that reading.max_megabytes allows"
        return "" if size else EMPTY

    @contextmanager
    def _receive(self, source: BinaryIO) -> Iterator[BinaryIO]:
        """Copy the source, up to a little more than the limit, to a temporary file."""
        with self._files.receive() as file:
            with self._files.explain_errors():
                while file.tell() <= self._max_bytes and (content := source.read(READ_BYTES)):
                    file.write(content)
                file.flush()
            yield file

    def _replace(self, received: BinaryIO, name: str, ingest: Ingest) -> Outcome:
        if name in self._files.unfinished():
            self._finish(name, ingest)
        self._files.replace(name, received)
        try:
            outcome = self._ingest(name, ingest)
        except BaseException:
            self._files.restore(name)
            raise
        return self._settle(name, outcome, ingest)

    def _finish(self, name: str, ingest: Ingest) -> Outcome:
        """If this raises, the backup stays for the next attempt."""
        outcome = self._ingest(name, ingest)
        if outcome.status == "failed":  # the reader may have been killed together with the process: try once more
            outcome = self._ingest(name, ingest)
        return self._settle(name, outcome, ingest)

    def _settle(self, name: str, outcome: Outcome, ingest: Ingest) -> Outcome:
        """Keep the new file if it was accepted, otherwise restore the previous one."""
        if outcome.status in ACCEPTED:
            self._files.accept(name)
        elif self._files.restore(name) and outcome.status == "removed":
            self._ingest(name, ingest)
            return Outcome(name=name, status="skipped", reason=f"{outcome.reason}; {KEPT}")
        return outcome

    def _ingest(self, name: str, ingest: Ingest) -> Outcome:
        """Wait for other writers, such as `veracity ingest` in another process."""
        end = time.monotonic() + LOCK_TIMEOUT_SECONDS
        with self._files.read(name) as path:
            while True:
                try:
                    return ingest(path)
                except BusyError:
                    if time.monotonic() >= end:
                        raise
                time.sleep(RETRY_SECONDS)
