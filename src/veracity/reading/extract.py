"""Extracts the text of a document: detects the format, calls the reader, checks the result.

To add a file format: name it in `base.py` (`TextFormat` or `BinaryFormat`), recognise it in `detect.py`, write a
function that returns a `Reading`, and call it in `_read_text` or `_read_binary` below. mypy reports a format without a
reader. Call `extract` in a sandboxed process, since parsers see untrusted files. Readers are imported on first use, so
that worker processes start fast.
"""
# ruff: noqa: PLC0415 - see above

import warnings
from dataclasses import replace

from veracity.reading.base import ArchiveLimits, BinaryFormat, Reading, Unreadable, as_title, failed, skipped, tidy
from veracity.reading.detect import binary_format, damaged_as_named, extension, text_format
from veracity.reading.encodings import decode
from veracity.reading.markdown import read_markdown
from veracity.reading.sections import ReadPart
from veracity.reading.text import read_csv, read_json, read_jsonl

MAX_DEPTH = 2  # of e-mails and archives inside of each other


def extract(
    content: bytes, name: str, limits: ArchiveLimits | None = None, depth: int = 0, *, recognise: bool = True
) -> Reading:
    """The text of the document with this content and file name. Raises Unreadable with the reason.

    `depth` counts the e-mails and archives around it. `recognise`: read scans and pictures, if the extra `ocr` is
    installed, which takes many seconds.
    """
    if not content.strip():
        raise skipped("it is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind = binary_format(content, name)
            read_part = _part_reader(depth, recognise)
            reading = (
                _read_binary(kind, content, limits, read_part, recognise)
                if kind
                else _read_text(content, name, read_part)
            )
    except (Unreadable, MemoryError, ImportError, SystemError):  # the last three do not mean a damaged document
        raise
    except RecursionError:
        raise failed("it nests its parts too deeply") from None
    except Exception as problem:
        description = f"{type(problem).__name__} {' '.join(str(problem).split())[:150]}".strip()
        raise failed(f"it is damaged: {description}") from problem
    if not reading.text.strip():
        raise skipped("it holds no text")
    return replace(reading, title=as_title(reading.title))


def _read_binary(
    kind: BinaryFormat, content: bytes, limits: ArchiveLimits | None, read_part: ReadPart, recognise: bool
) -> Reading:
    match kind:
        case "pdf":
            from veracity.reading.pdf import read_pdf

            reading = read_pdf(content, recognise=recognise)
        case "docx":
            from veracity.reading.office import read_docx

            reading = read_docx(content, limits)
        case "pptx":
            from veracity.reading.office import read_pptx

            reading = read_pptx(content, limits)
        case "xlsx":
            from veracity.reading.office import read_xlsx

            reading = read_xlsx(content, limits)
        case "xls":
            from veracity.reading.xls import read_xls

            reading = read_xls(content)
        case "epub":
            from veracity.reading.epub import read_epub

            reading = read_epub(content, limits)
        case "msg":
            from veracity.reading.mail import read_msg

            reading = read_msg(content, read_part)
        case "zip" | "tar":
            from veracity.reading.archive import read_archive

            reading = read_archive(kind, content, read_part, limits)
        case "image":
            from veracity.reading.image import read_image

            reading = read_image(content, recognise=recognise)
    return reading


def _part_reader(depth: int, recognise: bool) -> ReadPart:
    def read(content: bytes, name: str) -> Reading:
        if depth >= MAX_DEPTH:
            raise skipped("archives and e-mails are read two levels deep")
        return extract(content, name, depth=depth + 1, recognise=recognise)

    return read


def _read_text(content: bytes, name: str, read_part: ReadPart) -> Reading:
    text = _decode(content, name)
    match text_format(text, name):
        case "text":
            reading = Reading(text, "", "text")
        case "markdown":
            reading = read_markdown(text, mdx=extension(name) == ".mdx")
        case "html":
            from veracity.reading.html import read_html

            reading = read_html(content)  # decodes again, since a page may declare its encoding
        case "xml":
            from veracity.reading.xml import read_xml

            reading = read_xml(content)  # decodes again, as above
        case "csv":
            reading = read_csv(text, delimiter="\t" if extension(name) == ".tsv" else None)
        case "json":
            reading = read_json(text)
        case "jsonl":
            reading = read_jsonl(text)
        case "eml":
            from veracity.reading.mail import read_eml

            reading = read_eml(content, read_part)  # its parts declare their encodings
    return replace(reading, text=tidy(reading.text))


def _decode(content: bytes, name: str) -> str:
    try:
        text = decode(content)
    except Unreadable as problem:
        raise damaged_as_named(name) or problem from None
    if not text.strip():
        raise skipped("it is empty")
    return text
