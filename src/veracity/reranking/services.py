"""The services that rerank over HTTP: where they are, which variables open them, and what they are sent.

All speak one form, `POST {address}/rerank`, with small differences. Keys come from the environment alone. So may the
address, for who reaches a service through a gateway: COHERE_BASE_URL, JINA_BASE_URL and VOYAGE_BASE_URL take the place
of the service's own (with its version, such as https://gateway.example/cohere/v2); RERANK_BASE_URL is the address of
a server of one's own. Knows nothing about how a call is made.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from veracity.errors import ConfigurationError, MissingKeyError
from veracity.providers.keys import check_key


@dataclass(frozen=True, slots=True)
class Service:
    address: str  # empty: only the user knows it
    address_variable: str
    key_variable: str
    needs_key: bool = True
    limit: str = "top_n"  # the field that says how many results are wanted


SERVICES = {
    "cohere": Service("https://api.cohere.com/v2", "COHERE_BASE_URL", "CO_API_KEY"),
    "jina": Service("https://api.jina.ai/v1", "JINA_BASE_URL", "JINA_API_KEY"),
    "voyage": Service("https://api.voyageai.com/v1", "VOYAGE_BASE_URL", "VOYAGE_API_KEY", limit="top_k"),
    "server": Service("", "RERANK_BASE_URL", "RERANK_API_KEY", needs_key=False),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    key: str = field(repr=False)  # empty: none is sent


def endpoint(name: str) -> Endpoint:
    """Where `service:model` is reached. Raises where the environment lacks something or holds what cannot be used."""
    provider = name.partition(":")[0]
    service = SERVICES[provider]
    address = os.environ.get(service.address_variable, "").strip() or service.address
    if not address:
        raise MissingKeyError(provider, (service.address_variable,), name)
    key = os.environ.get(service.key_variable, "")
    if service.needs_key and not key.strip():
        raise MissingKeyError(provider, (service.key_variable,), name)
    _check_address(service.address_variable, address)
    check_key(service.key_variable, key)
    return Endpoint(address.rstrip("/").removesuffix("/rerank") + "/rerank", key)


def request_body(name: str, query: str, passages: list[str]) -> dict[str, Any]:
    provider, _, model = name.partition(":")
    body = {"model": model, "query": query, "documents": passages, SERVICES[provider].limit: len(passages)}
    if provider == "jina":
        body["return_documents"] = False
    if provider == "server":  # Text Embeddings Inference calls them so, and has to be told to cut long ones
        body |= {"texts": passages, "truncate": True}
    return body


def _check_address(variable: str, value: str) -> None:
    try:
        parts = urlsplit(value)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        good = good and value.isprintable() and not any(mark in value for mark in " ?#")
    except ValueError:  # no port has that number
        good = False
    if not good:
        raise ConfigurationError(
            f"The value of the environment variable {variable} is not the address of a server: "
            "write it like http://localhost:8000/v1."
        )
    if "@" in parts.netloc:  # it would stand in logs
        raise ConfigurationError(
            f"The address in the environment variable {variable} holds a name or a password: "
            "take it out, and put a key into the variable for keys."
        )
