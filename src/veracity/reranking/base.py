"""The interface of all rerankers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from veracity.models import Evidence


class Reranker(Protocol):
    """Orders passages by reading each together with the question. Thread-safe."""

    @property
    def name(self) -> str:
        """The name as written in the settings."""
        ...

    def rerank(self, query: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The same passages, best first. Their relevance stays as it is."""
        ...


class TextReranker(ABC):
    """A reranker whose scores alone decide the order: of texts, without their titles and relevance."""

    name: str

    @abstractmethod
    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """One per passage, in their order; higher is better. Only comparable within one call."""

    def rerank(self, query: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        scores = self.scores(query, [item.text for item in evidence])
        order = sorted(range(len(evidence)), key=lambda index: -scores[index])
        return [evidence[index] for index in order]
