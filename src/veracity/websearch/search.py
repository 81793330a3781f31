"""A web search: asks the provider, then fetches and reads the pages it names, all within one deadline."""

from __future__ import annotations

import logging
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Literal

from veracity.deadlines import Deadline
from veracity.errors import WebSearchError
from veracity.models import WebPage
from veracity.settings import Settings, WebSettings
from veracity.websearch.addresses import RefusedAddressError, quote_url
from veracity.websearch.fetch import Fetcher
from veracity.websearch.pages import PageReader, PageText
from veracity.websearch.providers import SearchProvider, SearchResult, make_provider
from veracity.workers import ThreadLocals, Workers

log = logging.getLogger("veracity")

MAX_CONCURRENT_PAGES = 32  # of all searches
SEARCH_SHARE = 0.5  # of the time goes to the provider, at most
GRACE_SECONDS = 0.3  # for pages that keep the deadline themselves to report so


@dataclass(frozen=True, slots=True)
class WebHit:
    """A page that was found. `kind` says whose words `text` holds: the page's or the provider's; empty without text."""

    page: WebPage
    kind: Literal["page", "snippet", ""] = ""
    text: PageText | None = None


@dataclass(frozen=True, slots=True)
class WebSearchOutcome:
    provider: str
    query: str
    hits: tuple[WebHit, ...] = ()
    problem: str = ""

    @property
    def pages(self) -> tuple[WebPage, ...]:
        return tuple(hit.page for hit in self.hits)


class WebSearch:
    """Holds threads and reading processes until it is closed."""

    def __init__(self, provider: SearchProvider, fetcher: Fetcher, reader: PageReader, settings: WebSettings) -> None:
        self.name = provider.name
        self._provider = provider
        self._fetcher = fetcher
        self._reader = reader
        self._settings = settings
        self._workers = Workers(MAX_CONCURRENT_PAGES, "veracity-web")

    def search(self, query: str, deadline: Deadline) -> WebSearchOutcome:
        """Reports failures of the provider and of pages in the outcome. A page that fails does not affect others."""
        deadline = deadline.capped_at(self._settings.deadline)
        self._reader.prepare()
        try:
            results = self._provider.search(
                query, self._settings.results, deadline.capped_at(SEARCH_SHARE * deadline.left)
            )
        except WebSearchError as problem:
            return WebSearchOutcome(self.name, query, problem=str(problem))
        if not results:
            return WebSearchOutcome(self.name, query, problem="The web was searched, but nothing was found.")
        futures = [self._workers.submit(partial(self._open, result, deadline)) for result in results]
        wait(futures, deadline.left + GRACE_SECONDS)
        hits = [_hit(future, result) for future, result in zip(futures, results, strict=True)]
        distinct = {hit.page.url: hit for hit in reversed(hits)}  # several results may redirect to one page
        return WebSearchOutcome(self.name, query, tuple(hit for hit in hits if distinct[hit.page.url] is hit))

    def close(self) -> None:
        self._workers.close()
        self._fetcher.close()
        self._reader.close()
        self._provider.close()

    def _open(self, result: SearchResult, deadline: Deadline, _: ThreadLocals) -> WebHit:
        """Runs on a worker."""
        try:
            fetched = self._fetcher.fetch(result.url, deadline)
            text = self._reader.read(fetched, deadline)
        except WebSearchError as problem:
            return _snippet_hit(result, problem)
        page = WebPage(url=fetched.url, title=text.title or result.title, retrieved=datetime.now(UTC))
        return WebHit(page, "page", text)


def make_web_search(settings: Settings) -> WebSearch | None:
    """None if no provider is set."""
    provider = make_provider(settings.web)
    if provider is None:
        return None
    return WebSearch(provider, Fetcher(settings.web), PageReader(settings.reading), settings.web)


def _hit(future: Future[WebHit], result: SearchResult) -> WebHit:
    if not future.done():
        future.cancel()
        return _snippet_hit(result, WebSearchError(f"The page {quote_url(result.url)} did not arrive in time."))
    try:
        return future.result()
    except Exception:
        log.exception("Opening a web page failed.")
        return _snippet_hit(result, WebSearchError(f"The page {quote_url(result.url)} could not be opened."))


def _snippet_hit(result: SearchResult, problem: WebSearchError) -> WebHit:
    """The provider's snippet instead of the page's text; no text if the page's address is refused."""
    page = WebPage(url=result.url, title=result.title, retrieved=datetime.now(UTC), problem=str(problem))
    if not result.snippet or isinstance(problem, RefusedAddressError):
        return WebHit(page)
    return WebHit(page, "snippet", PageText(result.snippet, result.title, "text", False, ()))
