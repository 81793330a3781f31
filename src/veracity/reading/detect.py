"""Detects the format of a document: by its first bytes, and by its name only if they are plain text."""

import io
import re
import zipfile
from pathlib import PurePosixPath

from veracity.reading.base import ENCRYPTED, BinaryFormat, TextFormat, Unreadable, failed, skipped

HEAD_BYTES = 2_048

# Unsupported kinds by their first bytes, which no text begins with.
_SIGNATURES: dict[str, tuple[bytes, ...]] = {
    "image": (b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*", b"8BPS\0", b"\0\0\1\0"),
    "archive": (b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"),
    "program": (b"\x7fELF", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa", b"\0asm"),
    "audio": (b"fLaC\0",),
    "audio or video": (b"OggS\0",),
    "video": (b"\x1aE\xdf\xa3",),
    "database": (b"SQLite format 3\0",),
    "RTF: save it as .docx": (b"{\\rtf",),
    "PostScript: save it as PDF": (b"%!PS",),
}
# First bytes that a text could begin with: they count only if control characters follow.
_WEAK_SIGNATURES: dict[str, tuple[bytes, ...]] = {
    "program": (b"MZ",),
    "image": (b"BM",),
    "archive": (b"BZh",),
    "audio": (b"ID3", b"\xff\xfb"),
    "data table": (b"PAR1",),
    "font": (b"wOF", b"OTTO"),
    "image, audio or video": (b"RIFF",),
}
_TEXT_EXTENSIONS: dict[TextFormat, tuple[str, ...]] = {
    "markdown": (".md", ".markdown", ".mdx", ".mkd"),
    "html": (".html", ".htm", ".xhtml"),
    "xml": (".xml", ".rss", ".atom", ".rdf"),
    "csv": (".csv", ".tsv"),
    "json": (".json", ".geojson"),
    "jsonl": (".jsonl", ".ndjson"),
}
_BINARY_EXTENSIONS = {".pdf": "PDF", ".docx": "Word", ".pptx": "PowerPoint", ".xlsx": "Excel"}
_OFFICE_PARTS: dict[str, BinaryFormat] = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
}
_OLE2 = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_PROLOG = r"\s|\ufeff|<\?xml[^>]{0,200}\?>|<!--(?:[^-]|-(?!->)){0,1000}-->"
_HTML = re.compile(rf"(?:{_PROLOG})*+<(?:!doctype\s+html|html|head|body)\b", re.I)
_XML = re.compile(r"[\s\ufeff]*+<(?:\?xml\s|rss\b|feed\s)")
_SVG = re.compile(rf"(?:{_PROLOG}|<!doctype svg[^>]*>)*+<svg\b", re.I)


def binary_format(content: bytes, name: str) -> BinaryFormat | None:
    """The format, or None if the content may be plain text. Raises Unreadable for a format that is not supported."""
    head = content[:HEAD_BYTES]
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"%PDF-") or (
        extension(name) == ".pdf" and b"%PDF-" in head and _CONTROL.search(content)
    ):
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _office_format(content, name)
    if head.startswith(_OLE2):
        if "EncryptedPackage".encode("utf-16-le") in content:
            raise failed(ENCRYPTED)
        raise skipped("its format is not supported (old Office: save it as .docx, .xlsx or .pptx)")
    kind = _unsupported_kind(head)
    if kind:
        raise skipped(f"its format is not supported ({kind})")
    return None


def text_format(text: str, name: str) -> TextFormat:
    start = text[:HEAD_BYTES]
    if _SVG.match(start):
        raise skipped("its format is not supported (image)")
    if _HTML.match(start):
        return "html"
    suffix = extension(name)
    kind: TextFormat = next((kind for kind, suffixes in _TEXT_EXTENSIONS.items() if suffix in suffixes), "text")
    if kind != "html" and _XML.match(start):
        return "xml"
    return "text" if kind == "xml" and not start.lstrip("\ufeff \t\n").startswith("<") else kind


def damaged_as_named(name: str) -> Unreadable | None:
    """The error for content that is neither text nor what the file name promises."""
    promised = _BINARY_EXTENSIONS.get(extension(name))
    return failed(f"it is damaged: it does not begin as a {promised} file does") if promised else None


def extension(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/").replace("\0", "")).suffix.lower()


def _unsupported_kind(head: bytes) -> str:
    for kind, signatures in _SIGNATURES.items():
        if head.startswith(signatures):
            return kind
    if head[4:8] == b"ftyp":
        return "image" if head[8:11] in {b"hei", b"avi", b"mif"} else "video"
    if head[257:262] == b"ustar":
        return "archive"
    if _CONTROL.search(head):
        return next((kind for kind, signatures in _WEAK_SIGNATURES.items() if head.startswith(signatures)), "")
    return ""


def _office_format(content: bytes, name: str) -> BinaryFormat:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, OverflowError) as problem:
        promised = _BINARY_EXTENSIONS.get(extension(name))
        reason = f"it is damaged: it is cut off or not a {promised} file" if promised else "it is a damaged archive"
        raise failed(reason) from problem
    for part, kind in _OFFICE_PARTS.items():
        if part in names:
            return kind
    if "[Content_Types].xml" in names and "xl/workbook.bin" not in names:  # the main part may have another name
        folders = {part.split("/", 1)[0] for part in names}
        kinds = [kind for part, kind in _OFFICE_PARTS.items() if part.split("/", 1)[0] in folders]
        if len(kinds) == 1:
            return kinds[0]
    raise skipped(f"its format is not supported ({_zip_kind(names)})")


def _zip_kind(names: set[str]) -> str:
    if "META-INF/container.xml" in names:
        return "EPUB"
    if "content.xml" in names and "META-INF/manifest.xml" in names:
        return "OpenDocument: save it as .docx, .xlsx or .pptx"
    return "binary Excel: save it as .xlsx" if "xl/workbook.bin" in names else "archive"
