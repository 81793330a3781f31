"""PDF: the text of each page, and where each page begins.

Knows nothing about layout beyond what PDFium tells: lines stay lines, only words cut by a hyphen are joined.
"""

from __future__ import annotations

import re

import pypdfium2  # type: ignore[import-untyped]

from veracity.reading.base import Reading, as_title, failed, skipped, tidy

# PDFium joins a word cut at the end of a line, and leaves U+0002 or U+FFFE where the hyphen was.
_CUT_WORD = re.compile("(?:[\x02\ufffe](?:\r\n?|\n)?|[-\u2010\u00ad](?:\r\n?|\n))(?=[^\\W\\d_])")
_SOFT_HYPHEN = "\u00ad"
_PASSWORD, _SECURITY = 4, 5  # PDFium's FPDF_ERR_PASSWORD and FPDF_ERR_SECURITY


def read(content: bytes, name: str) -> Reading:
    document = _opened(content)
    try:
        title = as_title(document.get_metadata_dict().get("Title", ""))
        pages = [_page_text(document, number) for number in range(len(document))]
    finally:
        document.close()
    if not pages:
        raise failed("it is damaged: it has no pages")
    if all(page is None for page in pages):
        raise failed("it is damaged: none of its pages can be read")
    text, starts = joined([page or "" for page in pages])
    if not text:
        raise skipped("it holds no text (a scan needs text recognition first)")
    return Reading(text, title, "pdf", pages=starts)


def joined(pages: list[str]) -> tuple[str, tuple[int, ...]]:
    """The pages as one text, an empty line between them, and where each begins."""
    starts, parts, length = [], [], 0
    for page in pages:
        starts.append(length)
        if page:
            parts.append(page)
            length += len(page) + 2
    text = "\n\n".join(parts)
    return text, tuple(min(start, len(text)) for start in starts)


def _opened(content: bytes) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as problem:
        if getattr(problem, "err_code", None) in {_PASSWORD, _SECURITY}:
            raise failed("it is encrypted: remove the password first") from None
        raise failed("it is damaged: it is cut off or not a valid PDF") from None


def _page_text(document: pypdfium2.PdfDocument, number: int) -> str | None:
    """None for a page that is broken: the others may be whole."""
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return None
    try:
        text_page = page.get_textpage()
        try:
            return _without_cut_words(text_page.get_text_bounded())
        finally:
            text_page.close()
    except pypdfium2.PdfiumError:
        return None
    finally:
        page.close()


def _without_cut_words(text: str) -> str:
    return tidy(_CUT_WORD.sub(_join, text).replace(_SOFT_HYPHEN, ""))


def _join(cut: re.Match[str]) -> str:
    """`exam-` / `ple` is one word; `Anglo-` / `Saxon` keeps its hyphen."""
    small = cut.string[max(cut.start() - 1, 0)].islower() and cut.string[cut.end()].islower()
    return "" if small else "-" if cut[0][0] in "\x02\ufffe" else cut[0]
