"""The stored uploads, in a folder or in an object store. While a file is being ingested, the one it replaces is kept.

That backup is named `.aside/before-<name>` and is empty if there was no such file. It is written before the new file
and deleted when the new file is accepted, so after a crash it marks an upload that is not finished.
"""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from filelock import FileLock, Timeout

from veracity.errors import FullDiskError, KnowledgeError, reason_of
from veracity.knowledge.file_names import Locations
from veracity.knowledge.location import FolderLocation, SharedLock, require_shared_lock
from veracity.knowledge.move_mark import require_here
from veracity.knowledge.object_store import S3Location
from veracity.workspace import make_private_folder

RETRY_SECONDS = 0.1
READ_BYTES = 1_000_000
ASIDE = ".aside"  # hidden, so it is not ingested
BACKUP_PREFIX = "before-"
LOCK_NAME = "uploads"
VIEW_PREFIX, VIEW_SECONDS = ".view-", 600.0  # copies to look at; older ones are those of crashed processes
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class UploadFiles(Protocol):
    """All methods but `receive`, `size`, `view` and `explain_errors` are called under the lock."""

    @property
    def locations(self) -> Locations: ...

    def lock(self, timeout_seconds: float) -> AbstractContextManager[object]:
        """Exclude other threads and processes. Raises TimeoutError after the timeout."""

    def receive(self) -> AbstractContextManager[BinaryIO]:
        """An unnamed file for the content that is being received. It disappears with the process."""

    def replace(self, name: str, content: BinaryIO) -> None:
        """Back up the file, then replace it. At any time its name refers to a whole file, old or new."""

    def read(self, name: str) -> AbstractContextManager[Path]:
        """The file on this machine."""

    def size(self, name: str) -> int | None:
        """The size of the file in bytes; None if there is none."""

    def view(self, name: str) -> AbstractContextManager[Path]:
        """The file, or a copy of it, on this machine, to look at."""

    def accept(self, name: str) -> None:
        """Delete the backup."""

    def restore(self, name: str) -> bool:
        """Undo `replace`. Returns True if there was a file before."""

    def remove(self, name: str) -> None:
        """Delete the file and its backup."""

    def unfinished(self) -> list[str]:
        """The names of the files that have a backup."""

    def explain_errors(self) -> AbstractContextManager[None]:
        """Turn errors of the operating system into KnowledgeError."""


class FolderFiles:
    """Files that were put into the folder by other means are left alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._aside = folder / ASIDE
        self.locations = Locations(folder)

    @contextmanager
    def lock(self, timeout_seconds: float) -> Iterator[None]:
        if not self._folder.is_dir():
            yield
            return
        lock = FileLock(self._aside / "lock", timeout=timeout_seconds, thread_local=False)
        with self.explain_errors():
            self._aside.mkdir(exist_ok=True)
            lock.acquire(poll_interval=RETRY_SECONDS)
        try:
            require_here(FolderLocation(self._folder), "uploads")
            self._remove_leftovers()
            yield
        finally:
            lock.release()

    @contextmanager
    def receive(self) -> Iterator[BinaryIO]:
        with contextlib.ExitStack() as stack:
            with self.explain_errors():
                make_private_folder(self._folder)
                file = stack.enter_context(_temporary_file(self._folder))
            yield file

    def replace(self, name: str, content: BinaryIO) -> None:
        path = self._folder / name
        with self.explain_errors():
            written = self._write(content)
            self._back_up(path)
            written.replace(path)

    @contextmanager
    def read(self, name: str) -> Iterator[Path]:
        yield self._folder / name

    def size(self, name: str) -> int | None:
        try:
            return (self._folder / name).stat().st_size
        except OSError:
            return None

    view = read

    def accept(self, name: str) -> None:
        self._backup_of(name).unlink(missing_ok=True)

    def restore(self, name: str) -> bool:
        path, backup = self._folder / name, self._backup_of(name)
        with self.explain_errors():
            if backup.exists() and backup.stat().st_size:
                backup.replace(path)
                return True
            path.unlink(missing_ok=True)
            backup.unlink(missing_ok=True)
            return False

    def remove(self, name: str) -> None:
        with self.explain_errors():
            (self._folder / name).unlink(missing_ok=True)
            self._backup_of(name).unlink(missing_ok=True)

    def unfinished(self) -> list[str]:
        with self.explain_errors():
            entries = self._aside.iterdir() if self._aside.is_dir() else iter(())
            return sorted(path.name.removeprefix(BACKUP_PREFIX) for path in entries if self._is_backup(path))

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        try:
            yield
        except Timeout:
            raise
        except (OSError, NotImplementedError) as problem:  # some network drives do not support locks
            raise not_writable(self._folder, problem) from None

    def _write(self, content: BinaryIO) -> Path:
        path = self._aside / "written"
        content.seek(0)
        try:
            with path.open("wb") as file:
                shutil.copyfileobj(content, file, READ_BYTES)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return path

    def _back_up(self, path: Path) -> None:
        """Give the file a second name."""
        backup = self._backup_of(path.name)
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

    def _backup_of(self, name: str) -> Path:
        return self._aside / f"{BACKUP_PREFIX}{name}"

    def _is_backup(self, path: Path) -> bool:
        """True for the backup of a file that exists: its ingestion is not finished."""
        name = path.name.removeprefix(BACKUP_PREFIX)
        return path.name != name and path.exists() and (self._folder / name).is_file()

    def _remove_leftovers(self) -> None:
        """Delete temporary files of crashed processes. Safe because the lock is held."""
        for path in self._aside.iterdir():
            with contextlib.suppress(OSError):  # the next change tries again
                if path.name != "lock" and not self._is_backup(path):
                    path.unlink()


class ObjectFiles:
    """Uploads in an object store. One is downloaded to a hidden folder of `folder` while it is being read."""

    def __init__(self, location: S3Location, folder: Path, shared_lock: SharedLock | None) -> None:
        self._location = location
        self._downloads = folder / ".downloads"
        self._shared_lock = shared_lock
        self.locations = Locations(folder, self._downloads)

    @contextmanager
    def lock(self, timeout_seconds: float) -> Iterator[None]:
        with require_shared_lock(self._shared_lock, self._location)(LOCK_NAME, timeout_seconds):
            require_here(self._location, "uploads")
            self._remove_leftovers()
            yield

    @contextmanager
    def receive(self) -> Iterator[BinaryIO]:
        with contextlib.ExitStack() as stack:
            with self.explain_errors():
                make_private_folder(self._downloads)
                file = stack.enter_context(_temporary_file(self._downloads))
            yield file

    def replace(self, name: str, content: BinaryIO) -> None:
        if self._location.size(name) is None:
            self._location.put(_backup_key(name), b"")
        else:
            self._location.copy(name, _backup_key(name))
        content.seek(0)
        self._location.put(name, content)

    @contextmanager
    def read(self, name: str) -> Iterator[Path]:
        path = self._downloads / name
        try:
            with self.explain_errors():
                make_private_folder(self._downloads)
                with path.open("wb") as file:
                    file.writelines(self._location.read(name))
            yield path
        finally:
            path.unlink(missing_ok=True)

    def size(self, name: str) -> int | None:
        return self._location.size(name)

    @contextmanager
    def view(self, name: str) -> Iterator[Path]:
        with contextlib.ExitStack() as stack:
            with self.explain_errors():
                make_private_folder(self._downloads)
                file = stack.enter_context(tempfile.NamedTemporaryFile(dir=self._downloads, prefix=VIEW_PREFIX))
                file.writelines(self._location.read(name))
                file.flush()
            yield Path(file.name)

    def accept(self, name: str) -> None:
        self._location.delete(_backup_key(name))

    def restore(self, name: str) -> bool:
        was_there = bool(self._location.size(_backup_key(name)))
        if was_there:
            self._location.copy(_backup_key(name), name)
        else:
            self._location.delete(name)
        self._location.delete(_backup_key(name))
        return was_there

    def remove(self, name: str) -> None:
        self._location.delete(name)
        self._location.delete(_backup_key(name))

    def unfinished(self) -> list[str]:
        names = [file.name.removeprefix(_backup_key("")) for file in self._location.files(ASIDE)]
        return sorted(name for name in names if self._location.size(name) is not None)

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise not_writable(self._downloads, problem) from None

    def _remove_leftovers(self) -> None:
        """Delete what crashed processes left: backups of files that do not exist, and downloads."""
        unfinished = set(self.unfinished())
        for file in list(self._location.files(ASIDE)):
            if file.name.removeprefix(_backup_key("")) not in unfinished:
                self._location.delete(file.name)
        for path in self._downloads.glob("*"):
            with contextlib.suppress(OSError):
                if not path.name.startswith(VIEW_PREFIX) or path.stat().st_mtime < time.time() - VIEW_SECONDS:
                    path.unlink()


@contextmanager
def _temporary_file(folder: Path) -> Iterator[BinaryIO]:
    """An unnamed file. On a full disk closing it fails again, which would hide the error that is being raised."""
    file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed below
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):
            file.close()


def not_writable(folder: Path, problem: Exception) -> KnowledgeError:
    if getattr(problem, "errno", None) in NO_ROOM:
        return FullDiskError(f'There is no room in "{folder}" ({reason_of(problem)}): free some disk space.')
    return KnowledgeError(
        f'"{folder}" cannot be written ({reason_of(problem)}): make it a writable folder with enough free space.'
    )


def _backup_key(name: str) -> str:
    return f"{ASIDE}/{BACKUP_PREFIX}{name}"
