"""An embedder that asks a provider: batches, time limits, retries and checks around single calls.

Each worker has a connection of its own, since one shared by threads fails. Knows nothing about what the texts are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from veracity.errors import ModelAnswerError
from veracity.providers.keys import refuse_typing_errors, require_key
from veracity.providers.retrying import retried
from veracity.providers.texts import encodable
from veracity.settings import LLMSettings
from veracity.workers import Belongings, Workers

if TYPE_CHECKING:
    from veracity.embedding.asking import Connection, Kind
    from veracity.embedding.protocol import Vectors

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
        from veracity.embedding.asking import Connection  # noqa: PLC0415 - loads pydantic-ai

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
