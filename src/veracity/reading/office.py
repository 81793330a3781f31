"""Word, PowerPoint and Excel, as Markdown. Pictures give their description, links their text.

Every file is checked for zip bombs, XML entities and unsafe paths before a parser sees it.
"""

import io
import re
import zipfile
from datetime import datetime, time
from typing import Any

import openpyxl  # type: ignore[import-untyped]
from defusedxml import ElementTree  # type: ignore[import-untyped]
from markitdown import StreamInfo
from markitdown.converters import DocxConverter, PptxConverter

from veracity.reading.base import ArchiveLimits, Reading, failed, join_pages, skipped, stored_title, tidy
from veracity.reading.markdown import first_heading
from veracity.reading.zip_check import check_zip

_DC_TITLE = ".//{http://purl.org/dc/elements/1.1/}title"
_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->$", re.MULTILINE)
_PICTURE = re.compile(r"!\[([^\]\n]{0,2000})\]\([^)\n]{0,2000}\)")
_PICTURE_NAME = re.compile(r"(?i)(?:picture|image|bild|图片|図|grafik|content placeholder)? ?\d*|\S+\.\w{3,4}")
_INLINE_TAGS = ["a", "b", "strong", "em", "i", "u", "s", "del", "sub", "sup"]


def read_docx(content: bytes, limits: ArchiveLimits | None = None) -> Reading:
    _check_archive(content, limits or ArchiveLimits())
    converted = DocxConverter().convert(  # type: ignore[no-untyped-call]
        _without_pictures(content),
        StreamInfo(extension=".docx"),
        strip=_INLINE_TAGS,
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
    )
    text = tidy(_PICTURE.sub(r"\1", converted.markdown))
    return Reading(text, _stored_title(content) or first_heading(text), "docx", markdown=True)


def read_pptx(content: bytes, limits: ArchiveLimits | None = None) -> Reading:
    _check_archive(content, limits or ArchiveLimits())
    converter = PptxConverter()  # type: ignore[no-untyped-call]
    converted = converter.convert(io.BytesIO(content), StreamInfo(extension=".pptx"), escape_misc=False)
    slides = [tidy(_PICTURE.sub(_description, slide)).strip() for slide in _slides(converted.markdown)]
    text, starts = join_pages(slides)
    return Reading(text, _stored_title(content) or first_heading(text), "pptx", markdown=True, pages=starts)


def read_xlsx(content: bytes, limits: ArchiveLimits | None = None) -> Reading:
    _check_archive(content, limits or ArchiveLimits())
    workbook = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    try:
        sheets = [(sheet.title, _rows(sheet)) for sheet in workbook.worksheets]
    finally:
        workbook.close()
    parts = [f"## {' '.join(title.split())}\n\n{table(rows)}" for title, rows in sheets if rows]
    if not parts:
        raise skipped("it holds no text")
    return Reading(tidy("\n\n".join(parts)), _stored_title(content), "xlsx", markdown=True)


def _stored_title(content: bytes) -> str:
    """The title in the document's properties, unless it is the program's default."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            stored = ElementTree.fromstring(archive.read("docProps/core.xml")).findtext(_DC_TITLE)
    except (KeyError, ElementTree.ParseError, ValueError):
        return ""
    return stored_title(stored)


def _without_pictures(content: bytes) -> io.BytesIO:
    """A copy with empty pictures: the converter would embed their bytes in the text."""
    lighter = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(lighter, "w") as target:
        for name in source.namelist():
            target.writestr(name, b"" if name.startswith("word/media/") else source.read(name))
    lighter.seek(0)
    return lighter


def _slides(markdown: str) -> list[str]:
    """Split at the converter's slide comments. They must count up, so that text on a slide cannot fake them."""
    starts: list[re.Match[str]] = []
    for comment in _SLIDE.finditer(markdown):
        if int(comment[1]) == len(starts) + 1:
            starts.append(comment)
    ends = [comment.start() for comment in starts[1:]] + [len(markdown)]
    return [markdown[comment.end() : end] for comment, end in zip(starts, ends, strict=True)]


def _description(picture: re.Match[str]) -> str:
    """`Picture 4` and `photo.png` are names, not descriptions."""
    return "" if _PICTURE_NAME.fullmatch(picture[1]) else picture[1]


def _rows(sheet: Any) -> list[list[str]]:
    """The rows that hold something, without columns that are empty in all of them."""
    sheet.reset_dimensions()  # the size that the file claims may be wrong by a million rows
    rows: list[dict[int, str]] = []
    for cells in sheet.iter_rows(values_only=True):
        row = {column: text for column, cell in enumerate(cells) if (text := cell_text(cell))}
        rows += [row] if row else []
    columns = sorted({column for row in rows for column in row})
    return [[row.get(column, "") for column in columns] for row in rows]


def cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        is_date = value.time() == time()
        return value.date().isoformat() if is_date else value.isoformat(" ", "seconds")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return " ".join(str(value).split()).replace("|", "\\|")


def table(rows: list[list[str]]) -> str:
    head, *body = rows
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))


def _encoded(text: str) -> set[bytes]:
    return {text.encode(encoding) for encoding in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")}


_ENTITY = _encoded("<!ENTITY")
_ENTITY_OR_DOCTYPE = _ENTITY | _encoded("<!DOCTYPE")
_OVERLAP = max(map(len, _ENTITY_OR_DOCTYPE))
_XML_SUFFIXES = (".xml", ".rels", ".vml")  # other parts, such as drawings, may have a harmless DOCTYPE
_XML_ENCODING = re.compile(rb"\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([^\"']{1,40})[\"']")
_OFFICE_ENCODINGS = {b"utf-8", b"utf8", b"utf-16", b"us-ascii", b"ascii", b"iso-8859-1", b"windows-1252"}


def _check_archive(content: bytes, limits: ArchiveLimits) -> None:
    check_zip(content, limits, _check_xml)


def _check_xml(name: str, before: bytes, block: bytes) -> None:
    if not before:
        _check_encoding(block)
    forbidden = _ENTITY_OR_DOCTYPE if name.lower().endswith(_XML_SUFFIXES) else _ENTITY
    if any(declaration in before[-_OVERLAP:] + block for declaration in forbidden):
        raise failed("it declares XML entities, which Office files never do")


def _check_encoding(start: bytes) -> None:
    declared = _XML_ENCODING.match(start.removeprefix(b"\xef\xbb\xbf"))
    if declared and declared[1].lower() not in _OFFICE_ENCODINGS:
        raise failed("its XML is in an encoding that Office files never use")
