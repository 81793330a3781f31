"""Where documents and uploads are stored: a folder of the workspace, or a prefix in an object store.

`FolderLocation` is the default. `object_store.py` has the location that several machines share.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from veracity.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class StoredFile:
    """`name` is relative to the location, with slashes. `modified` is in seconds since the epoch."""

    name: str
    modified: float


class Location(Protocol):
    """`str()` of a location is its name in messages."""

    @property
    def is_shared(self) -> bool:
        """True if processes on other machines write here, too. Then a lock file excludes nobody."""

    @property
    def uri(self) -> str | Path:
        """The address for LanceDB."""

    @property
    def storage_options(self) -> dict[str, str] | None:
        """LanceDB's options for this address."""

    def open(self) -> None:
        """Check, once, that the location can be used. Raises KnowledgeError or ConfigurationError."""

    def lacks(self, folder: str) -> bool:
        """True if there is certainly no such folder. Sends no request."""

    def files(self, folder: str) -> Iterator[StoredFile]:
        """All files below the folder."""

    def mark(self, name: str) -> None:
        """Create an empty file, unless it exists."""

    def marked(self, name: str) -> float | None:
        """When the file was created, in seconds since the epoch; None if it does not exist."""

    def unmark(self, name: str) -> None:
        """Delete the file if it exists."""

    def content(self, name: str) -> bytes | None:
        """The content of a small file, or None if it does not exist."""

    def explain(self, problem: BaseException) -> str | None:
        """A sentence about a failed access: what is wrong and how to fix it. None if nothing special is known."""


class SharedLock(Protocol):
    """Locks that all machines share, such as Postgres advisory locks."""

    def __call__(self, name: str, timeout_seconds: float) -> AbstractContextManager[object]:
        """Hold the lock of this name while the context lasts.

        Entering the context raises TimeoutError if another process or thread holds the lock for longer than the
        timeout; with 0, at once. The lock must be released when its process dies.
        """


def require_shared_lock(lock: SharedLock | None, location: Location) -> SharedLock:
    """Raises ConfigurationError without a lock: two writers could store the same document twice."""
    if lock is None:
        raise ConfigurationError(
            f'"{location}" can only be changed under a lock that all machines share: set store.ledger to a Postgres '
            "database."
        )
    return lock


@dataclass(frozen=True, slots=True)
class FolderLocation:
    folder: Path

    def __str__(self) -> str:
        return str(self.folder)

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def uri(self) -> Path:
        return self.folder

    @property
    def storage_options(self) -> None:
        return None

    def open(self) -> None:
        pass

    def lacks(self, folder: str) -> bool:
        return not (self.folder / folder).is_dir()

    def files(self, folder: str) -> Iterator[StoredFile]:
        for path in (self.folder / folder).rglob("*"):
            if path.is_file():
                yield StoredFile(path.relative_to(self.folder).as_posix(), path.stat().st_mtime)

    def mark(self, name: str) -> None:
        (self.folder / name).open("ab").close()

    def marked(self, name: str) -> float | None:
        try:
            return (self.folder / name).stat().st_mtime
        except OSError:
            return None

    def unmark(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def content(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except OSError:
            return None

    def explain(self, problem: BaseException) -> None:
        return None


def as_location(place: Path | Location) -> Location:
    return FolderLocation(place) if isinstance(place, Path) else place
