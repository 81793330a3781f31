"""A reranker that asks a service over HTTP: time limits, retries and checks around single calls.

Each worker has a connection of its own. Knows nothing about what the passages are.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import os
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from veracity.errors import (
    ConfigurationError,
    MissingKeyError,
    ModelAccessError,
    ModelAnswerError,
    ModelError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnreachableError,
    UnknownModelError,
)
from veracity.printable import encodable
from veracity.providers.keys import check_key
from veracity.providers.retry import retried
from veracity.secrets import HIDDEN, presentable, without_secrets
from veracity.settings import LLMSettings
from veracity.workers import Belongings, Workers

if TYPE_CHECKING:
    pass


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


def read_scores(content: bytes, count: int) -> list[float] | None:
    """One score per passage, in the order the passages were sent; None where the answer does not hold exactly that."""
    try:
        entries = _entries(json.loads(content))
        scores = dict(_scored(entry) for entry in entries)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    whole = len(entries) == count and scores.keys() == set(range(count))
    return [scores[place] for place in range(count)] if whole else None


def _entries(document: Any) -> list[Any]:
    if isinstance(document, dict):
        document = document["results"] if "results" in document else document["data"]
    if not isinstance(document, list):
        raise TypeError
    return document


def _scored(entry: Any) -> tuple[int, float]:
    place, score = entry["index"], entry["relevance_score"] if "relevance_score" in entry else entry["score"]
    if type(place) is not int or type(score) not in (int, float) or not math.isfinite(score):
        raise ValueError
    return place, float(score)


TRANSIENT_STATUS = {408, 409, 425, 429}
LONGEST_DETAIL = 200

# What a service refuses for good, and how to mend it.
REFUSALS: dict[int, tuple[type[ModelError], str]] = {
    401: (ModelAccessError, "The service refused the key for {model}{said}: check it and its rights."),
    402: (ModelAccessError, "The account behind {model} has no credit left{said}: top it up or use another model."),
    403: (ModelAccessError, "The service refused the key for {model}{said}: check it and its rights."),
    404: (
        UnknownModelError,
        "The service does not know the model {model}{said}: check its name and the address of the server.",
    ),
}


def refused(model: str, status: int, headers: Mapping[str, str], content: bytes, key: str) -> ModelError:
    """For an answer that is no success. `model` is shown as it stands."""
    said = _said(status, content, key)
    if status in REFUSALS:
        kind, words = REFUSALS[status]
        return kind(words.format(model=model, said=said))
    if status < 400:
        return ModelRequestError(f"The server of {model} is not at its address{said}: enter the one it redirects to.")
    if status < 500 and status not in TRANSIENT_STATUS:
        return ModelRequestError(f"The service of {model} rejected the request{said}.")
    return ModelUnreachableError(
        f"The server of {model} failed or is busy{said}: try again later.",
        retry_after=_seconds(headers.get("retry-after", "")),
    )


def broken(model: str, problem: Exception) -> ModelError:
    """For a call without an answer."""
    if isinstance(problem, TimeoutError | httpx.TimeoutException):
        return ModelTimeoutError(f"The model {model} did not answer in time.")
    if "CERTIFICATE_VERIFY_FAILED" in str(problem):
        return ModelUnreachableError(
            f"The certificate of the server of {model} cannot be verified: check its address, or name the certificates "
            "to trust in the environment variable SSL_CERT_FILE."
        )
    if isinstance(problem, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol):
        return ModelUnreachableError(f"The server of {model} cannot be reached: check the address and the network.")
    return ModelUnreachableError(f"The server of {model} broke the connection off: look whether it is in order.")


def unusable(model: str, why: str) -> ModelAnswerError:
    return ModelAnswerError(f"The server of {model} {why}: check the address, and that it is a reranking model.")


def _seconds(value: str) -> float | None:
    """`Retry-After` is a number of seconds or a date."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _said(status: int, content: bytes, key: str) -> str:
    """The service's own words, short and free of keys, in brackets."""
    words = _words(content)
    if words and key:
        words = words.replace(key, HIDDEN)
    line = " ".join(without_secrets(words).split())
    if len(line) > LONGEST_DETAIL:
        line = line[:LONGEST_DETAIL] + "…"
    return f" (HTTP {status}: {line.rstrip('.')})" if line else f" (HTTP {status})"


def _words(content: bytes) -> str:
    """Services put them in `message`, `detail` or `error`, here or one step further in."""
    try:
        found: Any = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    for _ in range(3):
        if isinstance(found, list) and found:  # FastAPI's list of complaints
            found = found[0]
        if isinstance(found, dict):
            found = next((found[name] for name in ("error", "message", "detail", "msg") if found.get(name)), None)
    return found if isinstance(found, str) else ""


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


AT_ONCE = 4  # calls
LONGEST = 6000  # characters of a text that are sent
BLANK = "."  # what is sent for a text without text, which services refuse
LONGEST_SHOWN = 120


class ProviderReranker:
    """Raises at once where the key or the address is missing; whether the model exists is known with the first call."""

    def __init__(self, model: str, settings: LLMSettings | None = None) -> None:
        self.name = model
        self._shown = f'"{presentable(model, LONGEST_SHOWN)}"'
        self._endpoint = endpoint(model)
        self._settings = settings or LLMSettings()
        self._workers = Workers(min(AT_ONCE, self._settings.workers), "veracity-reranking")

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        body = json.dumps(request_body(self.name, _sent(query), [_sent(passage) for passage in passages])).encode()
        end = time.monotonic() + self._settings.deadline
        future = self._workers.submit(partial(self._ask, body=body, count=len(passages), end=end))
        try:
            return future.result()  # type: ignore[no-any-return]
        finally:
            future.cancel()

    def close(self) -> None:
        """End the threads and their connections. Optional: they end with the reranker."""
        self._workers.close()

    def _ask(self, belongings: Belongings, body: bytes, count: int, end: float) -> list[float]:
        """Runs on a worker."""

        def ask(seconds: float) -> list[float]:
            return self._checked(self._connection(belongings).ask(body, seconds), count)

        return retried(ask, self._settings, end)

    def _connection(self, belongings: Belongings) -> Connection:
        pass

        if self.name not in belongings:
            belongings[self.name] = Connection(self._shown, self._endpoint)
        return belongings[self.name]  # type: ignore[no-any-return]

    def _checked(self, content: bytes, count: int) -> list[float]:
        pass

        scores = read_scores(content, count)
        if scores is None:
            raise unusable(self._shown, "did not answer with one score per passage")
        return scores


def _sent(text: str) -> str:
    sent = encodable(text[:LONGEST])
    return sent if sent.strip() else BLANK
