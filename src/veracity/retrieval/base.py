"""The protocols of retrieval: a source, what it returns, and the store it searches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from veracity.models import Hit, Passage


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage that a source returned.

    `score` orders the results of one source for one query. `relevance` is the probability that the passage bears on the
    question, comparable across queries, sources and languages.
    """

    passage: Passage
    score: float
    relevance: float


class Source(Protocol):
    @property
    def name(self) -> str: ...

    def search(self, query: str, limit: int, added_words: Sequence[str] = ()) -> list[RankedPassage]:
        """The best passages first, without duplicates. `added_words` count less than those of the query."""
        ...


class PassageStore(Protocol):
    """Holds the passages. A `Hit` found by words or entities has a BM25 score; all hits have their vectors.

    The best hits come first, except for `by_ids`. Empty words or names return nothing.
    """

    @property
    def version(self) -> object:
        """Differs after every change."""
        ...

    @property
    def has_outdated_vectors(self) -> bool:
        """Whether another embedder made the vectors, so that passages are found by their words alone."""
        ...

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]: ...

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]: ...

    def by_vector(self, vector: Any, limit: int) -> list[Hit]: ...

    def by_ids(self, ids: Sequence[str]) -> list[Hit]: ...

    def languages(self) -> frozenset[str]: ...
