"""Calls the own endpoint of Text Embeddings Inference, /embed. Unlike its OpenAI endpoint it truncates long texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from veracity.providers.errors import Failure
from veracity.providers.http import JSONClient
from veracity.providers.keys import ServersByName, provider_of, server_key

MAX_RESPONSE_BYTES = 32_000_000


class TEIConnection:
    """A worker's own connection. Leaving the asynchronous context closes it."""

    def __init__(self, model: str, servers: ServersByName) -> None:
        self._url = f"{tei_address(servers[provider_of(model)].url)}/embed"
        make_error = partial(Failure.model_error, model=model)
        self._client = JSONClient(make_error, max_bytes=MAX_RESPONSE_BYTES, key=server_key(model, servers))

    def embed(self, texts: Sequence[str], _: object, timeout: float) -> Any:
        """The result is unchecked."""
        body = {"inputs": list(texts), "truncate": True, "normalize": True}
        return self._client.call("POST", self._url, timeout, json=body)

    async def __aenter__(self) -> TEIConnection:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._client.__aexit__(*error)


def tei_address(url: str) -> str:
    """Its own endpoints are not below /v1."""
    return url.rstrip("/").removesuffix("/v1")
