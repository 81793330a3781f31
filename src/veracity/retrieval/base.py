"""What a retrieval source is, what it finds, and the store it searches. Knows no source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from veracity.models import Hit, Passage


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that a source found. `score` orders what one source found for one query; `relevance` means the same
    for any query, source and language: the chance that the passage bears on the question."""

    passage: Passage
    score: float
    relevance: float


class Source(Protocol):
    @property
    def name(self) -> str: ...

    def search(self, query: str, limit: int, added: Sequence[str] = ()) -> list[Found]:
        """The best first, each once. Fewer than `limit` only where there are no more. Words that were `added` to the
        query count less than its own."""
        ...


class PassageStore(Protocol):
    """Where the passages are. A `Hit` found by words or names has their BM25 score, all have their vectors.

    The best come first, those asked for by their ids in any order. No words or names find nothing.
    """

    @property
    def version(self) -> object:
        """Another one after every change."""
        ...

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]: ...

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]: ...

    def by_vector(self, vector: Any, limit: int) -> list[Hit]: ...

    def by_ids(self, ids: Sequence[str]) -> list[Hit]: ...

    def languages(self) -> frozenset[str]: ...
