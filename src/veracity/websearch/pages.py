"""From what a server sent to the text of the page, in the capped subprocesses that read documents too.

Knows nothing about where the page comes from.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
from collections.abc import Iterable
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass
from typing import Any, Protocol

from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.printable import encodable
from veracity.reading import CappedWorkers, Unreadable, WorkerFailure, extract
from veracity.reading.base import as_title, clean
from veracity.reading.encodings import decode
from veracity.settings import ReadingSettings
from veracity.websearch.addresses import place_of, shown
from veracity.websearch.fetch import Fetched
from veracity.workers import processors

LONGEST_QUERY = 400  # characters; Tavily takes no more
LONGEST_SNIPPET = 2000


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page as the provider tells of it. `url` has the form of a page's; where it leads to is not known yet."""

    url: str
    title: str
    snippet: str


class SearchProvider(Protocol):
    @property
    def name(self) -> str: ...

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        """The best first, each page once, none where none was found. Raises WebSearchError for all that goes wrong."""
        ...


def fit_query(query: str) -> str:
    """On one line, not longer than any provider takes."""
    return encodable(" ".join(clean(query).split())[:LONGEST_QUERY]).strip()


def results_of(rows: Iterable[Any], snippet: str, limit: int, url: str = "url") -> list[SearchResult]:
    """What can be used of a provider's rows; `url` and `snippet` are what it calls these. The texts are anybody's."""
    found: dict[str, SearchResult] = {}
    for row in rows:
        one = _result(row, url, snippet) if isinstance(row, dict) else None
        if one and len(found) < limit:
            found.setdefault(one.url, one)
    return list(found.values())


def _result(row: dict[str, Any], url: str, snippet: str) -> SearchResult | None:
    """None for what is no address of a page."""
    try:
        address = place_of(str(row.get(url, "")).strip()).url
    except WebSearchError:
        return None
    told = row.get(snippet)
    text = " ".join(clean(told[: 2 * LONGEST_SNIPPET]).split())[:LONGEST_SNIPPET] if isinstance(told, str) else ""
    return SearchResult(address, as_title(row.get("title")), text)


TASK = f"{__name__}:read"
NAMES = {
    "text/html": "page.html",
    "application/xhtml+xml": "page.xhtml",
    "text/plain": "page.txt",
    "application/pdf": "page.pdf",
}
FORMATS = ("html", "text", "pdf")  # whatever the server called it
UNSAID = ("", "iso-8859-1", "latin1", "us-ascii", "ascii")  # what servers say of pages they know nothing about
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class PageText:
    text: str
    title: str
    format: str
    markdown: bool
    pages: tuple[int, ...]


class PageReader:
    def __init__(self, settings: ReadingSettings) -> None:
        self._workers = CappedWorkers(
            TASK,
            workers=min(AT_ONCE, settings.workers or processors()),
            seconds=settings.seconds,
            memory_megabytes=settings.memory_megabytes,
        )

    def prepare(self) -> None:
        """Start a process now, while the page that it will read is still being searched for."""
        with contextlib.suppress(WorkerFailure):
            self._workers.submit(_request(b"<html><p>Ready.", "text/html", ""))

    def read(self, page: Fetched, deadline: Deadline) -> PageText:
        try:
            answer = self._workers.submit(_request(page.content, page.kind, page.charset)).result(deadline.left)
        except NotInTime:
            why = "there was no time left"
        except WorkerFailure as failure:
            why = failure.reason
        else:
            if "unreadable" not in answer:
                return _checked(answer)
            why = str(answer["unreadable"])
        raise WebSearchError(f"The page {shown(page.url)} could not be read: {why}.")

    def close(self) -> None:
        self._workers.close()


def read(request: dict[str, Any]) -> dict[str, Any]:
    """Runs in the subprocess."""
    content = base64.b64decode(request["content"])
    try:
        reading = extract(_in_unicode(content, request["kind"], request["charset"]), NAMES[request["kind"]])
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


def _in_unicode(content: bytes, kind: str, charset: str) -> bytes:
    """The server's word on the encoding goes before the page's own, unless it is what servers say of any page."""
    if kind == "application/pdf" or charset.strip().lower() in UNSAID or not content.strip():
        return content
    return codecs.BOM_UTF8 + decode(content, charset).encode()


def _request(content: bytes, kind: str, charset: str) -> dict[str, Any]:
    return {"content": base64.b64encode(content).decode("ascii"), "kind": kind, "charset": charset}


def _checked(answer: dict[str, Any]) -> PageText:
    return PageText(
        str(answer.get("text", "")),
        str(answer.get("title", "")),
        str(answer.get("format", "")),
        answer.get("markdown") is True,
        tuple(int(page) for page in answer.get("pages", ())),
    )
