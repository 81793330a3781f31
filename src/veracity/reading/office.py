"""Word and PowerPoint, as Markdown.

Parsers see the file only after `archives` has looked into it. Pictures give their description, links their text.
Knows nothing about zip archives.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

import openpyxl  # type: ignore[import-untyped]
from defusedxml import ElementTree  # type: ignore[import-untyped]
from markitdown import StreamInfo
from markitdown.converters import DocxConverter, PptxConverter

from veracity.reading.base import Reading, as_title, failed, skipped, tidy
from veracity.reading.pdf import joined
from veracity.reading.text import first_heading

_DC_TITLE = ".//{http://purl.org/dc/elements/1.1/}title"
# Titles that PowerPoint and Word give of themselves.
_NO_TITLE = re.compile(r"(?i)(?:powerpoint presentation|presentation|word document|untitled|document ?\d*)?")


def stored_title(content: bytes) -> str:
    """The title among the document's properties; those that nobody chose do not count."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = ElementTree.fromstring(archive.read("docProps/core.xml")).findtext(_DC_TITLE)
    except (KeyError, ElementTree.ParseError, ValueError):
        return ""
    title = as_title(found)
    return "" if _NO_TITLE.fullmatch(title) else title


def read(content: bytes, name: str) -> Reading:
    workbook = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    try:
        sheets = [(sheet.title, _rows(sheet)) for sheet in workbook.worksheets]
    finally:
        workbook.close()
    parts = [f"## {' '.join(title.split())}\n\n{_table(rows)}" for title, rows in sheets if rows]
    if not parts:
        raise skipped("it holds no text")
    return Reading(tidy("\n\n".join(parts)), stored_title(content), "xlsx", markdown=True)


def _rows(sheet: Any) -> list[list[str]]:
    """The rows that hold something, without the columns that are empty in all of them."""
    sheet.reset_dimensions()  # what the file claims of its size may be wrong by a million rows
    rows = [row for row in (_trimmed(cells) for cells in sheet.iter_rows(values_only=True)) if row]
    used = sorted({at for row in rows for at, cell in enumerate(row) if cell})
    return [[row[at] if at < len(row) else "" for at in used] for row in rows]


def _trimmed(cells: Iterable[Any]) -> list[str]:
    row = [_shown(cell) for cell in cells]
    while row and not row[-1]:
        row.pop()
    return row


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        midnight = value.time() == time()
        return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return " ".join(str(value).split()).replace("|", "\\|")


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))


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


_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->$", re.MULTILINE)
_PICTURE = re.compile(r"!\[([^\]\n]{0,2000})\]\([^)\n]{0,2000}\)")
_PLAIN = ["a", "b", "strong", "em", "i", "u", "s", "del", "sub", "sup"]


def read_docx(content: bytes, name: str) -> Reading:
    converted = DocxConverter().convert(  # type: ignore[no-untyped-call]
        _without_pictures(content),
        StreamInfo(extension=".docx"),
        strip=_PLAIN,
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
    )
    text = tidy(_PICTURE.sub(r"\1", converted.markdown))
    return Reading(text, stored_title(content) or first_heading(text), "docx", markdown=True)


def read_pptx(content: bytes, name: str) -> Reading:
    converter = PptxConverter()  # type: ignore[no-untyped-call]
    converted = converter.convert(io.BytesIO(content), StreamInfo(extension=".pptx"), escape_misc=False)
    slides = [tidy(_PICTURE.sub(_description, slide)).strip() for slide in _slides(converted.markdown)]
    text, starts = joined(slides)
    return Reading(text, stored_title(content) or first_heading(text), "pptx", markdown=True, pages=starts)


def _without_pictures(content: bytes) -> io.BytesIO:
    """The same document with its pictures empty: the converter would carry every byte of them along as text."""
    lighter = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(lighter, "w") as target:
        for name in source.namelist():
            target.writestr(name, b"" if name.startswith("word/media/") else source.read(name))
    lighter.seek(0)
    return lighter


def _slides(markdown: str) -> list[str]:
    """Cut at the converter's marks; only the next number is one, so that a slide's own text cannot fake it."""
    starts: list[re.Match[str]] = []
    for mark in _SLIDE.finditer(markdown):
        if int(mark[1]) == len(starts) + 1:
            starts.append(mark)
    ends = [mark.start() for mark in starts[1:]] + [len(markdown)]
    return [markdown[mark.end() : end] for mark, end in zip(starts, ends, strict=True)]


def _description(picture: re.Match[str]) -> str:
    """`Picture 4` and `photo.png` are names, not descriptions."""
    named = re.fullmatch(
        r"(?i)(?:picture|image|bild|图片|図|grafik|content placeholder)? ?\d*|\S+\.\w{3,4}", picture[1]
    )
    return "" if named else picture[1]
