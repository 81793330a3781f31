"""The search providers, and which of them the settings ask for."""

from __future__ import annotations

import os
from concurrent.futures import wait
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from veracity.deadlines import Deadline
from veracity.errors import ConfigurationError, WebSearchError
from veracity.language import guess_language
from veracity.providers.keys import check_key
from veracity.settings import WebSettings
from veracity.websearch.calling import AT_ONCE, Service
from veracity.websearch.results import SearchProvider, SearchResult, fit_query, results_of
from veracity.workers import Belongings, Workers

TAVILY = "https://api.tavily.com"
TAVILY_KEY = "TAVILY_API_KEY"
REGIONS = {"en": "us-en", "zh": "cn-zh", "ja": "jp-ja"}  # the second part is also the language of ddgs' Wikipedia


def make_provider(settings: WebSettings) -> SearchProvider | None:
    """None where the web is not to be searched. Raises where what the provider needs is missing."""
    if settings.provider == "searxng":
        return SearXNG(settings.searxng_url)
    if settings.provider == "tavily":
        return Tavily()
    return Ddgs() if settings.provider == "ddgs" else None


class SearXNG:
    """A server of the operator's choice, which may well stand in a private network."""

    name = "searxng"

    def __init__(self, url: str) -> None:
        self._url = _server(url).rstrip("/").removesuffix("/search") + "/search"
        self._service = Service(
            "The SearXNG server", 'check web.searxng_url, and that its settings.yml lists "json" under search.formats'
        )

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        answer = self._service.ask("GET", self._url, deadline, params={"q": fit_query(query), "format": "json"})
        found = _rows(answer, self._service)
        if not found and answer.get("unresponsive_engines"):
            raise WebSearchError("The SearXNG server found nothing, and not all of its engines answered: try again.")
        return results_of(found, "content", limit)

    def close(self) -> None:
        self._service.close()


class Tavily:
    name = "tavily"

    def __init__(self, base_url: str = TAVILY) -> None:
        key = os.environ.get(TAVILY_KEY, "")
        if not key.strip():
            raise ConfigurationError(f"Searching the web with Tavily needs a key: set {TAVILY_KEY} in the environment.")
        check_key(TAVILY_KEY, key)
        self._url = base_url.rstrip("/") + "/search"
        self._service = Service(
            "Tavily", f"check the key in {TAVILY_KEY} and its quota", {"Authorization": f"Bearer {key}"}
        )

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        asked = {"query": fit_query(query), "max_results": limit, "search_depth": "basic"}
        return results_of(
            _rows(self._service.ask("POST", self._url, deadline, json=asked), self._service), "content", limit
        )

    def close(self) -> None:
        self._service.close()


class Ddgs:
    """The library asks several public search engines and does not tell a refusal from nothing found."""

    name = "ddgs"

    def __init__(self) -> None:
        try:
            import ddgs  # noqa: F401, PLC0415 - an extra; loads all its engines
        except ImportError:
            raise ConfigurationError(
                "Searching the web with ddgs needs a library that is not installed: "
                'pip install "veracity[web]" (in a checkout ".[web]").'
            ) from None
        self._workers = Workers(AT_ONCE, "veracity-websearch")

    def search(self, query: str, limit: int, deadline: Deadline) -> list[SearchResult]:
        """The library's own time limit is for each engine, so it is not waited for longer than the deadline."""
        future = self._workers.submit(partial(_asked_ddgs, fit_query(query), limit, deadline))
        wait([future], deadline.left)
        if not future.done():
            future.cancel()
            raise WebSearchError("The search engines behind ddgs did not answer in time.")
        return results_of(future.result(), "body", limit, url="href")

    def close(self) -> None:
        self._workers.close()


def _asked_ddgs(query: str, limit: int, deadline: Deadline, _: Belongings) -> list[Any]:
    from ddgs import DDGS  # noqa: PLC0415 - an extra
    from ddgs.exceptions import DDGSException, TimeoutException  # noqa: PLC0415

    region = REGIONS[guess_language(query)]
    try:
        return DDGS(timeout=max(1, int(deadline.left / 2))).text(query, region=region, max_results=limit)
    except TimeoutException:
        raise WebSearchError("The search engines behind ddgs did not answer in time.") from None
    except (DDGSException, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        # The latter come of pages that are not in the form their engine expects.
        raise WebSearchError(
            "The search engines behind ddgs found nothing or did not want to answer: try again later, or set "
            "web.provider to another one."
        ) from None


def _rows(answer: dict[str, Any], service: Service) -> list[Any]:
    rows = answer.get("results")
    if not isinstance(rows, list):
        raise service.unusable()
    return rows


def _server(url: str) -> str:
    if not url.strip():
        raise ConfigurationError("Searching the web with SearXNG needs the address of its server: set web.searxng_url.")
    try:
        parts = urlsplit(url.strip())
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isprintable()
        good = good and not (parts.query or parts.fragment or "@" in parts.netloc)
    except ValueError:  # no port has that number
        good = False
    if not good:
        raise ConfigurationError(
            "web.searxng_url is not the address of a server: write it like http://localhost:8888, without a password."
        )
    return url.strip()
