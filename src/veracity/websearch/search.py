"""Looks something up: asks the provider, opens the pages it names, reads them. All within one deadline.

A page that cannot be had stops no other: it tells why, and what the provider said of it stands in for its text. Knows
nothing about the question behind the query, or what of the pages matters.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Literal, Protocol

from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.models import WebPage
from veracity.settings import Settings, WebSettings
from veracity.websearch.addresses import RefusedAddressError, shown
from veracity.websearch.fetch import Fetched, Fetcher
from veracity.websearch.pages import PageReader, PageText, SearchProvider, SearchResult
from veracity.websearch.providers import make_provider
from veracity.workers import Belongings, Workers

log = logging.getLogger("veracity")

AT_ONCE = 32  # pages, of all look-ups
SEARCHING = 0.5  # of the time, at most
GRACE = 0.3  # seconds, for what keeps to the deadline by itself to say so

Kind = Literal["page", "snippet", ""]


@dataclass(frozen=True, slots=True)
class LookedUp:
    """A page that was looked up. `kind` tells whose words `text` holds: the page's, the provider's, or nobody's."""

    page: WebPage
    kind: Kind = ""
    text: PageText | None = None


@dataclass(frozen=True, slots=True)
class LookUp:
    provider: str
    query: str
    found: tuple[LookedUp, ...] = ()
    problem: str = ""

    @property
    def pages(self) -> tuple[WebPage, ...]:
        return tuple(one.page for one in self.found)


class Fetches(Protocol):
    def fetch(self, url: str, deadline: Deadline) -> Fetched: ...

    def close(self) -> None: ...


class WebSearch:
    """Holds threads and reading processes until it is closed."""

    def __init__(self, provider: SearchProvider, fetcher: Fetches, reader: PageReader, settings: WebSettings) -> None:
        self.name = provider.name
        self._provider = provider
        self._fetcher = fetcher
        self._reader = reader
        self._settings = settings
        self._workers = Workers(AT_ONCE, "veracity-web")

    def look_up(self, query: str, deadline: Deadline) -> LookUp:
        """Raises nothing that a provider or a page can cause."""
        deadline = deadline.or_within(self._settings.deadline)
        self._reader.prepare()
        try:
            results = self._provider.search(
                query, self._settings.results, deadline.or_within(SEARCHING * deadline.left)
            )
        except WebSearchError as problem:
            return LookUp(self.name, query, problem=str(problem))
        if not results:
            return LookUp(self.name, query, problem="The web was searched, and nothing was found.")
        jobs = [self._workers.submit(partial(self._looked_up, one, deadline)) for one in results]
        wait(jobs, deadline.left + GRACE)
        found = [_outcome(job, one) for job, one in zip(jobs, results, strict=True)]
        return LookUp(self.name, query, tuple(_distinct(found)))

    def close(self) -> None:
        self._workers.close()
        self._fetcher.close()
        self._reader.close()
        if close := getattr(self._provider, "close", None):
            close()

    def _looked_up(self, result: SearchResult, deadline: Deadline, _: Belongings) -> LookedUp:
        """Runs on a worker."""
        try:
            fetched = self._fetcher.fetch(result.url, deadline)
            text = self._reader.read(fetched, deadline)
        except WebSearchError as problem:
            return _stand_in(result, problem)
        page = WebPage(url=fetched.url, title=text.title or result.title, retrieved=datetime.now(UTC))
        return LookedUp(page, "page", text)


def make_web_search(settings: Settings) -> WebSearch | None:
    """None where no provider is set."""
    provider = make_provider(settings.web)
    if provider is None:
        return None
    return WebSearch(provider, Fetcher(settings.web), PageReader(settings.reading), settings.web)


def _outcome(job: Future[LookedUp], result: SearchResult) -> LookedUp:
    if not job.done():
        job.cancel()
        return _stand_in(result, WebSearchError(f"The page {shown(result.url)} did not come in time."))
    try:
        return job.result()
    except Exception:
        log.exception("A page could not be looked up.")
        return _stand_in(result, WebSearchError(f"The page {shown(result.url)} could not be opened."))


def _stand_in(result: SearchResult, problem: WebSearchError) -> LookedUp:
    """The provider's words on the page; not for one that lies where no page should."""
    page = WebPage(url=result.url, title=result.title, retrieved=datetime.now(UTC), problem=str(problem))
    if not result.snippet or isinstance(problem, RefusedAddressError):
        return LookedUp(page)
    return LookedUp(page, "snippet", PageText(result.snippet, result.title, "text", False, ()))


def _distinct(found: list[LookedUp]) -> list[LookedUp]:
    """Each page once: several results may redirect to one."""
    distinct: dict[str, LookedUp] = {}
    for one in found:
        distinct.setdefault(one.page.url, one)
    return list(distinct.values())
