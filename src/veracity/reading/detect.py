"""Detects the format of a document: by its first bytes, and by its name only if they are plain text."""

import io
import re
import zipfile
from pathlib import PurePosixPath

from veracity.reading import ocr
from veracity.reading.base import ENCRYPTED, BinaryFormat, TextFormat, Unreadable, failed, skipped

HEAD_BYTES = 2_048

# Pictures that text recognition reads.
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
# Unsupported kinds by their first bytes, which no text begins with.
_SIGNATURES: dict[str, tuple[bytes, ...]] = {
    "image": (b"8BPS\0", b"\0\0\1\0"),
    "archive: pack it as .zip or .tar.gz": (b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", b"\x28\xb5\x2f\xfd"),
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
    "eml": (".eml",),
}
_BINARY_EXTENSIONS = {
    **{".pdf": "PDF", ".docx": "Word", ".pptx": "PowerPoint", ".xlsx": "Excel", ".xls": "Excel", ".epub": "EPUB"},
    **{".msg": "Outlook", ".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".tif": "TIFF", ".tiff": "TIFF"},
    **{".webp": "WebP", ".zip": "zip", ".tar": "tar", ".tgz": "tar.gz"},
}
_OFFICE_PARTS: dict[str, BinaryFormat] = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
}
_OLE_STREAMS: dict[str, BinaryFormat] = {"Workbook": "xls", "Book": "xls", "__properties_version1.0": "msg"}
_OLE_HINTS = {
    "WordDocument": "Word before 2007: save it as .docx, or run soffice --headless --convert-to docx",
    "PowerPoint Document": "PowerPoint before 2007: save it as .pptx, or run soffice --headless --convert-to pptx",
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
        return _zip_format(content, name)
    if head.startswith(_OLE2):
        return _ole_format(content)
    if _is_tar(head):
        return "tar"
    if _is_image(head):
        if not ocr.is_installed():
            raise skipped(f"its format is not supported ({ocr.HOW_TO_READ_AN_IMAGE})")
        return "image"
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


def _is_tar(head: bytes) -> bool:
    """True for a tar archive, and for what is compressed like one. "BZh" may begin a text, too."""
    is_bzip2 = head.startswith(b"BZh") and head[4:10] == b"1AY&SY"
    return is_bzip2 or head.startswith((b"\x1f\x8b", b"\xfd7zXZ\0")) or head[257:262] == b"ustar"


def _is_image(head: bytes) -> bool:
    """True for a picture that text recognition reads. "BM" may begin a text, too."""
    is_bitmap = head.startswith(b"BM") and _CONTROL.search(head) is not None
    return is_bitmap or head.startswith(_IMAGES) or (head.startswith(b"RIFF") and head[8:12] == b"WEBP")


def _ole_format(content: bytes) -> BinaryFormat:
    """The format of a file in the container of Office before 2007."""
    import olefile  # type: ignore[import-untyped]  # noqa: PLC0415 - few files need it

    try:
        with olefile.OleFileIO(content) as container:
            streams = {path[0] for path in container.listdir()}
    except Exception as problem:  # the library raises any error for damaged files
        if "EncryptedPackage".encode("utf-16-le") in content:
            raise failed(ENCRYPTED) from None
        raise failed("it is damaged: it is cut off or not a valid file of Office before 2007") from problem
    if "EncryptedPackage" in streams:
        raise failed(ENCRYPTED)
    for stream, kind in _OLE_STREAMS.items():
        if stream in streams:
            return kind
    old = next((hint for stream, hint in _OLE_HINTS.items() if stream in streams), "old Office: save it as .docx")
    raise skipped(f"its format is not supported ({old})")


def _unsupported_kind(head: bytes) -> str:
    for kind, signatures in _SIGNATURES.items():
        if head.startswith(signatures):
            return kind
    if head[4:8] == b"ftyp":
        return "image" if head[8:11] in {b"hei", b"avi", b"mif"} else "video"
    if _CONTROL.search(head):
        return next((kind for kind, signatures in _WEAK_SIGNATURES.items() if head.startswith(signatures)), "")
    return ""


def _zip_format(content: bytes, name: str) -> BinaryFormat:
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
    if "META-INF/container.xml" in names:
        return "epub"
    if "[Content_Types].xml" in names and "xl/workbook.bin" not in names:  # the main part may have another name
        folders = {part.split("/", 1)[0] for part in names}
        kinds = [kind for part, kind in _OFFICE_PARTS.items() if part.split("/", 1)[0] in folders]
        if len(kinds) == 1:
            return kinds[0]
    if "xl/workbook.bin" in names:
        raise skipped("its format is not supported (binary Excel: save it as .xlsx)")
    if "content.xml" in names and "META-INF/manifest.xml" in names:
        raise skipped("its format is not supported (OpenDocument: save it as .docx, .xlsx or .pptx)")
    return "zip"
