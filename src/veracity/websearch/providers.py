"""The search providers, and which of them the settings ask for."""

from __future__ import annotations

import asyncio
import json
import os
import re
from concurrent.futures import wait
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx

from veracity.deadlines import Deadline
from veracity.errors import ConfigurationError, WebSearchError
from veracity.language import guess_language
from veracity.providers.keys import check_key
from veracity.settings import WebSettings
from veracity.websearch.pages import SearchProvider, SearchResult, fit_query, results_of
from veracity.workers import Belongings, Workers

LARGEST = 5_000_000  # bytes of an answer
AT_ONCE = 8  # searches


class Service:
    """A service that answers with JSON. Its calls are made on threads of its own, so it can be asked from anywhere."""

    def __init__(self, name: str, mend: str, headers: dict[str, str] | None = None) -> None:
        """`mend` is what to do where it cannot be reached or answers nonsense."""
        self.name = name
        self._mend = mend
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity", **(headers or {})}
        self._workers = Workers(AT_ONCE, "veracity-websearch")

    def ask(self, method: str, url: str, deadline: Deadline, **content: Any) -> dict[str, Any]:
        """The object it answers with. `content` is what httpx calls `params` or `json`."""
        job = partial(self._ask, method=method, url=url, deadline=deadline, content=content)
        status, headers, answer = self._workers.submit(job).result()
        if not 200 <= status < 300:
            raise self._refused(status, headers.get("retry-after", ""))
        try:
            found = json.loads(answer)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self.unusable()
        return found

    def close(self) -> None:
        self._workers.close()

    def unusable(self) -> WebSearchError:
        return WebSearchError(f"{self.name} did not answer as its API does: {self._mend}.")

    def _ask(
        self, _: Belongings, method: str, url: str, deadline: Deadline, content: dict[str, Any]
    ) -> tuple[int, httpx.Headers, bytes]:
        """Runs on a worker, in its event loop: only so a call can be given up at any point of it."""
        try:
            return asyncio.get_event_loop().run_until_complete(self._exchange(method, url, deadline, content))
        except (TimeoutError, httpx.TimeoutException):
            told = WebSearchError(f"{self.name} did not answer in time.")
        except (OSError, httpx.HTTPError, httpx.StreamError):
            told = WebSearchError(f"{self.name} cannot be reached, or broke the connection off: {self._mend}.")
        except (ImportError, ValueError, httpx.InvalidURL):  # a proxy or certificates that cannot be used
            raise ConfigurationError(
                f"The connection to {self.name} cannot be prepared: check its address and what the environment says "
                "about proxies and certificates."
            ) from None
        raise told  # here, so that nothing of the request stays with it

    async def _exchange(
        self, method: str, url: str, deadline: Deadline, content: dict[str, Any]
    ) -> tuple[int, httpx.Headers, bytes]:
        async with (
            asyncio.timeout(deadline.left),
            httpx.AsyncClient(headers=self._headers, timeout=None, follow_redirects=False) as client,
            client.stream(method, url, **content) as response,
        ):
            answer = bytearray()
            async for chunk in response.aiter_raw():
                answer += chunk
                if len(answer) > LARGEST:
                    raise WebSearchError(f"{self.name} sent more than {LARGEST // 1_000_000} MB: {self._mend}.")
            return response.status_code, response.headers, bytes(answer)

    def _refused(self, status: int, retry_after: str) -> WebSearchError:
        """Its own words are not repeated: they may repeat the key."""
        if status == 429:
            seconds = re.fullmatch(r"\s*([0-9]{1,6})\s*", retry_after)
            wait = f"in {int(seconds[1])} seconds" if seconds else "later"
            return WebSearchError(f"{self.name} takes no more searches for now (HTTP 429): try again {wait}.")
        if status >= 500:
            return WebSearchError(f"{self.name} failed (HTTP {status}): try again later.")
        return WebSearchError(f"{self.name} refused the search (HTTP {status}): {self._mend}.")


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
