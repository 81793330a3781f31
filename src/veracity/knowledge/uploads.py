"""Uploaded files: stored in a folder of the workspace, each whole or not at all.

All changes hold the folder's lock. While a new file is being ingested, the file it replaces is kept as
`.aside/before-<name>`, which is empty if there was none. So another process can finish an upload after a crash, and
files that were put into the folder by other means are left alone.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from veracity.errors import BusyError, KnowledgeError, reason_of
from veracity.knowledge.discovery import EMPTY
from veracity.knowledge.file_names import Locations, safe_file_name
from veracity.knowledge.ingest import KEPT
from veracity.models import Outcome

LOCK_TIMEOUT_SECONDS = 30.0
RETRY_SECONDS = 0.1
READ_BYTES = 1_000_000

BACKUP_PREFIX = "before-"
ACCEPTED = ("added", "updated", "unchanged")

Ingest = Callable[[Path], Outcome]


class Uploads:
    def __init__(self, folder: Path, max_megabytes: int) -> None:
        self._folder = folder
        self._aside = folder / ".aside"  # hidden, so it is not ingested
        self._max_bytes = max_megabytes * 1_000_000
        self.locations = Locations(folder)

    def add(self, name: str, source: BinaryIO, ingest: Ingest) -> Outcome:
        """Store the file and ingest it. Replaces a file of the same name, unless the new one cannot be read."""
        stored_name = safe_file_name(name)
        with self._receive(source) as received:
            size = received.tell()
            if size == 0 or size > self._max_bytes:
                too_large = f"it has more than the {self._max_bytes / 1e6:,.0f} MB that reading.max_megabytes allows"
                return Outcome(name=stored_name, status="skipped", reason=too_large if size else EMPTY)
            with self.lock():
                outcome = self._replace(received, self._folder / stored_name, ingest)
                return outcome.model_copy(update={"name": stored_name})

    def unfinished(self) -> list[str]:
        """The names of files whose ingestion was interrupted."""
        with self.lock():
            return self._unfinished()

    def finish(self, name: str, ingest: Ingest) -> Outcome | None:
        """Finish an interrupted upload. Returns None if there is nothing left to do."""
        with self.lock():
            if name not in self._unfinished():
                return None
            return self._finish(self._folder / name, ingest).model_copy(update={"name": name})

    def remove(self, locations: Iterable[str]) -> None:
        """Delete the files at these locations that are uploads."""
        for path in filter(None, map(self.locations.upload_at, locations)):
            with self._explain_errors():
                path.unlink(missing_ok=True)
                self._backup_of(path).unlink(missing_ok=True)

    @contextmanager
    def lock(self, timeout_seconds: float | None = None) -> Iterator[None]:
        """Exclude other threads and processes. Raises BusyError after the timeout."""
        if not self._folder.is_dir():
            yield
            return
        timeout = LOCK_TIMEOUT_SECONDS if timeout_seconds is None else timeout_seconds
        lock = FileLock(self._aside / "lock", timeout=timeout, thread_local=False)
        try:
            with self._explain_errors():
                self._aside.mkdir(exist_ok=True)
                lock.acquire(poll_interval=RETRY_SECONDS)
        except Timeout:
            raise BusyError("Other documents are being ingested: try again when that has finished.") from None
        try:
            self._remove_leftovers()
            yield
        finally:
            lock.release()

    @contextmanager
    def _receive(self, source: BinaryIO) -> Iterator[BinaryIO]:
        """Copy the source, up to a little more than the limit, to an unnamed file that disappears with the process."""
        with ExitStack() as stack:
            with self._explain_errors():
                self._folder.mkdir(parents=True, exist_ok=True)
                file = stack.enter_context(tempfile.TemporaryFile(dir=self._folder))
                while file.tell() <= self._max_bytes and (content := source.read(READ_BYTES)):
                    file.write(content)
            yield file

    def _replace(self, received: BinaryIO, path: Path, ingest: Ingest) -> Outcome:
        if self._is_backup(self._backup_of(path)):
            self._finish(path, ingest)
        with self._explain_errors():
            written = self._write(received)
            self._back_up(path)
            written.replace(path)
        try:
            outcome = _retry_while_busy(ingest, path)
        except BaseException:
            self._restore(path)
            raise
        return self._settle(path, outcome, ingest)

    def _finish(self, path: Path, ingest: Ingest) -> Outcome:
        """If this raises, the backup stays for the next attempt."""
        outcome = _retry_while_busy(ingest, path)
        if outcome.status == "failed":  # the reader may have been killed together with the process: try once more
            outcome = _retry_while_busy(ingest, path)
        return self._settle(path, outcome, ingest)

    def _settle(self, path: Path, outcome: Outcome, ingest: Ingest) -> Outcome:
        """Keep the new file if it was accepted, otherwise restore the previous one."""
        if outcome.status in ACCEPTED:
            self._backup_of(path).unlink(missing_ok=True)
        elif self._restore(path) and outcome.status == "removed":
            _retry_while_busy(ingest, path)
            return Outcome(name=path.name, status="skipped", reason=f"{outcome.reason}; {KEPT}")
        return outcome

    def _write(self, received: BinaryIO) -> Path:
        path = self._aside / "written"
        received.seek(0)
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(received, file, READ_BYTES)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    def _backup_of(self, path: Path) -> Path:
        return self._aside / f"{BACKUP_PREFIX}{path.name}"

    def _back_up(self, path: Path) -> None:
        """Give the file a second name, so that at any time its own name refers to a whole file, old or new."""
        backup = self._backup_of(path)
        backup.unlink(missing_ok=True)
        if not path.is_file():
            backup.touch()
            return
        try:
            backup.hardlink_to(path)
        except (OSError, NotImplementedError):  # not every file system has hard links
            copy = self._aside / "copy"
            shutil.copy2(path, copy)
            copy.replace(backup)

    def _restore(self, path: Path) -> bool:
        """Undo `_back_up`. Returns True if there was a file before."""
        backup = self._backup_of(path)
        with self._explain_errors():
            if backup.exists() and backup.stat().st_size:
                backup.replace(path)
                return True
            path.unlink(missing_ok=True)
            backup.unlink(missing_ok=True)
            return False

    def _unfinished(self) -> list[str]:
        with self._explain_errors():
            entries = self._aside.iterdir() if self._aside.is_dir() else iter(())
            return sorted(path.name.removeprefix(BACKUP_PREFIX) for path in entries if self._is_backup(path))

    def _remove_leftovers(self) -> None:
        """Delete temporary files of crashed processes. Safe because the lock is held."""
        for path in self._aside.iterdir():
            with contextlib.suppress(OSError):  # the next change tries again
                if path.name != "lock" and not self._is_backup(path):
                    path.unlink()

    def _is_backup(self, path: Path) -> bool:
        """True for the backup of a file that exists: its ingestion is not finished."""
        name = path.name.removeprefix(BACKUP_PREFIX)
        return path.name != name and path.exists() and (self._folder / name).is_file()

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except Timeout:
            raise
        except (OSError, NotImplementedError) as problem:  # some network drives do not support locks
            raise KnowledgeError(
                f'"{self._folder}" cannot be written ({reason_of(problem)}): make it a writable folder with enough '
                "free space."
            ) from None


def _retry_while_busy(ingest: Ingest, path: Path) -> Outcome:
    """Wait for other writers, such as `veracity ingest` in another process."""
    end = time.monotonic() + LOCK_TIMEOUT_SECONDS
    while True:
        try:
            return ingest(path)
        except BusyError:
            if time.monotonic() >= end:
                raise
        time.sleep(RETRY_SECONDS)
