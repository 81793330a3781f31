"""Embedders of fastembed and sentence-transformers, which are extras. They run on files that were pulled before.

Both libraries get a folder, and fetch nothing.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veracity.embedding.traits import traits_of_folder
from veracity.embedding.vectors import unit_vectors
from veracity.errors import ConfigurationError, ModelAnswerError
from veracity.local_models import LocalModel
from veracity.local_models.libraries import load_fastembed, load_sentence_transformers, require_installed
from veracity.printable import encodable
from veracity.workers import processors

if TYPE_CHECKING:
    from veracity.embedding.base import Vectors

log = logging.getLogger("veracity.embedding")

MAX_TEXT_LENGTH = 50_000  # characters, far more than the tokens a model reads
BATCH_TEXTS = 32


class LibraryEmbedder(ABC):
    """Raises at once if the library is missing; the first text loads the model, after its files are checked."""

    def __init__(self, kind: str, model: LocalModel) -> None:
        require_installed(kind)
        self._kind, self._local = kind, model
        try:
            self.traits = traits_of_folder(model.path, model.known)
        except ValueError as problem:
            raise ConfigurationError(f'The model "{model.name}" cannot be used: {problem}; pull it again.') from None
        # A model of another revision, or with other prefixes, has other vectors.
        revision = f"@{model.locked.revision[:12]}" if model.locked and model.locked.revision else ""
        self.name = f"{kind}:{model.name}{revision}{' (prefixes)' if self.traits.has_prefixes else ''}"
        self._dimensions = 0
        self._model: Any = None
        self._lock = threading.Lock()

    @property
    def dimensions(self) -> int:
        """Embeds a word to find out, unless a text was embedded before."""
        return self._dimensions or len(self.embed_query("dimensions"))

    def covers(self, text: str) -> bool:
        return self.traits.covers(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return self._embed([self.traits.passage_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([self.traits.query_prefix + text])[0]
        return vector

    def _embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        prepared = [encodable(text[:MAX_TEXT_LENGTH]) for text in texts]
        with self._lock:  # neither library promises that threads may share a model
            if self._model is None:
                self._local.require_intact()
                self._model = self._load()
            try:
                vectors = unit_vectors(self._run(prepared))
            except Exception as problem:  # noqa: BLE001 - the libraries raise anything
                log.debug("Running %s failed: %s", self.name, problem)
                vectors = None
        if vectors is None or len(vectors) != len(texts):
            raise ModelAnswerError(
                f'The model "{self._kind}:{self._local.name}" did not give one vector of numbers per text: '
                "check that it is an embedding model."
            )
        self._dimensions = vectors.shape[1]
        return vectors

    @abstractmethod
    def _load(self) -> Any: ...

    @abstractmethod
    def _run(self, texts: list[str]) -> Any: ...


class FastEmbedEmbedder(LibraryEmbedder):
    def __init__(self, model: LocalModel) -> None:
        super().__init__("fastembed", model)

    def _load(self) -> Any:
        from fastembed import TextEmbedding  # noqa: PLC0415 - an extra

        return load_fastembed(TextEmbedding, self._local, processors())

    def _run(self, texts: list[str]) -> Any:
        return list(self._model.embed(texts, batch_size=BATCH_TEXTS))


class SentenceTransformersEmbedder(LibraryEmbedder):
    def __init__(self, model: LocalModel) -> None:
        super().__init__("sentence-transformers", model)

    def _load(self) -> Any:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - an extra

        return load_sentence_transformers(SentenceTransformer, self._local)

    def _run(self, texts: list[str]) -> Any:
        """An empty prompt: the texts have their prefixes already."""
        return self._model.encode(texts, prompt="", batch_size=BATCH_TEXTS, show_progress_bar=False)
