"""Cross-encoders of fastembed and sentence-transformers, which are extras. They run on pulled files."""

from __future__ import annotations

import logging
import math
import threading
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from veracity.errors import ModelAnswerError
from veracity.local_models import LocalModel
from veracity.local_models.libraries import load_fastembed, load_sentence_transformers, require_installed
from veracity.printable import encodable
from veracity.reranking.base import TextReranker
from veracity.workers import processors

log = logging.getLogger("veracity.reranking")

MAX_TEXT_LENGTH = 50_000  # characters, far more than the tokens a model reads
BATCH_TEXTS = 16


class LibraryReranker(TextReranker):
    """Raises at once if the library is missing; the first passages load the model, after its files are checked."""

    def __init__(self, kind: str, model: LocalModel) -> None:
        require_installed(kind)
        self.name = f"{kind}:{model.name}"
        self._local = model
        self._model: Any = None
        self._lock = threading.Lock()

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        texts = [encodable(text[:MAX_TEXT_LENGTH]) for text in (query, *passages)]
        with self._lock:  # neither library promises that threads may share a model
            if self._model is None:
                self._local.require_intact()
                self._model = self._load()
            try:
                scores = [float(score) for score in self._run(texts[0], texts[1:])]
            except Exception as problem:  # noqa: BLE001 - the libraries raise anything
                log.debug("Running %s failed: %s", self.name, problem)
                scores = []
        if len(scores) != len(passages) or not all(map(math.isfinite, scores)):
            raise ModelAnswerError(
                f'The model "{self.name}" did not give one score per passage: check that it is a reranking model.'
            )
        return scores

    @abstractmethod
    def _load(self) -> Any: ...

    @abstractmethod
    def _run(self, query: str, passages: list[str]) -> Any: ...


class FastEmbedReranker(LibraryReranker):
    def __init__(self, model: LocalModel) -> None:
        super().__init__("fastembed", model)

    def _load(self) -> Any:
        from fastembed.rerank.cross_encoder import TextCrossEncoder  # noqa: PLC0415 - an extra

        return load_fastembed(TextCrossEncoder, self._local, processors())

    def _run(self, query: str, passages: list[str]) -> Any:
        return self._model.rerank(query, passages, batch_size=BATCH_TEXTS)


class SentenceTransformersReranker(LibraryReranker):
    def __init__(self, model: LocalModel) -> None:
        super().__init__("sentence-transformers", model)

    def _load(self) -> Any:
        from sentence_transformers import CrossEncoder  # noqa: PLC0415 - an extra

        return load_sentence_transformers(CrossEncoder, self._local)

    def _run(self, query: str, passages: list[str]) -> Any:
        pairs = [(query, passage) for passage in passages]
        return self._model.predict(pairs, batch_size=BATCH_TEXTS, show_progress_bar=False)
