"""One call to one service, through httpx: once, with a limit for all of it, by the thread that owns the connection.

Follows no redirect, unpacks nothing, reads no more than it should. Knows nothing about retries or what is asked.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from functools import lru_cache

import httpx

from veracity.errors import ConfigurationError
from veracity.reranking.failures import broken, refused, unusable
from veracity.reranking.services import Endpoint

LARGEST = 10_000_000  # bytes of an answer


class Connection:
    """Asynchronous, since only so a call can be given up at any point of it: a server that sends a byte of its headers
    now and then satisfies every time limit that httpx has. Leaving its asynchronous context closes it."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self._model = model
        self._endpoint = endpoint
        self._client = self._made()

    def ask(self, body: bytes, timeout: float) -> bytes:
        """What a successful answer holds, not yet checked."""
        return asyncio.get_event_loop().run_until_complete(self._ask(body, timeout))

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def _ask(self, body: bytes, timeout: float) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                status, headers, content = await self._exchange(body)
        except (TimeoutError, OSError, httpx.HTTPError, httpx.StreamError) as problem:
            failure = broken(self._model, problem)
        else:
            if 200 <= status < 300:
                return content
            failure = refused(self._model, status, headers, content, self._endpoint.key)
        raise failure  # here, so that nothing of the request stays with it

    async def _exchange(self, body: bytes) -> tuple[int, httpx.Headers, bytes]:
        async with self._client.stream("POST", self._endpoint.url, content=body) as response:
            content = bytearray()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > LARGEST:
                    raise unusable(self._model, f"sent more than {LARGEST // 1_000_000} MB")
            return response.status_code, response.headers, bytes(content)

    def _made(self) -> httpx.AsyncClient:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if self._endpoint.key:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"
        try:
            trusted = _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
            return httpx.AsyncClient(headers=headers, verify=trusted, timeout=None, follow_redirects=False)
        except (ImportError, OSError, ValueError, httpx.InvalidURL):
            told = (
                f"The connection to the server of {self._model} cannot be prepared: check what the environment says "
                "about proxies (HTTPS_PROXY, ALL_PROXY) and certificates (SSL_CERT_FILE, SSL_CERT_DIR)."
            )
        raise ConfigurationError(told)


@lru_cache(maxsize=1)
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Those httpx trusts, which reads the two variables itself. Reading them takes longer than many a call."""
    return httpx.create_ssl_context()
