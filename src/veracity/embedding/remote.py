"""An embedder that calls a provider or server: through pydantic-ai, which the first call loads, or as TEI speaks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from veracity.deadlines import Deadline
from veracity.embedding.traits import traits_of
from veracity.embedding.vectors import unit_vectors
from veracity.errors import ConfigurationError, ModelAnswerError
from veracity.local_models import find_known
from veracity.printable import encodable
from veracity.providers.errors import MALFORMED, TIMED_OUT, Failure, translate_errors
from veracity.providers.keys import (
    NO_SERVERS,
    ServersByName,
    check_provider_names,
    provider_of,
    require_key,
    unknown_provider,
)
from veracity.providers.retry import retry
from veracity.settings import LLMSettings
from veracity.workers import ThreadLocals, Workers

if TYPE_CHECKING:
    from pydantic_ai.embeddings import EmbeddingModel
    from pydantic_ai.providers import Provider

    from veracity.embedding.base import Vectors
    from veracity.embedding.tei import TEIConnection

Kind = Literal["document", "query"]

MAX_CONCURRENT_CALLS = 4
MAX_BATCH_TEXTS = 64  # Cohere takes 96, Google 100
MAX_BATCH_CHARACTERS = 100_000  # OpenAI takes 300,000 tokens
MAX_TEXT_LENGTH = 6000  # characters, which even in Chinese fit the 8,192 tokens OpenAI reads; the rest is cut off
TEI_BATCH_TEXTS = 32  # the default limit of Text Embeddings Inference
BLANK = "."  # sent for an empty text, which providers refuse


class ProviderEmbedder:
    """Raises at once if the key is missing; only the first call shows whether the model exists.

    Texts get the prefixes that a known model wants. Then `name` says so: vectors without them cannot be compared.
    """

    def __init__(self, model: str, settings: LLMSettings | None = None, servers: ServersByName = NO_SERVERS) -> None:
        check_provider_names([(model, "The embedder")], servers)
        require_key(model, servers)
        self._model = model
        self.traits = traits_of(find_known(model.partition(":")[2]))
        self.name = f"{model} (prefixes)" if self.traits.has_prefixes else model
        self._servers = servers
        self._is_tei = is_tei(model, servers)
        self._settings = settings or LLMSettings()
        self._workers = Workers(min(MAX_CONCURRENT_CALLS, self._settings.workers), "veracity-embedding")
        self._dimensions: int | None = None
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        """Embeds a word to find out, unless a text was embedded before."""
        return self._dimensions or len(self.embed_query("dimensions"))

    def covers(self, text: str) -> bool:
        return self.traits.covers(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, "document") if texts else np.empty((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([text], "query")[0]
        return vector

    def close(self) -> None:
        """End the threads. Optional: they end with the embedder."""
        self._workers.close()

    def _embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """The first failure cancels the other batches."""
        prefix = self.traits.query_prefix if kind == "query" else self.traits.passage_prefix
        batches = _batches(texts, prefix, TEI_BATCH_TEXTS if self._is_tei else MAX_BATCH_TEXTS)
        futures = [self._workers.submit(partial(self._embed_batch, texts=batch, kind=kind)) for batch in batches]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            first_failed = [future for future in done if future.exception()][:1]
            return np.concatenate([future.result() for future in first_failed or futures])
        finally:
            for future in futures:
                future.cancel()

    def _embed_batch(self, thread_locals: ThreadLocals, texts: list[str], kind: Kind) -> Vectors:
        """Runs on a worker."""
        deadline = Deadline.within(self._settings.deadline)

        def call() -> Vectors:
            timeout = min(self._settings.call_timeout, deadline.left)
            return self._checked(self._connection(thread_locals).embed(texts, kind, timeout), len(texts))

        return retry(call, backoff=self._settings.backoff, deadline=deadline)

    def _connection(self, thread_locals: ThreadLocals) -> _Connection | TEIConnection:
        if self._model not in thread_locals:
            if self._is_tei:
                from veracity.embedding.tei import TEIConnection  # noqa: PLC0415 - loads httpx

                thread_locals[self._model] = TEIConnection(self._model, self._servers)
            else:
                thread_locals[self._model] = _Connection(self._model, self._servers)
        return thread_locals[self._model]  # type: ignore[no-any-return]

    def _checked(self, rows: Sequence[Sequence[float]], count: int) -> Vectors:
        vectors = unit_vectors(rows)
        if vectors is None or len(vectors) != count:
            raise ModelAnswerError(
                f'The model "{self._model}" did not answer with one vector of numbers per text: '
                "check that it is an embedding model."
            )
        with self._lock:
            self._dimensions = self._dimensions or vectors.shape[1]
        if vectors.shape[1] != self._dimensions:
            raise ModelAnswerError(
                f'The model "{self._model}" answered with vectors of {vectors.shape[1]} dimensions after vectors of '
                f"{self._dimensions}: check whether its server has changed."
            )
        return vectors


class _Connection:
    """A worker's own model, since threads cannot share its client. Leaving the asynchronous context closes it."""

    def __init__(self, name: str, servers: ServersByName) -> None:
        self._name = name
        self._servers = servers
        self._providers: list[Provider[Any]] = []
        self._model: EmbeddingModel = translate_errors(name, self._make_model)

    def embed(self, texts: Sequence[str], kind: Kind, timeout: float) -> Sequence[Sequence[float]]:
        """Ends in time even if the server sends a byte now and then. The result is unchecked."""
        loop = asyncio.get_event_loop()
        return translate_errors(self._name, lambda: loop.run_until_complete(self._embed(texts, kind, timeout)))

    async def __aenter__(self) -> _Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        for provider in self._providers:
            async with provider:
                pass

    async def _embed(self, texts: Sequence[str], kind: Kind, timeout: float) -> Sequence[Sequence[float]]:
        try:
            async with asyncio.timeout(timeout):
                return (await self._model.embed(texts, input_type=kind, settings={"truncate": True})).embeddings
        except TimeoutError:
            cause = TIMED_OUT
        except (AttributeError, KeyError, TypeError, ValueError):  # the SDK cannot parse the response
            cause = MALFORMED
        raise Failure(cause).model_error(self._name)

    def _make_model(self) -> EmbeddingModel:
        from pydantic_ai.embeddings import infer_embedding_model  # noqa: PLC0415 - slow to load
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415

        if provider_of(self._name) in self._servers:
            return self._make_server_model()
        try:
            return infer_embedding_model(self._name, provider_factory=self._make_provider)
        except UserError as problem:
            if "Unknown embeddings model" not in str(problem):
                raise
        raise ConfigurationError(
            f'The provider of "{self._name}" has no embedding models that pydantic-ai supports: '
            'use another one (an OpenAI-compatible server is written "openai:model"), "bundled" or "none".'
        )

    def _make_server_model(self) -> EmbeddingModel:
        from veracity.providers.servers import make_server_embedder  # noqa: PLC0415 - slow to load

        model, provider = make_server_embedder(self._name, self._servers)
        self._providers.append(provider)
        return model

    def _make_provider(self, name: str) -> Provider[Any]:
        from pydantic_ai.providers import infer_provider, infer_provider_class  # noqa: PLC0415 - slow to load

        try:
            infer_provider_class(name)
        except ValueError:
            raise ConfigurationError(str(unknown_provider(self._name, self._servers))) from None
        provider = infer_provider(name)
        self._providers.append(provider)
        if isinstance(getattr(provider.client, "max_retries", None), int):
            provider.client.max_retries = 0
        return provider


def is_tei(model: str, servers: ServersByName) -> bool:
    """Whether the model's server is one of Text Embeddings Inference."""
    server = servers.get(provider_of(model))
    return server is not None and server.api == "tei"


def _batches(texts: Sequence[str], prefix: str, max_texts: int) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        cut = encodable(prefix + text[:MAX_TEXT_LENGTH])
        if len(batch) == max_texts or sum(map(len, batch)) + len(cut) > MAX_BATCH_CHARACTERS:
            yield batch
            batch = []
        batch.append(cut if cut.strip() else BLANK)
    yield batch
