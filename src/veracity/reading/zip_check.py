"""Checks a zip file against limits before anything of it is read: its size unpacked, its names, its encryption."""

import io
import stat
import zipfile
import zlib
from collections.abc import Callable

from veracity.reading.base import ENCRYPTED, ArchiveLimits, failed

READ_BYTES = 1 << 16
MIN_SUSPICIOUS_BYTES = 10_000_000  # below it no compression ratio is suspicious
BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError)

# Called with the name of a part, what was read of it before, and the next block.
CheckBlock = Callable[[str, bytes, bytes], None]


def check_zip(content: bytes, limits: ArchiveLimits, check_block: CheckBlock | None = None) -> None:
    """Unpack every part once and keep nothing. Raises Unreadable for a file that exceeds the limits."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            check_directory(entries, len(content), limits)
            remaining = limits.unpacked_megabytes * 1_000_000
            for entry in entries:
                remaining -= _check_entry(archive, entry, remaining, check_block)
    except BROKEN_ZIP as problem:
        raise failed("it is damaged: its archive is broken or cut off") from problem


def check_directory(entries: list[zipfile.ZipInfo], size: int, limits: ArchiveLimits) -> None:
    if len(entries) > limits.entries:
        raise failed(f"it holds more than {limits.entries:,} parts")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > limits.unpacked_megabytes * 1_000_000:
        raise failed(f"it unpacks to more than {limits.unpacked_megabytes:,} MB")
    if unpacked > MIN_SUSPICIOUS_BYTES and unpacked > size * limits.ratio:
        raise failed(f"it unpacks to more than {limits.ratio:,} times its size")
    if len({entry.filename for entry in entries}) < len(entries):
        raise failed("it is damaged: two of its parts have the same name")
    for entry in entries:
        if entry.flag_bits & 1:
            raise failed(ENCRYPTED)
        if points_outside(entry.filename) or stat.S_ISLNK(entry.external_attr >> 16):
            raise failed("one of its parts points outside of the file")


def points_outside(name: str) -> bool:
    """True for an absolute path, a drive, and a path that leads up."""
    parts = name.replace("\\", "/").split("/")
    return parts[0] == "" or ":" in parts[0] or ".." in parts


def _check_entry(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, max_bytes: int, check_block: CheckBlock | None
) -> int:
    """Returns the real unpacked size, since the directory may lie."""
    size, before = 0, b""
    with archive.open(entry) as part:
        while block := part.read(READ_BYTES):
            size += len(block)
            if size > max_bytes:
                raise failed("it unpacks to more than the limit")
            if check_block:
                check_block(entry.filename, before, block)
            before = block
    return size
