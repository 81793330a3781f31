"""Reads the text of fetched pages, in the sandboxed subprocesses that also read documents."""

from __future__ import annotations

import base64
import codecs
import contextlib
from concurrent.futures import TimeoutError as NotDone
from dataclasses import dataclass
from typing import Any

from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.reading.base import Unreadable
from veracity.reading.encodings import decode
from veracity.reading.extract import extract
from veracity.reading.sandbox.pool import SandboxPool
from veracity.reading.sandbox.process import WorkerFailure
from veracity.settings import ReadingSettings
from veracity.websearch.addresses import quote_url
from veracity.websearch.fetch import FetchedPage
from veracity.workers import processors

MAX_WORKERS = 4
TASK = f"{__name__}:read"
FILE_NAMES = {
    "text/html": "page.html",
    "application/xhtml+xml": "page.xhtml",
    "text/plain": "page.txt",
    "application/pdf": "page.pdf",
}
FORMATS = ("html", "text", "pdf")  # as detected, whatever the server says
DEFAULT_CHARSETS = ("", "iso-8859-1", "latin1", "us-ascii", "ascii")  # what servers say when they do not know


@dataclass(frozen=True, slots=True)
class PageText:
    text: str
    title: str
    format: str
    markdown: bool
    pages: tuple[int, ...]


class PageReader:
    def __init__(self, settings: ReadingSettings) -> None:
        self._pool = SandboxPool(
            TASK,
            workers=min(MAX_WORKERS, settings.workers or processors()),
            seconds=settings.seconds,
            memory_megabytes=settings.memory_megabytes,
        )

    def prepare(self) -> None:
        """Start a process now, while the page it will read is still being searched for."""
        with contextlib.suppress(WorkerFailure):
            self._pool.submit(_request(b"<html><p>Ready.", "text/html", ""))

    def read(self, page: FetchedPage, deadline: Deadline) -> PageText:
        try:
            result = self._pool.submit(_request(page.content, page.media_type, page.charset)).result(deadline.left)
        except NotDone:
            reason = "there was no time left"
        except WorkerFailure as failure:
            reason = failure.reason
        else:
            if "unreadable" not in result:
                return _page_text(result)
            reason = str(result["unreadable"])
        raise WebSearchError(f"The page {quote_url(page.url)} could not be read: {reason}.")

    def close(self) -> None:
        self._pool.close()


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Runs in the subprocess."""
    media_type = request["media_type"]
    content = _to_utf8(base64.b64decode(request["content"]), media_type, request["charset"])
    try:
        reading = extract(content, FILE_NAMES[media_type], recognise=False)  # somebody is waiting
    except Unreadable as problem:
        return {"unreadable": problem.reason}
    if reading.format not in FORMATS:
        return {"unreadable": "it is neither HTML, text nor PDF"}
    return {
        "text": reading.text,
        "title": reading.title,
        "format": reading.format,
        "markdown": reading.markdown,
        "pages": list(reading.pages),
    }


def _to_utf8(content: bytes, media_type: str, charset: str) -> bytes:
    """The server's charset takes precedence over the page's own, unless it is a default."""
    if media_type == "application/pdf" or charset.strip().lower() in DEFAULT_CHARSETS or not content.strip():
        return content
    return codecs.BOM_UTF8 + decode(content, charset).encode()


def _request(content: bytes, media_type: str, charset: str) -> dict[str, Any]:
    return {"content": base64.b64encode(content).decode("ascii"), "media_type": media_type, "charset": charset}


def _page_text(result: dict[str, Any]) -> PageText:
    return PageText(
        str(result.get("text", "")),
        str(result.get("title", "")),
        str(result.get("format", "")),
        result.get("markdown") is True,
        tuple(int(page) for page in result.get("pages", ())),
    )
