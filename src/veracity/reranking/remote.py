"""Reranker that calls a service over HTTP."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from veracity.deadlines import Deadline
from veracity.errors import ConfigurationError, MissingKeyError, ModelAnswerError
from veracity.printable import encodable
from veracity.providers.errors import Failure
from veracity.providers.keys import (
    NO_SERVERS,
    ServersByName,
    check_base_url,
    check_key,
    provider_of,
    server_key,
)
from veracity.providers.retry import retry
from veracity.reranking.base import TextReranker
from veracity.secrets import presentable
from veracity.settings import LLMSettings
from veracity.workers import ThreadLocals, Workers

if TYPE_CHECKING:
    from veracity.providers.http import JSONClient

MAX_CONCURRENT_CALLS = 4
MAX_RESPONSE_BYTES = 10_000_000
MAX_TEXT_LENGTH = 6000  # characters; longer texts are truncated
MAX_SHOWN_LENGTH = 120
BLANK = "."  # replaces empty texts, which services reject


@dataclass(frozen=True, slots=True)
class Service:
    url: str  # if empty, the user must set it
    url_variable: str
    key_variable: str
    needs_key: bool = True
    limit_field: str = "top_n"  # request field for the number of results


SERVICES = {
    "cohere": Service("https://api.cohere.com/v2", "COHERE_BASE_URL", "CO_API_KEY"),
    "jina": Service("https://api.jina.ai/v1", "JINA_BASE_URL", "JINA_API_KEY"),
    "voyage": Service("https://api.voyageai.com/v1", "VOYAGE_BASE_URL", "VOYAGE_API_KEY", limit_field="top_k"),
    "server": Service("", "RERANK_BASE_URL", "RERANK_API_KEY", needs_key=False),
}
OWN_SERVER = SERVICES["server"]  # also the form of requests to a server of the settings


class ProviderReranker(TextReranker):
    """Raises in the constructor if the key or address is missing. An unknown model fails in the first call."""

    def __init__(self, model: str, settings: LLMSettings | None = None, servers: ServersByName = NO_SERVERS) -> None:
        self.name = model
        self._shown_name = presentable(model, MAX_SHOWN_LENGTH)
        is_own_server = provider_of(model) in servers
        self._endpoint = _server_endpoint(model, servers) if is_own_server else _endpoint(model)
        self._settings = settings or LLMSettings()
        self._workers = Workers(min(MAX_CONCURRENT_CALLS, self._settings.workers), "veracity-reranking")

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        body = _request_body(self.name, _prepare(query), [_prepare(passage) for passage in passages])
        deadline = Deadline.within(self._settings.deadline)  # includes the wait for a free worker
        future = self._workers.submit(partial(self._score, body=body, count=len(passages), deadline=deadline))
        try:
            return future.result()  # type: ignore[no-any-return]
        finally:
            future.cancel()

    def close(self) -> None:
        """Ends the threads and closes their connections, as garbage collection of the reranker does."""
        self._workers.close()

    def _score(self, thread_locals: ThreadLocals, body: dict[str, Any], count: int, deadline: Deadline) -> list[float]:
        """Runs in a worker thread."""

        def call() -> list[float]:
            timeout = min(self._settings.call_timeout, deadline.left)
            document = self._client(thread_locals).call("POST", self._endpoint.url, timeout, json=body)
            if (scores := _read_scores(document, count)) is None:
                raise ModelAnswerError(
                    f'The provider of "{self._shown_name}" did not answer with one score per passage: '
                    "check the address, and that it is a reranking model."
                )
            return scores

        return retry(call, backoff=self._settings.backoff, deadline=deadline)

    def _client(self, thread_locals: ThreadLocals) -> JSONClient:
        from veracity.providers.http import JSONClient  # noqa: PLC0415 - loads httpx

        if self.name not in thread_locals:
            make_error = partial(Failure.model_error, model=self._shown_name)  # holds no reference to self
            thread_locals[self.name] = JSONClient(make_error, max_bytes=MAX_RESPONSE_BYTES, key=self._endpoint.key)
        return thread_locals[self.name]  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Endpoint:
    url: str
    key: str = field(repr=False)  # may be empty


def _server_endpoint(model: str, servers: ServersByName) -> _Endpoint:
    """Raises if the variable of the server's key is missing or invalid."""
    server = servers[provider_of(model)]
    url = server.url.removesuffix("/v1") if server.api == "tei" else server.url  # whose own endpoints are not below /v1
    return _Endpoint(_rerank_url(url), server_key(model, servers))


def _endpoint(model: str) -> _Endpoint:
    """Raises if an environment variable is missing or invalid."""
    provider = provider_of(model)
    service = SERVICES[provider]
    url = os.environ.get(service.url_variable, "").strip() or service.url
    if not url:
        raise MissingKeyError(provider, (service.url_variable,), model)
    key = os.environ.get(service.key_variable, "")
    if service.needs_key and not key.strip():
        raise MissingKeyError(provider, (service.key_variable,), model)
    _check_url(service.url_variable, url)
    check_key(service.key_variable, key)
    return _Endpoint(_rerank_url(url), key)


def _rerank_url(url: str) -> str:
    return url.rstrip("/").removesuffix("/rerank") + "/rerank"


def _check_url(variable: str, url: str) -> None:
    usable = url if url.isprintable() and not any(mark in url for mark in " ?#") else ""
    if "@" in check_base_url(variable, usable).netloc:  # it would appear in logs
        raise ConfigurationError(
            f"The address in the environment variable {variable} contains a user name or password: "
            "remove it, and set the key in the variable for keys."
        )


def _request_body(name: str, query: str, passages: list[str]) -> dict[str, Any]:
    provider, _, model = name.partition(":")
    service = SERVICES.get(provider, OWN_SERVER)
    body = {"model": model, "query": query, "documents": passages, service.limit_field: len(passages)}
    if provider == "jina":
        body["return_documents"] = False
    if service is OWN_SERVER:  # Text Embeddings Inference needs "texts", and rejects long texts without "truncate"
        body |= {"texts": passages, "truncate": True}
    return body


def _prepare(text: str) -> str:
    """The text as sent: truncated, encodable and not empty."""
    cut = encodable(text[:MAX_TEXT_LENGTH])
    return cut if cut.strip() else BLANK


def _read_scores(document: Any, count: int) -> list[float] | None:
    """One score per passage, in the order of the request; None if the response is malformed."""
    try:
        if isinstance(document, dict):
            document = document["results"] if "results" in document else document["data"]
        scores = dict(map(_read_entry, document))
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    is_complete = len(document) == count and scores.keys() == set(range(count))
    return [scores[index] for index in range(count)] if is_complete else None


def _read_entry(entry: Any) -> tuple[int, float]:
    index, score = entry["index"], entry["relevance_score"] if "relevance_score" in entry else entry["score"]
    if type(index) is not int or type(score) not in (int, float) or not math.isfinite(score):
        raise ValueError
    return index, float(score)
