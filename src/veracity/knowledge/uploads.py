"""The files that were handed in and not found on a disk: kept in a folder of the workspace, each whole or not at all.

Whoever changes something there holds the lock of the folder. While it is not yet known whether a new file is a
document, what stood in its place stays beside, under a name that tells which it was, and is empty where nothing did: so
what a process left that died can be finished by another, and files that somebody else put there are left alone. Knows
nothing about what the files hold.
"""

from __future__ import annotations

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
from veracity.knowledge.file_names import Places, kept_name
from veracity.knowledge.ingest import KEPT
from veracity.models import Outcome

PATIENCE = 30.0  # seconds that an upload waits for others who change the documents
BETWEEN_ATTEMPTS = 0.1
AT_ONCE = 1_000_000  # bytes read at once

BEFORE = "before-"  # what is being replaced
TAKEN = ("added", "updated", "unchanged")

Ingest = Callable[[Path], Outcome]


class Uploads:
    def __init__(self, folder: Path, max_megabytes: int) -> None:
        self._folder = folder
        self._aside = folder / ".aside"  # hidden: nobody takes it for documents
        self._most = max_megabytes * 1_000_000
        self.places = Places(folder)

    def bring_in(self, name: str, source: BinaryIO, ingest: Ingest) -> Outcome:
        """Keep the file and ingest it. One of the same name is replaced, unless the new one turns out to be none."""
        kept = kept_name(name)
        with self._received(source) as received:
            size = received.tell()
            if size == 0 or size > self._most:
                too_large = f"it has more than the {self._most / 1e6:,.0f} MB that reading.max_megabytes allows"
                return Outcome(name=kept, status="skipped", reason=too_large if size else EMPTY)
            with self.changing():
                return self._exchanged(received, self._folder / kept, ingest).model_copy(update={"name": kept})

    def unfinished(self) -> list[str]:
        """The names of files of which nobody knows whether they are documents."""
        with self.changing():
            return self._unfinished()

    def finish(self, name: str, ingest: Ingest) -> Outcome | None:
        """As `bring_in` would have. None where there is nothing left to do."""
        with self.changing():
            is_left = name in self._unfinished()
            return self._finished(self._folder / name, ingest).model_copy(update={"name": name}) if is_left else None

    def remove(self, locations: Iterable[str]) -> None:
        """Those of the files that are ours."""
        for path in filter(None, map(self.places.upload_at, locations)):
            with self._explained():
                path.unlink(missing_ok=True)
                self._before(path).unlink(missing_ok=True)

    @contextmanager
    def changing(self, patience: float | None = None) -> Iterator[None]:
        """One at a time, among threads and processes; BusyError when the others take too long."""
        if not self._folder.is_dir():
            yield
            return
        wait = PATIENCE if patience is None else patience
        lock = FileLock(self._aside / "lock", timeout=wait, thread_local=False)
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

    @contextmanager
    def _received(self, source: BinaryIO) -> Iterator[BinaryIO]:
        """All of it, or a little more than may be, in a file without a name: it goes with the process, however that
        ends."""
        with ExitStack() as held:
            with self._explained():
                self._folder.mkdir(parents=True, exist_ok=True)
                file = held.enter_context(tempfile.TemporaryFile(dir=self._folder))
                while file.tell() <= self._most and (some := source.read(AT_ONCE)):
                    file.write(some)
            yield file

    def _exchanged(self, received: BinaryIO, place: Path, ingest: Ingest) -> Outcome:
        if self._is_before(self._before(place)):
            self._finished(place, ingest)
        with self._explained():
            written = self._written(received)
            self._set_aside(place)
            written.replace(place)
        try:
            outcome = _patiently(ingest, place)
        except BaseException:
            self._put_back(place)
            raise
        return self._settled(place, outcome, ingest)

    def _finished(self, place: Path, ingest: Ingest) -> Outcome:
        """What raises leaves all as it is, for another time."""
        outcome = _patiently(ingest, place)
        if outcome.status == "failed":  # the process that read it may have been stopped together with ours: then this
            outcome = _patiently(ingest, place)  # is not reached
        return self._settled(place, outcome, ingest)

    def _settled(self, place: Path, outcome: Outcome, ingest: Ingest) -> Outcome:
        """One that is no document must not take the place of one that is."""
        if outcome.status in TAKEN:
            self._before(place).unlink(missing_ok=True)
        elif self._put_back(place) and outcome.status == "removed":
            _patiently(ingest, place)
            return Outcome(name=place.name, status="skipped", reason=f"{outcome.reason}; {KEPT}")
        return outcome

    def _written(self, received: BinaryIO) -> Path:
        path = self._aside / "written"
        received.seek(0)
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(received, file, AT_ONCE)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    def _before(self, place: Path) -> Path:
        return self._aside / f"{BEFORE}{place.name}"

    def _set_aside(self, place: Path) -> None:
        """Another name for the file that is there. After a kill the new one stands in its place, whole."""
        before = self._before(place)
        before.unlink(missing_ok=True)
        if not place.is_file():
            before.touch()
            return
        try:
            before.hardlink_to(place)
        except (OSError, NotImplementedError):  # not every file system knows a second name
            copy = self._aside / "copy"
            shutil.copy2(place, copy)
            copy.replace(before)

    def _put_back(self, place: Path) -> bool:
        """True if there was one before."""
        before = self._before(place)
        with self._explained():
            if before.exists() and before.stat().st_size:
                before.replace(place)
                return True
            place.unlink(missing_ok=True)
            before.unlink(missing_ok=True)
            return False

    def _unfinished(self) -> list[str]:
        with self._explained():
            found = self._aside.iterdir() if self._aside.is_dir() else iter(())
            return sorted(path.name.removeprefix(BEFORE) for path in found if self._is_before(path))

    def _clear(self) -> None:
        """Who holds the lock is alone here: what else lies there was left by a process that died."""
        for path in self._aside.iterdir():
            with contextlib.suppress(OSError):  # it is tried again with the next change
                if path.name != "lock" and not self._is_before(path):
                    path.unlink()

    def _is_before(self, path: Path) -> bool:
        """That of a file which is still there: it is needed until that one is known to be a document."""
        name = path.name.removeprefix(BEFORE)
        return path.name != name and path.exists() and (self._folder / name).is_file()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except Timeout:
            raise
        except (OSError, NotImplementedError) as problem:  # some network drives know no locks
            raise KnowledgeError(
                f'"{self._folder}" cannot be written ({reason_of(problem)}): make it a writable folder with room for '
                "the files."
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
