"""The search providers: SearXNG, Tavily and ddgs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from veracity.deadlines import Deadline
from veracity.errors import ConfigurationError, WebSearchError
from veracity.language import guess_language
from veracity.printable import encodable
from veracity.providers.errors import MALFORMED, Failure
from veracity.providers.http import JSONClient
from veracity.providers.keys import check_key
from veracity.reading.base import as_title, clean
from veracity.settings import WebSettings
from veracity.settings.servers import split_base_url
from veracity.websearch.addresses import parse_page_url
from veracity.workers import ThreadLocals, Workers

MAX_RESPONSE_BYTES = 5_000_000
MAX_CONCURRENT_SEARCHES = 8
MAX_QUERY_LENGTH = 400  # characters; Tavily takes no more
MAX_SNIPPET_LENGTH = 2000
TAVILY_URL = "https://api.tavily.com"
TAVILY_KEY = "TAVILY_API_KEY"
REGIONS = {"en": "us-en", "zh": "cn-zh", "ja": "jp-ja"}  # the second part is also the language of ddgs' Wikipedia


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page as the provider describes it. `url` is well-formed; its address is not checked yet."""

    url: str
    title: str
    snippet: str


class SearchProvider(Protocol):
    @property
    def name(self) -> str: ...

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        """The best results first, each page once. Raises WebSearchError for every failure."""
        ...

    def close(self) -> None: ...


def make_provider(settings: WebSettings) -> SearchProvider | None:
    """None if web search is off. Raises if the provider's key, address or library is missing."""
    if settings.provider == "searxng":
        return SearXNG(settings.searxng_url)
    if settings.provider == "tavily":
        return Tavily()
    return Ddgs() if settings.provider == "ddgs" else None


class _JSONProvider:
    """A service with a JSON API. Calls run on its own threads, so any thread may search."""

    def __init__(self, title: str, fix: str, key: str = "") -> None:
        """`fix` is what to check when it cannot be reached or its response is malformed."""
        self._make_error = partial(_search_error, title=title, fix=fix)
        self._key = key
        self._workers = Workers(MAX_CONCURRENT_SEARCHES, "veracity-websearch")

    def close(self) -> None:
        self._workers.close()

    def _call(self, method: str, url: str, deadline: Deadline, **content: Any) -> dict[str, Any]:
        """The response, with a list of `results`. `content` goes to httpx (`params` or `json`)."""

        def call(thread_locals: ThreadLocals) -> Any:
            if "client" not in thread_locals:
                thread_locals["client"] = JSONClient(self._make_error, max_bytes=MAX_RESPONSE_BYTES, key=self._key)
            return thread_locals["client"].call(method, url, deadline.left, **content)

        response = self._workers.submit(call).result()
        if not isinstance(response, dict) or not isinstance(response.get("results"), list):
            raise self._make_error(Failure(MALFORMED))
        return response


class SearXNG(_JSONProvider):
    """A server of the operator's choice, which may be in a private network."""

    name = "searxng"

    def __init__(self, url: str) -> None:
        self._url = _check_searxng_url(url.strip()).rstrip("/").removesuffix("/search") + "/search"
        super().__init__(
            "The SearXNG server", 'check web.searxng_url, and that its settings.yml lists "json" under search.formats'
        )

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        response = self._call("GET", self._url, deadline, params={"q": fit_query(query), "format": "json"})
        if not response["results"] and response.get("unresponsive_engines"):
            raise WebSearchError("The SearXNG server found nothing, and not all of its engines answered: try again.")
        return read_results(response["results"], limit)


class Tavily(_JSONProvider):
    name = "tavily"

    def __init__(self, base_url: str = TAVILY_URL) -> None:
        key = os.environ.get(TAVILY_KEY, "")
        if not key.strip():
            raise ConfigurationError(f"Searching the web with Tavily needs a key: set {TAVILY_KEY} in the environment.")
        check_key(TAVILY_KEY, key)
        self._url = base_url.rstrip("/") + "/search"
        super().__init__("Tavily", f"check the key in {TAVILY_KEY} and its quota", key)

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        body = {"query": fit_query(query), "max_results": limit, "search_depth": "basic"}
        response = self._call("POST", self._url, deadline, json=body)
        return read_results(response["results"], limit)


class Ddgs:
    """The library searches several public engines. It does not tell a refusal from an empty result."""

    name = "ddgs"

    def __init__(self) -> None:
        try:
            import ddgs  # noqa: F401, PLC0415 - an extra; loads all its engines
        except ImportError:
            raise ConfigurationError(
                "Searching the web with ddgs needs a library that is not installed: "
                'pip install "veracity[web]" (in a checkout ".[web]").'
            ) from None
        self._workers = Workers(MAX_CONCURRENT_SEARCHES, "veracity-websearch")

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        """Waits no longer than the deadline: the library's own timeout applies to each engine."""
        future = self._workers.submit(partial(_search_ddgs, fit_query(query), limit, deadline))
        wait([future], deadline.left)
        if not future.done():
            future.cancel()
            raise WebSearchError("The search engines behind ddgs did not answer in time.")
        return read_results(future.result(), limit, url_field="href", snippet_field="body")

    def close(self) -> None:
        self._workers.close()


def fit_query(query: str) -> str:
    """On one line, and no longer than any provider accepts."""
    return encodable(" ".join(clean(query).split())[:MAX_QUERY_LENGTH]).strip()


def read_results(
    rows: Iterable[Any], limit: int, url_field: str = "url", snippet_field: str = "content"
) -> list[SearchResult]:
    """The usable rows of a provider's response, which is untrusted."""
    results: dict[str, SearchResult] = {}
    for row in rows:
        result = _read_row(row, url_field, snippet_field) if isinstance(row, dict) else None
        if result and len(results) < limit:
            results.setdefault(result.url, result)
    return list(results.values())


def _read_row(row: dict[str, Any], url_field: str, snippet_field: str) -> SearchResult | None:
    """None without a URL of a page."""
    try:
        url = parse_page_url(str(row.get(url_field, "")).strip()).url
    except WebSearchError:
        return None
    snippet = row.get(snippet_field)
    text = " ".join(clean(snippet[: 2 * MAX_SNIPPET_LENGTH]).split()) if isinstance(snippet, str) else ""
    return SearchResult(url, as_title(row.get("title")), text[:MAX_SNIPPET_LENGTH])


def _search_error(failure: Failure, title: str, fix: str) -> WebSearchError:
    return WebSearchError(failure.sentence(title, fix))


def _search_ddgs(query: str, limit: int, deadline: Deadline, _: ThreadLocals) -> list[Any]:
    """Runs on a worker."""
    from ddgs import DDGS  # noqa: PLC0415 - an extra
    from ddgs.exceptions import DDGSException, TimeoutException  # noqa: PLC0415

    region = REGIONS[guess_language(query)]
    try:
        return DDGS(timeout=max(1, int(deadline.left / 2))).text(query, region=region, max_results=limit)
    except TimeoutException:
        raise WebSearchError("The search engines behind ddgs did not answer in time.") from None
    except (DDGSException, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # An engine's page in an unexpected format raises any of the latter.
        raise WebSearchError(
            "The search engines behind ddgs found nothing or refused the search: try again later, or set web.provider "
            "to another one."
        ) from None


def _check_searxng_url(url: str) -> str:
    if not url:
        raise ConfigurationError("Searching the web with SearXNG needs the address of its server: set web.searxng_url.")
    parts = split_base_url(url)
    if parts is None or not url.isprintable() or parts.query or parts.fragment or "@" in parts.netloc:
        raise ConfigurationError(
            "web.searxng_url is not the address of a server: write it like http://localhost:8888, without a password."
        )
    return url
