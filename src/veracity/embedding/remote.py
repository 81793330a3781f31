"""An embedder that asks a provider: batches, time limits, retries and checks around single calls.

Each worker has a connection of its own, since one shared by threads fails. Knows nothing about what the texts are.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic_ai.embeddings import EmbeddingModel, EmbeddingSettings, infer_embedding_model
from pydantic_ai.exceptions import ModelAPIError, ModelRequestTimeout, UnexpectedModelBehavior, UserError
from pydantic_ai.providers import Provider, infer_provider

from veracity.errors import ConfigurationError, ModelAnswerError
from veracity.printable import encodable
from veracity.providers.errors import explained
from veracity.providers.keys import refuse_typing_errors, require_key
from veracity.providers.retry import retried
from veracity.settings import LLMSettings
from veracity.workers import Belongings, Workers

if TYPE_CHECKING:
    pass
    from veracity.embedding.base import Vectors


Kind = Literal["document", "query"]

SETTINGS = EmbeddingSettings(truncate=True)  # where it is the provider that has to be told


class Connection:
    """A model and what it speaks through. Leaving its asynchronous context closes it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._providers: list[Provider[Any]] = []
        self._model: EmbeddingModel = explained(name, self._made)

    def ask(self, texts: Sequence[str], kind: Kind, timeout: float) -> Sequence[Sequence[float]]:
        """What the provider answers, not yet checked. Ends in time also where the server sends a byte now and then."""
        loop = asyncio.get_event_loop()
        return explained(self.name, lambda: loop.run_until_complete(self._embed(texts, kind, timeout)))

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        for provider in self._providers:
            async with provider:
                pass

    async def _embed(self, texts: Sequence[str], kind: Kind, timeout: float) -> Sequence[Sequence[float]]:
        try:
            async with asyncio.timeout(timeout):
                answer = await self._model.embed(texts, input_type=kind, settings=SETTINGS)
        except TimeoutError:
            raise ModelRequestTimeout(self.name, timeout) from None
        except (AttributeError, KeyError, TypeError, ValueError):  # the SDK stumbled over what it read
            raise UnexpectedModelBehavior("not in the form of the API") from None
        except Exception as problem:
            if isinstance(problem, ModelAPIError) or not hasattr(problem, "status_code"):
                raise
            raise ModelAPIError(self.name, "redirected") from problem  # an SDK's own error, which pydantic-ai let pass
        return answer.embeddings

    def _made(self) -> EmbeddingModel:
        try:
            return infer_embedding_model(self.name, provider_factory=self._provider)
        except UserError as problem:
            if "Unknown embeddings model" not in str(problem):
                raise
        raise ConfigurationError(
            f'The provider of "{self.name}" has no embedding models, as far as pydantic-ai knows: '
            'use another one (an OpenAI-compatible server is written "openai:model"), "bundled" or "none".'
        )

    def _provider(self, name: str) -> Provider[Any]:
        provider = infer_provider(name)
        self._providers.append(provider)
        if isinstance(getattr(provider.client, "max_retries", None), int):
            provider.client.max_retries = 0
        return provider


AT_ONCE = 4  # calls
BATCH = 64  # texts; Cohere takes 96, Google 100
BATCH_CHARACTERS = 100_000  # OpenAI takes 300,000 tokens
LONGEST = 6000  # characters, which even in Chinese fit the 8,192 tokens OpenAI reads; what comes after is not read
BLANK = "."  # what is sent for a text without text, which providers refuse


class ProviderEmbedder:
    """Raises at once where the key is missing; whether the model exists is known with the first text."""

    def __init__(self, model: str, settings: LLMSettings | None = None) -> None:
        refuse_typing_errors([(model, "The embedder")])
        require_key(model)
        self.name = model
        self._settings = settings or LLMSettings()
        self._workers = Workers(min(AT_ONCE, self._settings.workers), "veracity-embedding")
        self._dimensions: int | None = None
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        """Found by embedding a word, unless a text has been embedded before."""
        return self._dimensions or len(self.embed_query("dimensions"))

    def covers(self, text: str) -> bool:
        return True

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed(texts, "document") if texts else np.empty((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([text], "query")[0]
        return vector

    def close(self) -> None:
        """End the threads. Optional: they end with the embedder."""
        self._workers.close()

    def _embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """The first failure ends it all: a part of the vectors is of no use."""
        futures = [
            self._workers.submit(partial(self._embed_batch, texts=batch, kind=kind)) for batch in _batches(texts)
        ]
        try:
            return np.concatenate([future.result() for future in futures])
        finally:
            for future in futures:
                future.cancel()

    def _embed_batch(self, belongings: Belongings, texts: list[str], kind: Kind) -> Vectors:
        """Runs on a worker."""

        def ask(seconds: float) -> Vectors:
            return self._checked(self._connection(belongings).ask(texts, kind, seconds), len(texts))

        return retried(ask, self._settings, time.monotonic() + self._settings.deadline)

    def _connection(self, belongings: Belongings) -> Connection:
        pass

        if self.name not in belongings:
            belongings[self.name] = Connection(self.name)
        return belongings[self.name]  # type: ignore[no-any-return]

    def _checked(self, answer: Sequence[Sequence[float]], count: int) -> Vectors:
        vectors = _normalised(answer)
        if vectors is None or len(vectors) != count:
            raise ModelAnswerError(
                f'The model "{self.name}" did not answer with one vector of numbers per text: '
                "check that it is an embedding model."
            )
        with self._lock:
            self._dimensions = self._dimensions or vectors.shape[1]
        if vectors.shape[1] != self._dimensions:
            raise ModelAnswerError(
                f'The model "{self.name}" answered with vectors of {vectors.shape[1]} dimensions, before they had '
                f"{self._dimensions}: look whether its server was changed."
            )
        return vectors


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        sent = encodable(text[:LONGEST])
        if len(batch) == BATCH or sum(map(len, batch)) + len(sent) > BATCH_CHARACTERS:
            yield batch
            batch = []
        batch.append(sent if sent.strip() else BLANK)
    yield batch


def _normalised(answer: Sequence[Sequence[float]]) -> Vectors | None:
    """None where it is not a table of numbers whose rows have a length."""
    try:
        vectors = np.asarray(answer, np.float64)
    except (TypeError, ValueError):  # not numbers, or rows of different length
        return None
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        return None
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    if not largest.all():
        return None
    vectors = vectors / largest  # or the squares of huge numbers would be infinite
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit
