"""One bounded HTTP call: a time limit, a size cap, no redirects, and a JSON response."""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import os
import ssl
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import httpx

from veracity.errors import ConfigurationError, VeracityError
from veracity.providers.errors import TOO_LARGE, Failure

HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}


class JSONClient:
    """Keeps its connections open between calls; leaving its asynchronous context closes them.

    Belongs to one worker and runs on that thread's event loop, since only a task can be cancelled at any point: a
    server that sends a byte now and then satisfies every timeout httpx has.
    """

    def __init__(self, make_error: Callable[[Failure], VeracityError], *, max_bytes: int, key: str = "") -> None:
        """`key` is sent as a bearer token, and hidden where a server quotes it."""
        self._make_error = make_error
        self._max_bytes = max_bytes
        self._key = key
        self._client = _make_client({**HEADERS, **({"Authorization": f"Bearer {key}"} if key else {})})

    def call(self, method: str, url: str, timeout: float, **content: Any) -> Any:
        """The JSON of a successful response, None if it is not JSON. `content` goes to httpx (`params`, `json`)."""
        try:
            outcome = asyncio.get_event_loop().run_until_complete(self._exchange(method, url, timeout, content))
        except (TimeoutError, OSError, httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as problem:
            outcome = Failure.from_exception(problem)
        if isinstance(outcome, Failure):
            raise self._make_error(outcome)  # outside the handler, so that the error keeps nothing of the request
        return outcome

    async def __aenter__(self) -> JSONClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def _exchange(self, method: str, url: str, timeout: float, content: dict[str, Any]) -> Any:
        async with asyncio.timeout(timeout), self._client.stream(method, url, **content) as response:
            data = bytearray()
            async for chunk in response.aiter_raw():
                data += chunk
                if len(data) > self._max_bytes:
                    return Failure(TOO_LARGE, f"more than {self._max_bytes // 1_000_000} MB")
            document = _parse_json(data)
            if response.is_success:
                return document
            retry_after = parse_retry_after(response.headers.get("retry-after", ""))
            return Failure.from_status(response.status_code, document, retry_after, self._key)


def parse_retry_after(value: str) -> float | None:
    """Seconds, from a number or a date; None for anything else."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _parse_json(data: bytes | bytearray) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _make_client(headers: dict[str, str]) -> httpx.AsyncClient:
    try:
        trusted = _ssl_context(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        return httpx.AsyncClient(headers=headers, verify=trusted, timeout=None, follow_redirects=False)
    except (ImportError, OSError, ValueError, httpx.InvalidURL):
        pass  # raised below, so that the error does not quote the environment
    raise ConfigurationError(
        "HTTP connections cannot be set up: check the environment variables for proxies (HTTPS_PROXY, ALL_PROXY) and "
        "certificates (SSL_CERT_FILE, SSL_CERT_DIR)."
    )


@lru_cache(maxsize=1)
def _ssl_context(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Cached by the two variables that httpx reads: loading the certificates takes longer than many calls."""
    return httpx.create_ssl_context()
