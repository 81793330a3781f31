"""Files between a server and its workers: what was uploaded, and the rows that were prepared from it.

They are with the uploads, in the folder or the object store, below `.queued`: workers on other machines see the latter.
A key has three parts: the kind, a random id, and the name of the upload.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import BinaryIO, Literal, NamedTuple, Protocol

from veracity.knowledge.location import FolderLocation, StoredFile
from veracity.knowledge.object_store import S3Location
from veracity.knowledge.upload_files import READ_BYTES, not_writable
from veracity.workspace import make_private_folder

QUEUED = ".queued"
ORPHAN_SECONDS = 3600.0  # files are stored before they are queued


class Key(NamedTuple):
    kind: Literal["upload", "rows"]
    id: str
    name: str

    def __str__(self) -> str:
        return f"{QUEUED}/{self.kind}/{self.id}/{self.name}"


class Staging(Protocol):
    """Raises `KnowledgeError`."""

    def put(self, key: Key, content: BinaryIO) -> None:
        """Store it, whole or not at all. Replaces what is there."""

    def read(self, key: Key) -> AbstractContextManager[Path | None]:
        """The file on this machine, under the name of the upload. None if there is none."""

    def publish(self, key: Key) -> None:
        """Make it the upload of its name. No-op if there is none."""

    def delete(self, key: Key) -> None:
        """No-op if there is none."""

    def files(self) -> Iterable[StoredFile]: ...

    def remove_temporary(self) -> None:
        """Remove what killed processes left on this machine."""


class FolderStaging:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, key: Key, content: BinaryIO) -> None:
        path = self._folder / str(key)
        with _explain_errors(self._folder):
            make_private_folder(self._folder)
            make_private_folder(path.parent)
            written = path.with_name(f".{os.urandom(8).hex()}")
            try:
                with written.open("wb") as file:
                    shutil.copyfileobj(content, file, READ_BYTES)
                    file.flush()
                    os.fsync(file.fileno())
                written.replace(path)
            except BaseException:
                written.unlink(missing_ok=True)
                raise

    @contextmanager
    def read(self, key: Key) -> Iterator[Path | None]:
        path = self._folder / str(key)
        yield path if path.is_file() else None

    def publish(self, key: Key) -> None:
        with _explain_errors(self._folder), contextlib.suppress(FileNotFoundError):
            (self._folder / str(key)).replace(self._folder / key.name)
        self.delete(key)

    def delete(self, key: Key) -> None:
        path = self._folder / str(key)
        with _explain_errors(self._folder):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            path.parent.rmdir()

    def files(self) -> list[StoredFile]:
        with _explain_errors(self._folder):
            return list(FolderLocation(self._folder).files(QUEUED))

    def remove_temporary(self) -> None:
        """They are among the files."""


class ObjectStaging:
    """Files are read from a copy in a hidden folder of `folder`."""

    def __init__(self, location: S3Location, folder: Path) -> None:
        self._location = location
        self._copies = folder / ".staged"

    def put(self, key: Key, content: BinaryIO) -> None:
        self._location.put(str(key), content)

    @contextmanager
    def read(self, key: Key) -> Iterator[Path | None]:
        if self._location.size(str(key)) is None:
            yield None
            return
        with contextlib.ExitStack() as stack:
            with _explain_errors(self._copies):
                make_private_folder(self._copies)
                path = Path(stack.enter_context(TemporaryDirectory(dir=self._copies))) / key.name
                with path.open("wb") as file:
                    file.writelines(self._location.read(str(key)))
            yield path

    def publish(self, key: Key) -> None:
        if self._location.size(str(key)) is not None:
            self._location.copy(str(key), key.name)
            self._location.delete(str(key))

    def delete(self, key: Key) -> None:
        self._location.delete(str(key))

    def files(self) -> Iterator[StoredFile]:
        return self._location.files(QUEUED)

    def remove_temporary(self) -> None:
        for folder in self._copies.glob("*"):
            with contextlib.suppress(OSError):
                if time.time() - folder.stat().st_mtime > ORPHAN_SECONDS:
                    shutil.rmtree(folder)


def remove_staged(staging: Staging, name: str) -> None:
    """Remove all that is staged for the upload of this name."""
    for file in list(staging.files()):
        if PurePosixPath(file.name).name == name:
            staging.delete(_parse(file.name))


def remove_orphans(staging: Staging, open_ids: Iterable[str]) -> None:
    """Remove old files that belong to none of these ids: of processes that ended before they could queue them."""
    known, latest = set(open_ids), time.time() - ORPHAN_SECONDS
    for file in list(staging.files()):
        key = _parse(file.name)
        if key.id not in known and file.modified < latest:
            staging.delete(key)
    staging.remove_temporary()


@contextmanager
def _explain_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise not_writable(folder, problem) from None


def _parse(path: str) -> Key:
    _, kind, identity, name = PurePosixPath(path).parts
    return Key("rows" if kind == "rows" else "upload", identity, name)
