"""Which format a document is in: by its first bytes, and only where they are plain text by its name.

Knows nothing about how a format is read.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import PurePosixPath

from veracity.reading.base import Format, Unreadable, failed, skipped

HEAD = 2_048

# First bytes that no text begins with.
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"GIF87a", "image"),
    (b"GIF89a", "image"),
    (b"II*\0", "image"),
    (b"MM\0*", "image"),
    (b"8BPS\0", "image"),
    (b"\0\0\1\0", "image"),
    (b"\x1f\x8b", "archive"),
    (b"7z\xbc\xaf\x27\x1c", "archive"),
    (b"Rar!\x1a\x07", "archive"),
    (b"\xfd7zXZ\0", "archive"),
    (b"\x28\xb5\x2f\xfd", "archive"),
    (b"\x7fELF", "program"),
    (b"\xca\xfe\xba\xbe", "program"),
    (b"\xcf\xfa\xed\xfe", "program"),
    (b"\xfe\xed\xfa", "program"),
    (b"\0asm", "program"),
    (b"fLaC\0", "audio"),
    (b"OggS\0", "audio or video"),
    (b"\x1aE\xdf\xa3", "video"),
    (b"SQLite format 3\0", "database"),
    (b"{\\rtf", "RTF: save it as .docx"),
    (b"%!PS", "PostScript: save it as PDF"),
)
# First bytes that a text could begin with: believed only when controls follow.
_WEAK_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"MZ", "program"),
    (b"BM", "image"),
    (b"BZh", "archive"),
    (b"ID3", "audio"),
    (b"\xff\xfb", "audio"),
    (b"PAR1", "data table"),
    (b"wOF", "font"),
    (b"OTTO", "font"),
    (b"RIFF", "image, audio or video"),
)
_BY_NAME: dict[str, Format] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".mkd": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".geojson": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_BINARY_BY_NAME = {".pdf": "PDF", ".docx": "Word", ".pptx": "PowerPoint", ".xlsx": "Excel"}
_OFFICE: tuple[tuple[str, Format], ...] = (
    ("word/document.xml", "docx"),
    ("ppt/presentation.xml", "pptx"),
    ("xl/workbook.xml", "xlsx"),
)
_OFFICE_FOLDERS: dict[str, Format] = {"word": "docx", "ppt": "pptx", "xl": "xlsx"}
_OLE2 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_HTML = re.compile(
    r"(?:\s|\ufeff|<\?xml[^>]{0,200}\?>|<!--(?:[^-]|-(?!->)){0,1000}-->)*+<(?:!doctype\s+html|html|head|body)\b", re.I
)
_SVG = re.compile(
    r"(?:\s|\ufeff|<\?xml[^>]{0,200}\?>|<!--(?:[^-]|-(?!->)){0,1000}-->|<!doctype svg[^>]*>)*+<svg\b", re.I
)


def binary_format(content: bytes, name: str) -> Format | None:
    """The format of what is not plain text; None for what may be text. What we cannot read is refused by its kind."""
    head = content[:HEAD]
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-") or (
        extension(name) == ".pdf" and b"%PDF-" in head and _CONTROL.search(content)
    ):
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zipped(content, name)
    if head.startswith(_OLE2):
        raise _old_office(content)
    kind = _signed(head)
    if kind:
        raise skipped(f"its format is not supported ({kind})")
    return None


def text_format(text: str, name: str) -> Format:
    """The format of plain text."""
    start = text[:HEAD]
    if _SVG.match(start):
        raise skipped("its format is not supported (image)")
    if _HTML.match(start):
        return "html"
    return _BY_NAME.get(extension(name), "text")


def damaged_as_named(name: str) -> Unreadable | None:
    """What to say of bytes that are neither what the name promises nor text."""
    promised = _BINARY_BY_NAME.get(extension(name))
    return failed(f"it is damaged: it does not begin as a {promised} file does") if promised else None


def extension(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/").replace("\0", "")).suffix.lower()


def _signed(head: bytes) -> str:
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head[4:8] == b"ftyp":
        return "image" if head[8:11] in {b"hei", b"avi", b"mif"} else "video"
    if head[257:262] == b"ustar":
        return "archive"
    if _CONTROL.search(head):
        return next((kind for signature, kind in _WEAK_SIGNATURES if head.startswith(signature)), "")
    return ""


def _zipped(content: bytes, name: str) -> Format:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, OverflowError) as problem:
        promised = _BINARY_BY_NAME.get(extension(name))
        what = f"it is damaged: it is cut off or no {promised} file" if promised else "it is a damaged archive"
        raise failed(what) from problem
    for part, office_format in _OFFICE:
        if part in names:
            return office_format
    if "[Content_Types].xml" in names:  # a main part of another name is allowed
        folders = {part.split("/", 1)[0] for part in names}
        found = [office for folder, office in _OFFICE_FOLDERS.items() if folder in folders]
        if len(found) == 1 and "xl/workbook.bin" not in names:
            return found[0]
    raise skipped(f"its format is not supported ({_other_zip(names)})")


def _other_zip(names: set[str]) -> str:
    if "META-INF/container.xml" in names:
        return "EPUB"
    if "content.xml" in names and "META-INF/manifest.xml" in names:
        return "OpenDocument: save it as .docx, .xlsx or .pptx"
    return "binary Excel: save it as .xlsx" if "xl/workbook.bin" in names else "archive"


def _old_office(content: bytes) -> Unreadable:
    if "EncryptedPackage".encode("utf-16-le") in content:
        return failed("it is encrypted: remove the password first")
    return skipped("its format is not supported (old Office: save it as .docx, .xlsx or .pptx)")
