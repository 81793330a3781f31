"""Copies documents and uploads between a folder and an object store, file by file, and compares all of them.

A copy that was killed continues: files that are complete are not copied again. Until the end, a mark in the new place
says that it is not complete.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from veracity.errors import InputError, KnowledgeError
from veracity.knowledge.location import FolderLocation
from veracity.knowledge.move_mark import MARK, encode_mark, read_mark
from veracity.knowledge.object_store import TEST_OBJECT, S3Location
from veracity.settings.store import MoveState
from veracity.workspace import make_private_folder

COPY_BYTES = 1_000_000
# Locks, notes of one machine and temporary files.
IGNORED = (MARK, TEST_OBJECT, ".writer.lock", ".writer.pid", ".aside/lock", ".aside/written", ".aside/copy")
IGNORED_FOLDERS = (".downloads/",)


class FileTree(Protocol):
    """`str()` is its name in messages."""

    def names(self) -> list[str]: ...

    def read(self, name: str) -> Iterator[bytes]: ...

    def put(self, name: str, content: BinaryIO | bytes) -> None: ...

    def delete(self, name: str) -> None: ...

    def content(self, name: str) -> bytes | None: ...


class FolderTree:
    def __init__(self, folder: Path) -> None:
        self._location = FolderLocation(folder)
        self._folder = folder

    def __str__(self) -> str:
        return str(self._folder)

    def names(self) -> list[str]:
        return [file.name for file in self._location.files("")]

    def content(self, name: str) -> bytes | None:
        return self._location.content(name)

    def read(self, name: str) -> Iterator[bytes]:
        with (self._folder / name).open("rb") as file:
            while content := file.read(COPY_BYTES):
                yield content

    def put(self, name: str, content: BinaryIO | bytes) -> None:
        """The name refers to the whole file or to nothing."""
        path = self._folder / name
        make_private_folder(path.parent)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                while piece := content.read(COPY_BYTES):
                    file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(path)

    def delete(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)


class ObjectTree:
    def __init__(self, location: S3Location) -> None:
        self._location = location
        self.read, self.put, self.delete, self.content = location.read, location.put, location.delete, location.content

    def __str__(self) -> str:
        return str(self._location)

    def names(self) -> list[str]:
        return [file.name for file in self._location.files()]


def require_free(target: FileTree, source: str) -> None:
    """Raise `InputError` unless it is empty, or has what an earlier attempt to move the same source has copied."""
    if read_mark(target) == ("arriving", source):
        return
    existing = sorted(name for name in target.names() if name == MARK or not _is_ignored(name))
    if existing:
        raise InputError(f'"{target}" is not empty (it has "{existing[0]}"): name another place, or empty it.')


def copy_files(source: FileTree, target: FileTree, name: str) -> int:
    """Copy all files and compare them. Returns their number. `name` is that of the source in the mark."""
    target.put(MARK, encode_mark("arriving", name))
    wanted = sorted((each for each in source.names() if not _is_ignored(each)), key=_order)
    present = {each for each in target.names() if not _is_ignored(each)}
    for stray in sorted(present.difference(wanted)):
        target.delete(stray)
    for each in wanted:
        _copy(source, target, each, is_present=each in present)
    if sorted(each for each in target.names() if not _is_ignored(each)) != sorted(wanted):
        raise KnowledgeError(f'Files in "{source}" or "{target}" were changed during the move: run it again.')
    return len(wanted)


def set_mark(tree: FileTree, state: MoveState | None, place: str = "") -> None:
    if state is None:
        tree.delete(MARK)
    else:
        tree.put(MARK, encode_mark(state, place))


def _copy(source: FileTree, target: FileTree, name: str, *, is_present: bool) -> None:
    with tempfile.TemporaryFile() as spool:
        digest = hashlib.sha256()
        for piece in source.read(name):
            digest.update(piece)
            spool.write(piece)
        if is_present and _digest(target, name) == digest.digest():
            return
        spool.seek(0)
        target.put(name, spool)
    if _digest(target, name) != digest.digest():
        raise KnowledgeError(f'The copy of "{name}" in "{target}" differs from the original: run the move again.')


def _digest(tree: FileTree, name: str) -> bytes:
    digest = hashlib.sha256()
    for piece in tree.read(name):
        digest.update(piece)
    return digest.digest()


def _order(name: str) -> tuple[bool, str]:
    """Versions of a table come after the files that they name."""
    return "/_versions/" in name, name


def _is_ignored(name: str) -> bool:
    return name in IGNORED or name.startswith(IGNORED_FOLDERS)
