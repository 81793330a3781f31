"""Pictures of PDF pages, and where a quote is on its page.

`show_page` runs in the sandboxed worker processes, so requests and replies are JSON objects. PDFium is built without a
script engine and forms are not set up, so no script of the document runs.
"""

from __future__ import annotations

import base64
import hashlib
import io
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from veracity.reading.base import Unreadable
from veracity.reading.pdf import open_pdf

TASK = f"{__name__}:show_page"

MAX_SIDE = 1_600  # pixels of the longer side: a page of A4 at 137 dpi
MAX_CHARACTERS = 200_000  # of a page; a quote further on is not looked for
MAX_BOXES = 200
CANVAS = 10_000  # PDFium converts to whole units: positions are exact to a ten-thousandth of the page
HYPHENS = "-\u2010\u00ad\x02\ufffe"  # PDFium and `read_pdf` replace those at the end of a line

Box = dict[str, float]


def show_page(request: dict[str, Any]) -> dict[str, Any]:
    """Show a page, counted from 0, of the PDF at `path`. Returns `{"changed": true}` if its digest is another one.

    Without a `quote`: its picture, as `png` in base64. With one: the `width` and `height` of the page in points, and
    the `boxes` that cover the quote, each with `left`, `top`, `width` and `height` in parts of the page. `before` is
    the text of the page before the quote, which tells repetitions of the quote apart.
    """
    try:
        content = Path(request["path"]).read_bytes()
    except OSError:
        return {"changed": True}
    if hashlib.sha256(content).hexdigest() != request["digest"]:
        return {"changed": True}
    try:
        with _page(content, request["page"]) as page:
            if "quote" not in request:
                return {"png": base64.b64encode(_render(page)).decode("ascii")}
            width, height = page.get_size()
            return {"width": width, "height": height, "boxes": _locate(page, request["quote"], request["before"])}
    except (Unreadable, pypdfium2.PdfiumError):
        return {"unreadable": True}


@contextmanager
def _page(content: bytes, number: int) -> Iterator[pypdfium2.PdfPage]:
    document = open_pdf(content)
    try:
        if not 0 <= number < len(document):
            raise pypdfium2.PdfiumError("no such page")
        page = document[number]
        try:
            yield page
        finally:
            page.close()
    finally:
        document.close()


def _render(page: pypdfium2.PdfPage) -> bytes:
    width, height = page.get_size()
    bitmap = page.render(scale=MAX_SIDE / max(width, height, 1.0))
    file = io.BytesIO()
    bitmap.to_pil().save(file, "PNG")
    return file.getvalue()


def _locate(page: pypdfium2.PdfPage, quote: str, before: str) -> list[Box]:
    text = page.get_textpage()
    try:
        count = min(text.count_chars(), MAX_CHARACTERS)
        characters = "".join(_character(pdfium.FPDFText_GetUnicode(text, index)) for index in range(count))
        kept = [index for index, character in enumerate(characters) if _is_compared(character)]
        wanted = _compared(quote)
        at = _nearest("".join(characters[index] for index in kept), wanted, len(_compared(before)))
        if at is None:
            return []
        first, last = kept[at], kept[at + len(wanted) - 1]
        boxes = min(text.count_rects(first, last - first + 1), MAX_BOXES)
        return [_box(page, *text.get_rect(number)) for number in range(boxes)]
    finally:
        text.close()


def _character(code: int) -> str:
    return chr(code) if code <= 0xFFFF else " "


def _is_compared(character: str) -> bool:
    """Whether the stored text has this character, too. Spaces, line breaks and hyphens differ, and what is outside of
    the Basic Multilingual Plane is two characters for PDFium on some systems."""
    is_blank = character.isspace() or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn")
    return not is_blank and character not in HYPHENS and ord(character) <= 0xFFFF


def _compared(text: str) -> str:
    return "".join(filter(_is_compared, text))


def _nearest(text: str, wanted: str, expected: int) -> int | None:
    """Where the text has `wanted`, nearest to the expected place."""
    found: list[int] = []
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + 1)
    return min(found, key=lambda place: abs(place - expected), default=None)


def _box(page: pypdfium2.PdfPage, left: float, bottom: float, right: float, top: float) -> Box:
    """A rectangle of the page as it is shown: rotated and cropped."""
    position = pypdfium2.PdfPosConv(page, (0, 0, CANVAS, CANVAS, 0))
    corners = [position.to_bitmap(x, y) for x, y in ((left, top), (right, bottom))]
    (x1, x2), (y1, y2) = (sorted(min(max(corner[axis], 0), CANVAS) for corner in corners) for axis in (0, 1))
    return {"left": x1 / CANVAS, "top": y1 / CANVAS, "width": (x2 - x1) / CANVAS, "height": (y2 - y1) / CANVAS}
