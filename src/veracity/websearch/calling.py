"""One call to one search service over HTTP: once, with a limit for all of it, and no more bytes than it should.

Follows no redirect, so that a key goes nowhere else. Knows nothing about what is asked.
"""

from __future__ import annotations

import asyncio
import json
import re
from functools import partial
from typing import Any

import httpx

from veracity.deadlines import Deadline
from veracity.errors import ConfigurationError, WebSearchError
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
