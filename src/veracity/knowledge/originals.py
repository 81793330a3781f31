"""The original files of documents: uploads, and files on this machine that have not changed since they were ingested.

A file is only used if its digest is the one that was stored with the text, so a file that took its place is never
shown. Documents that were added as text have no original.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from veracity.errors import NotFoundError
from veracity.knowledge.rows import Fingerprint
from veracity.knowledge.store import Store
from veracity.knowledge.uploads import Uploads
from veracity.secrets import presentable


@dataclass(frozen=True, slots=True)
class Original:
    """An open file. `name` is its name without folders."""

    file: BinaryIO
    name: str
    size: int
    digest: str


class Originals:
    def __init__(self, store: Store, uploads: Uploads) -> None:
        self._store = store
        self._uploads = uploads

    def has(self, document_id: str) -> bool:
        """Whether the original is there. Reads a file on this machine only if its time has changed."""
        fingerprint = self._store.fingerprint(document_id)
        if fingerprint is None or not fingerprint.location:
            return False
        if (name := self._uploads.name_of(fingerprint.location)) is not None:
            return self._uploads.size(name) == fingerprint.size
        path = Path(fingerprint.location)
        with suppress(OSError):
            if _is_file(path) and (status := path.stat()).st_size == fingerprint.size:
                return status.st_mtime_ns == fingerprint.modified or _is_intact(path, fingerprint)
        return False

    @contextmanager
    def path(self, document_id: str) -> Iterator[tuple[Path, Fingerprint]]:
        """The file, whose digest the caller has to compare. Raises NotFoundError if there is none."""
        fingerprint = self._store.fingerprint(document_id)
        if fingerprint is None or not fingerprint.location:
            raise no_original(document_id)
        name = self._uploads.name_of(fingerprint.location)
        path = Path(fingerprint.location)
        if not _is_file(path) if name is None else self._uploads.size(name) is None:
            raise no_original(document_id)
        with nullcontext(path) if name is None else self._uploads.view(name) as path:
            yield path, fingerprint

    @contextmanager
    def open(self, document_id: str) -> Iterator[Original]:
        """Raises NotFoundError if there is no original, or if it has changed."""
        with self.path(document_id) as (path, fingerprint):
            try:
                file = path.open("rb")
            except OSError:
                raise no_original(document_id) from None
            with file:
                if hashlib.file_digest(file, "sha256").hexdigest() != fingerprint.digest:
                    raise no_original(document_id)
                size = file.tell()
                file.seek(0)
                name = PurePath(fingerprint.location.replace("\\", "/")).name
                yield Original(file, name, size, fingerprint.digest)


def no_original(document_id: str) -> NotFoundError:
    return NotFoundError(
        f'The original of the document "{presentable(document_id)}" is not available: its file was moved, changed or '
        "deleted, or it was added as text."
    )


def _is_file(path: Path) -> bool:
    """False for a pipe or a device, which would be read for ever."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def _is_intact(path: Path, fingerprint: Fingerprint) -> bool:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == fingerprint.digest
