"""The file of a backup: a tar archive, compressed with Zstandard, whose first member lists the others with hashes.

An archive may come from anybody, so nothing in it is trusted: names are checked, and only plain files are accepted that
the list names, with their exact sizes and hashes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from veracity.errors import ConfigurationError, FullDiskError, InputError, VeracityError, reason_of
from veracity.ledger.migrations import SCHEMA_VERSION
from veracity.secrets import presentable

FORMAT_VERSION = 1
MANIFEST_NAME = "manifest.json"
MAX_MANIFEST_BYTES = 64_000_000
MAX_HEADER_BYTES = 1_000_000
MAX_NAME_LENGTH = 1000
COPY_BYTES = 1_000_000
SPARE_BYTES = 50_000_000  # to leave on the disk
# What a workspace consists of. Everything else in its folder belongs to the user.
FOLDERS = ("configs", "metrics", "prompts", "ledger", "knowledge", "uploads")
OBSERVATIONS = "observational_data.json"
FILES = ("veracity.toml", OBSERVATIONS, f".{OBSERVATIONS}.place")
FORBIDDEN_ON_WINDOWS = frozenset("\\:")
PUBLIC = ("veracity.toml", "configs", "metrics", "prompts")  # restored with the usual rights; others are private


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class Entry(_Model):
    """A file of the archive. `modified` is in nanoseconds: unchanged uploads are recognized by it."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
    size: Annotated[int, Field(ge=0)]
    modified: Annotated[int, Field(ge=0, lt=2**63)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Counts(_Model):
    documents: int = 0
    passages: int = 0
    uploads: int = 0
    runs: int = 0
    pending: int = 0
    users: int = 0


class Manifest(_Model):
    kind: Literal["veracity backup"] = "veracity backup"
    format: int = FORMAT_VERSION
    created: datetime
    veracity: str
    ledger_schema: int  # 0 without a ledger
    counts: Counts
    files: list[Entry]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.files)


def describe(name: str, path: Path, size: int | None = None) -> Entry:
    """The entry of a file, or of its first `size` bytes."""
    status = path.stat()
    size = status.st_size if size is None else size
    digest, rest = hashlib.sha256(), size
    with path.open("rb") as file:
        while rest and (content := file.read(min(rest, COPY_BYTES))):
            digest.update(content)
            rest -= len(content)
    return Entry(name=name, size=size, modified=status.st_mtime_ns, sha256=digest.hexdigest())


def write_archive(file: Path, manifest: Manifest, paths: Sequence[Path]) -> None:
    """`paths` are those of the manifest's files."""
    listing = manifest.model_dump_json().encode()
    with (
        file.open("wb") as target,
        pa.CompressedOutputStream(target, "zstd") as stream,
        tarfile.open(fileobj=stream, mode="w|") as archive,
    ):
        archive.addfile(_member(MANIFEST_NAME, len(listing)), pa.BufferReader(listing))
        for entry, path in zip(manifest.files, paths, strict=True):
            with path.open("rb") as content:
                archive.addfile(_member(entry.name, entry.size, entry.modified), content)
    with file.open("rb+") as written:
        os.fsync(written.fileno())


@contextmanager
def open_archive(path: Path) -> Iterator[tuple[Manifest, Iterator[tuple[Entry, IO[bytes]]]]]:
    """The manifest and, in the order of the archive, each file with its content. Raises `InputError` for a file that is
    no backup or is damaged, and `ConfigurationError` for one of a newer version."""
    try:
        with (
            path.open("rb") as file,
            pa.CompressedInputStream(file, "zstd") as stream,
            tarfile.open(fileobj=stream, mode="r|", tarinfo=_SmallHeader) as archive,
        ):
            manifest = _read_manifest(archive, path)
            yield manifest, _members(archive, manifest, path)
    except (tarfile.TarError, EOFError, RecursionError, pa.ArrowException) as error:
        raise _damaged(path, presentable(str(error)) or type(error).__name__) from None
    except OSError as error:
        if error.errno is None:  # of the decompression
            raise _damaged(path, "its compressed content cannot be read") from None
        raise InputError(f'"{path}" cannot be read ({reason_of(error)}): name a backup.') from None


def check_archive(path: Path) -> Manifest:
    """Read the whole archive and compare all hashes. Raises like `open_archive`."""
    with open_archive(path) as (manifest, members):
        for entry, content in members:
            _copy(entry, content, None, path)
        return manifest


def extract_archive(path: Path, folder: Path) -> Manifest:
    """Write all files below the folder, which must be empty. Raises like `open_archive`."""
    with open_archive(path) as (manifest, members):
        _require_space(folder, manifest)
        for entry, content in members:
            target = folder / entry.name
            try:
                with _create(target, is_public=entry.name.split("/")[0] in PUBLIC) as file:
                    _copy(entry, content, file, path)
                os.utime(target, ns=(entry.modified, entry.modified))
            except OSError as error:
                if error.errno is None:  # of the archive
                    raise
                raise explain_failed_write(target, error) from None
        return manifest


def _create(path: Path, *, is_public: bool) -> IO[bytes]:
    path.parent.mkdir(mode=0o777 if is_public else 0o700, parents=True, exist_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if is_public else 0o600), "wb")


def _member(name: str, size: int, modified: int = 0) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = size, modified // 10**9, 0o600
    return member


def _read_manifest(archive: tarfile.TarFile, path: Path) -> Manifest:
    member = archive.next()
    content = archive.extractfile(member) if member is not None and member.isreg() else None
    if member is None or content is None or member.name != MANIFEST_NAME or member.size > MAX_MANIFEST_BYTES:
        raise _damaged(path, f"it does not begin with {MANIFEST_NAME}")
    listing = content.read()
    try:
        version = _Version.model_validate_json(listing)
        _require_known(version, path)
        manifest = Manifest.model_validate_json(listing)
    except ValidationError:
        raise _damaged(path, f"its {MANIFEST_NAME} is not valid") from None
    names = [entry.name for entry in manifest.files]
    for name in names:
        if not is_safe(name):
            raise InputError(f'"{path}" names "{presentable(name)}", which is no file of a workspace: do not use it.')
    if len(set(names)) != len(names):
        raise _damaged(path, "it names a file twice")
    return manifest


class _SmallHeader(tarfile.TarInfo):
    """Extended headers are read into memory, whatever their size."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        if not self.isreg() and self.size > MAX_HEADER_BYTES:
            raise tarfile.ReadError("a header is too large")
        return super()._proc_member(archive)  # type: ignore[misc]  # not in the stubs


class _Version(_Model):
    kind: Literal["veracity backup"]
    format: int
    veracity: str
    ledger_schema: int


def _require_known(version: _Version, path: Path) -> None:
    if version.format > FORMAT_VERSION or version.ledger_schema > SCHEMA_VERSION:
        raise ConfigurationError(
            f'"{path}" was made by a newer Veracity ({presentable(version.veracity)}): update Veracity to restore it.'
        )


def is_safe(name: str) -> bool:
    """Whether it is the path of a file that belongs to a workspace."""
    parts = name.split("/")
    has_separator = "\0" in name or (os.sep != "/" and not FORBIDDEN_ON_WINDOWS.isdisjoint(name))
    is_below = not has_separator and all(part not in ("", ".", "..") for part in parts)
    return is_below and (name in FILES if len(parts) == 1 else parts[0] in FOLDERS)


def _members(archive: tarfile.TarFile, manifest: Manifest, path: Path) -> Iterator[tuple[Entry, IO[bytes]]]:
    missing = {entry.name: entry for entry in manifest.files}
    while (member := archive.next()) is not None:
        entry = missing.pop(member.name, None)
        content = archive.extractfile(member) if member.isreg() else None
        if entry is None or content is None or member.size != entry.size:
            raise _damaged(path, f'"{presentable(member.name)}" differs from its {MANIFEST_NAME}')
        yield entry, content
    if missing:
        raise _damaged(path, f'"{presentable(min(missing))}" is missing')


def _copy(entry: Entry, content: IO[bytes], target: IO[bytes] | None, path: Path) -> None:
    digest = hashlib.sha256()
    while piece := content.read(COPY_BYTES):
        digest.update(piece)
        if target is not None:
            target.write(piece)
    if digest.hexdigest() != entry.sha256:
        raise _damaged(path, f'"{presentable(entry.name)}" does not have its hash')


def _require_space(folder: Path, manifest: Manifest) -> None:
    free = shutil.disk_usage(folder).free
    if manifest.size > free - SPARE_BYTES:
        raise FullDiskError(
            f'The backup needs {manifest.size // 1_000_000 + 1:,} MB, and the disk of "{folder.parent}" has '
            f"{free // 1_000_000:,} MB left: free some disk space."
        )


def explain_failed_write(path: Path, error: OSError) -> VeracityError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return FullDiskError(f'There is no room for "{path}" ({reason_of(error)}): free some disk space.')
    return InputError(f'"{path}" cannot be written ({reason_of(error)}): name a place that can be written.')


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(f'"{path}" is not a whole backup ({reason}): use another one.')
