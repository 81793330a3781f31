"""Looks into an Office file, which is a zip archive of XML, before any parser does.

What would unpack to too much, points out of the archive, is locked, or declares XML entities (which Office never
writes and parsers may expand without end) is refused. Knows nothing about the documents inside.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from dataclasses import dataclass

from veracity.reading.result import failed

ENCRYPTED = "it is encrypted: remove the password first"
PIECE = 1 << 16
SMALL = 10_000_000  # bytes; below it no ratio is suspicious


@dataclass(frozen=True, slots=True)
class Limits:
    """What an Office file may unpack to."""

    entries: int = 10_000
    unpacked_megabytes: int = 512
    ratio: int = 200


def _written(text: str) -> set[bytes]:
    return {text.encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")}


_ENTITY = _written("<!ENTITY")
_ENTITY_OR_DOCTYPE = _ENTITY | _written("<!DOCTYPE")
_OVERLAP = max(map(len, _ENTITY_OR_DOCTYPE))
_XML_NAMES = (".xml", ".rels", ".vml")  # drawings and a printer's settings do have a harmless DOCTYPE
_XML_ENCODING = re.compile(rb"\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([^\"']{1,40})[\"']")
_KNOWN_ENCODINGS = {b"utf-8", b"utf8", b"utf-16", b"us-ascii", b"ascii", b"iso-8859-1", b"windows-1252"}


def check(content: bytes, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_directory(entries, len(content), limits)
            left = limits.unpacked_megabytes * 1_000_000
            for entry in entries:
                left -= _check_entry(archive, entry, left)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError) as problem:
        raise failed("it is damaged: its archive is broken or cut off") from problem


def _check_directory(entries: list[zipfile.ZipInfo], size: int, limits: Limits) -> None:
    if len(entries) > limits.entries:
        raise failed(f"it holds more than {limits.entries:,} parts")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > limits.unpacked_megabytes * 1_000_000:
        raise failed(f"it unpacks to more than {limits.unpacked_megabytes:,} MB")
    if unpacked > SMALL and unpacked > size * limits.ratio:
        raise failed(f"it unpacks to more than {limits.ratio:,} times its size")
    if len({entry.filename for entry in entries}) < len(entries):
        raise failed("it is damaged: it holds two parts of one name")
    for entry in entries:
        if entry.flag_bits & 1:
            raise failed(ENCRYPTED)
        if _leads_out(entry):
            raise failed("a part of it points to a place outside of it")


def _leads_out(entry: zipfile.ZipInfo) -> bool:
    name = entry.filename.replace("\\", "/")
    mode = entry.external_attr >> 16
    return name.startswith("/") or ":" in name.split("/")[0] or ".." in name.split("/") or stat.S_ISLNK(mode)


def _check_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> int:
    """The size it really has."""
    size, before = 0, b""
    marks = _ENTITY_OR_DOCTYPE if entry.filename.lower().endswith(_XML_NAMES) else _ENTITY
    with archive.open(entry) as part:
        while piece := part.read(PIECE):
            if not size:
                _check_encoding(piece)
            size += len(piece)
            if size > most:
                raise failed("it unpacks to more than it may")
            if any(mark in before + piece for mark in marks):
                raise failed("it declares XML entities, which Office files never do")
            before = piece[-_OVERLAP:]
    return size


def _check_encoding(start: bytes) -> None:
    declared = _XML_ENCODING.match(start.removeprefix(b"\xef\xbb\xbf"))
    if declared and declared[1].lower() not in _KNOWN_ENCODINGS:
        raise failed("its XML is in an encoding that Office files never use")
