"""PDF: the text of each page. Lines stay lines; only words that a line break hyphenates are joined.

Pages without text are recognised, if the extra `ocr` is installed.
"""

import re

import pypdfium2  # type: ignore[import-untyped]

from veracity.reading import ocr
from veracity.reading.base import ENCRYPTED, Reading, failed, join_pages, skipped, stored_title, tidy

# PDFium joins a word hyphenated at the end of a line, and leaves U+0002 or U+FFFE in place of the hyphen.
_HYPHENATION = re.compile("(?:[\x02\ufffe](?:\r\n?|\n)?|[-\u2010\u00ad](?:\r\n?|\n))(?=[^\\W\\d_])")
_SOFT_HYPHEN = "\u00ad"
POINTS_PER_INCH = 72
_PASSWORD, _SECURITY = 4, 5  # PDFium's FPDF_ERR_PASSWORD and FPDF_ERR_SECURITY


def read_pdf(content: bytes, *, recognise: bool = True) -> Reading:
    recognition = ocr.Recognition()
    document = open_pdf(content)
    try:
        title = stored_title(document.get_metadata_dict().get("Title", ""))
        pages = [_page_text(document, number) for number in range(len(document))]
        for number, page in enumerate(pages):
            if page == "" and recognise and ocr.is_installed():
                pages[number] = _recognise(document, number, recognition)
    finally:
        document.close()
    if not pages:
        raise failed("it is damaged: it has no pages")
    if all(page is None for page in pages):
        raise failed("it is damaged: none of its pages can be read")
    text, starts = join_pages([page or "" for page in pages])
    if not text:
        raise skipped(ocr.NO_TEXT if ocr.is_installed() else f"it holds no text ({ocr.HOW_TO_READ_A_SCAN})")
    return Reading(text, title, "pdf", pages=starts, metadata=recognition.metadata())


def open_pdf(content: bytes) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as problem:
        if getattr(problem, "err_code", None) in {_PASSWORD, _SECURITY}:
            raise failed(ENCRYPTED) from None
        raise failed("it is damaged: it is cut off or not a valid PDF") from None


def _page_text(document: pypdfium2.PdfDocument, number: int) -> str | None:
    """None for a damaged page: the other pages may be readable."""
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return None
    try:
        text_page = page.get_textpage()
        try:
            text = _HYPHENATION.sub(_replace_hyphen, text_page.get_text_bounded())
            return tidy(text.replace(_SOFT_HYPHEN, ""))
        finally:
            text_page.close()
    except pypdfium2.PdfiumError:
        return None
    finally:
        page.close()


def _recognise(document: pypdfium2.PdfDocument, number: int, recognition: ocr.Recognition) -> str | None:
    """The recognised text of a page; None for a damaged page."""
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return None
    try:
        width, height = page.get_size()
        bitmap = page.render(scale=ocr.scale_for(width, height, ocr.DOTS_PER_INCH / POINTS_PER_INCH))
        return recognition.read_page(bitmap.to_pil())
    except pypdfium2.PdfiumError:
        return None
    finally:
        page.close()


def _replace_hyphen(hyphen: re.Match[str]) -> str:
    """`exam-` / `ple` is one word; `Anglo-` / `Saxon` keeps its hyphen."""
    is_lower = hyphen.string[max(hyphen.start() - 1, 0)].islower() and hyphen.string[hyphen.end()].islower()
    return "" if is_lower else "-" if hyphen[0][0] in "\x02\ufffe" else hyphen[0]
