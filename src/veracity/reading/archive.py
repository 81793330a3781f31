"""Archives (.zip, .tar, .tar.gz and the like): every file in them is a section of the document.

Nothing is written to disk, links are not followed, and everything is counted while it is unpacked.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, Literal

from veracity.reading.base import ArchiveLimits, Reading, as_title, failed, skipped, tidy
from veracity.reading.sections import Part, ReadPart, read_parts
from veracity.reading.zip_check import BROKEN_ZIP, MIN_SUSPICIOUS_BYTES, check_directory, points_outside

LIMITS = ArchiveLimits(entries=2_000, unpacked_megabytes=500, ratio=100)
BROKEN = "it is damaged: it is cut off or not a valid archive"
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
_BROKEN_TAR = (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError)


def read_archive(
    kind: Literal["zip", "tar"], content: bytes, read_part: ReadPart, limits: ArchiveLimits | None = None
) -> Reading:
    unpack = _zip_parts if kind == "zip" else _tar_parts
    sections = read_parts(unpack(content, limits or LIMITS), read_part)
    if not sections.texts:
        reason = sections.not_read[0].removeprefix("- ") if sections.not_read else "it is empty"
        raise skipped(f"it holds no file that can be read ({reason})")
    return Reading(tidy("\n\n".join(sections.all())), "", kind, markdown=True)


def _zip_parts(content: bytes, limits: ArchiveLimits) -> Iterator[Part]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            check_directory(entries, len(content), limits)
            remaining = limits.unpacked_megabytes * 1_000_000
            for entry in entries:
                if not entry.is_dir() and not _is_hidden(entry.filename):
                    with archive.open(entry) as file:
                        part = file.read(remaining + 1)
                    remaining -= _checked(part, remaining, limits)
                    yield Part(as_title(entry.filename), part)
    except BROKEN_ZIP as problem:
        raise failed(BROKEN) from problem


def _tar_parts(content: bytes, limits: ArchiveLimits) -> Iterator[Part]:
    opener = next((opener for start, opener in _OPENERS.items() if content.startswith(start)), None)
    stream = _Counted(opener(io.BytesIO(content)) if opener else io.BytesIO(content), len(content), limits)
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for number, entry in enumerate(archive, 1):
                if number > limits.entries:
                    raise failed(f"it holds more than {limits.entries:,} parts")
                if points_outside(entry.name.removeprefix("./")):
                    raise failed("one of its parts points outside of the file")
                file = archive.extractfile(entry) if entry.isreg() and not _is_hidden(entry.name) else None
                if file is not None:
                    yield Part(as_title(entry.name.removeprefix("./")), file.read())
    except tarfile.ReadError as problem:
        if opener and not stream.is_tar:
            raise skipped("its format is not supported (a compressed file that is not a tar archive)") from None
        raise failed(BROKEN) from problem
    except _BROKEN_TAR as problem:
        raise failed(BROKEN) from problem


class _Counted(io.RawIOBase):
    """A stream that refuses to unpack more than the limits allow, even in one read."""

    def __init__(self, stream: IO[bytes], size: int, limits: ArchiveLimits) -> None:
        super().__init__()
        self._stream, self._size, self._limits = stream, size, limits
        self._unpacked = 0
        self.is_tar = False

    def read(self, length: int = -1) -> bytes:
        block = self._stream.read(length)
        self.is_tar = self.is_tar or (not self._unpacked and block[257:262] == b"ustar")
        self._unpacked += len(block)
        _check_size(self._unpacked, self._size, self._limits)
        return block


def _checked(part: bytes, remaining: int, limits: ArchiveLimits) -> int:
    """The size of the part. The directory of a zip file may lie about it."""
    if len(part) > remaining:
        raise failed(f"it unpacks to more than {limits.unpacked_megabytes:,} MB")
    return len(part)


def _check_size(unpacked: int, size: int, limits: ArchiveLimits) -> None:
    if unpacked > limits.unpacked_megabytes * 1_000_000:
        raise failed(f"it unpacks to more than {limits.unpacked_megabytes:,} MB")
    if unpacked > MIN_SUSPICIOUS_BYTES and unpacked > size * limits.ratio:
        raise failed(f"it unpacks to more than {limits.ratio:,} times its size")


def _is_hidden(name: str) -> bool:
    parts = name.removeprefix("./").split("/")
    return parts[0] == "__MACOSX" or any(part.startswith(".") for part in parts)
