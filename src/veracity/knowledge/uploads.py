"""The files that were handed in and not found on a disk: kept in a folder of the workspace, each whole or not at all.

Whoever changes something there holds the lock of the folder. Knows nothing about what the files hold.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from veracity.errors import BusyError, KnowledgeError
from veracity.knowledge.discovering import EMPTY
from veracity.knowledge.filenames import kept_name
from veracity.knowledge.ingesting import KEPT
from veracity.models import Outcome

PATIENCE = 30.0  # seconds that an upload waits for others who change the documents
BETWEEN_ATTEMPTS = 0.1
AT_ONCE = 1_000_000  # bytes read at once
STALE = 86400.0  # seconds after which what was set aside was left by a process that died

Ingest = Callable[[Path], Outcome]


class Uploads:
    def __init__(self, folder: Path, max_megabytes: int) -> None:
        self._folder = folder
        self._aside = folder / ".aside"  # hidden: nobody takes it for documents
        self._most = max_megabytes * 1_000_000

    def bring_in(self, name: str, source: BinaryIO, ingest: Ingest) -> Outcome:
        """Keep the file and ingest it. One of the same name is replaced, unless the new one turns out to be none."""
        kept = kept_name(name)
        with self._explained():
            received = self._received(source)
        try:
            size = received.stat().st_size
            if size == 0 or size > self._most:
                too_large = f"it has more than the {self._most / 1e6:,.0f} MB that reading.max_megabytes allows"
                return Outcome(name=kept, status="skipped", reason=too_large if size else EMPTY)
            with self.changing():
                return self._exchanged(received, self._folder / kept, ingest).model_copy(update={"name": kept})
        finally:
            received.unlink(missing_ok=True)

    def remove(self, locations: Iterable[str]) -> None:
        """Those of the files that are ours, whatever led there."""
        own = os.path.realpath(self._folder)
        for path in map(Path, filter(None, locations)):
            if os.path.realpath(path.parent) == own:
                with self._explained():
                    path.unlink(missing_ok=True)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """One at a time, among threads and processes; BusyError when the others take too long."""
        if not self._folder.is_dir():
            yield
            return
        lock = FileLock(self._aside / "lock", timeout=PATIENCE, thread_local=False)
        try:
            with self._explained():
                self._aside.mkdir(exist_ok=True)
                lock.acquire(poll_interval=BETWEEN_ATTEMPTS)
        except Timeout:
            raise BusyError("Other documents are being brought in: try again when that has finished.") from None
        try:
            self._clear()
            yield
        finally:
            lock.release()

    def _received(self, source: BinaryIO) -> Path:
        """All of it, or a little more than may be, in a file that nobody takes for a document."""
        self._aside.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._aside, delete=False) as file:
            path = Path(file.name)
            try:
                while file.tell() <= self._most and (some := source.read(AT_ONCE)):
                    file.write(some)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                path.unlink()
                raise
        return path

    def _exchanged(self, received: Path, place: Path, ingest: Ingest) -> Outcome:
        with self._explained():
            before = self._set_aside(place)
            received.replace(place)
        try:
            outcome = _patiently(ingest, place)
        except BaseException:
            self._put_back(before, place)
            raise
        if outcome.status in ("added", "updated", "unchanged"):
            if before:
                before.unlink(missing_ok=True)
            return outcome
        self._put_back(before, place)
        if before and outcome.status == "removed":  # one that is no document must not take the place of one that is
            _patiently(ingest, place)
            return Outcome(name=place.name, status="skipped", reason=f"{outcome.reason}; {KEPT}")
        return outcome

    def _set_aside(self, place: Path) -> Path | None:
        """Another name for the file that is there. After a kill the new one stands in its place, whole."""
        if not place.is_file():
            return None
        before = self._aside / f"before-{time.time_ns()}"
        try:
            before.hardlink_to(place)
        except (OSError, NotImplementedError):  # not every file system knows a second name
            shutil.copy2(place, before)
        return before

    def _put_back(self, before: Path | None, place: Path) -> None:
        with self._explained():
            if before:
                before.replace(place)
            else:
                place.unlink(missing_ok=True)

    def _clear(self) -> None:
        oldest = time.time() - STALE
        for path in self._aside.iterdir():
            with contextlib.suppress(OSError):  # it may be gone already
                if path.name != "lock" and path.stat().st_mtime < oldest:
                    path.unlink()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except Timeout:
            raise
        except (OSError, NotImplementedError) as problem:  # some network drives know no locks
            reason = getattr(problem, "strerror", None) or type(problem).__name__
            raise KnowledgeError(
                f'"{self._folder}" cannot be written ({reason}): make it a writable folder with room for the files.'
            ) from None


def _patiently(ingest: Ingest, path: Path) -> Outcome:
    """Others may change the documents for a while: `veracity ingest` in another process, say."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return ingest(path)
        except BusyError:
            if time.monotonic() >= end:
                raise
        time.sleep(BETWEEN_ATTEMPTS)
