"""A cap on the size of a response, as sent and unpacked: one that never ends must not fill the memory."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2

MAX_BYTES = 32_000_000
SLICE = 65_536  # bytes
ENCODINGS = {"gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


def limit_responses(client: Any) -> None:
    """Cap the responses of an SDK's client, if it uses HTTPX as those of OpenAI and Anthropic do."""
    if uses_httpx(client):
        http = client._client
        http.headers["Accept-Encoding"] = ", ".join(ENCODINGS)
        http.event_hooks = {**http.event_hooks, "response": [*http.event_hooks["response"], _limit]}


def uses_httpx(client: Any) -> bool:
    """Whether it is known to await its requests, so that the event loop can cancel them: OpenAI's and Anthropic's."""
    return isinstance(getattr(client, "_client", None), httpx2.AsyncClient)


async def _limit(response: httpx2.Response) -> None:
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _LimitedStream(response.stream, encoding)
        if encoding in ENCODINGS:
            del response.headers["Content-Encoding"]


class _LimitedStream(httpx2.AsyncByteStream):
    """Ends at the cap, as if the server had: what came is then no valid response, or an incomplete stream."""

    def __init__(self, stream: httpx2.AsyncByteStream, encoding: str) -> None:
        self._stream = stream
        self._window = ENCODINGS.get(encoding)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_BYTES
        unpacker = zlib.decompressobj(self._window) if self._window else None
        async for chunk in self._stream:
            data = (_unpack(unpacker, chunk, left) if unpacker else chunk)[:left]
            for start in range(0, len(data), SLICE):
                yield data[start : start + SLICE]
                if len(data) > SLICE:
                    await asyncio.sleep(0)  # lets a timeout interrupt the reader of many small events
            left -= len(data)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


def _unpack(unpacker: zlib._Decompress, chunk: bytes, limit: int) -> bytes:
    try:
        return unpacker.decompress(chunk, limit)
    except zlib.error as problem:
        raise httpx2.DecodingError(str(problem)) from None
