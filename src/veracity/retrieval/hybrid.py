"""The `knowledge` source: passages that hold the words of the question and those near to it in meaning, as one list.

Each side is measured by its best passage, and the two are added with weights: measured better than ranks (RRF) with a
small embedder. A question or passage that the embedder does not cover counts by its words alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from veracity.embedding import Embedder
from veracity.language import guess_language, search_tokens
from veracity.models import Hit, Passage
from veracity.retrieval.relevance import relevance
from veracity.retrieval.sources import Found, PassageStore

CANDIDATES = 50  # of each side


@dataclass(frozen=True, slots=True)
class Match:
    """How a passage fits a question: by its words and by its meaning, each as a share of the best, and together."""

    passage: Passage
    words: float
    meaning: float
    score: float
    relevance: float
    vector: Any


@dataclass(frozen=True, slots=True)
class Question:
    """A question in the forms in which it is searched for. `vector` is None where the embedder does not cover it."""

    text: str
    words: tuple[str, ...]
    vector: Any
    best_words: float  # the score of the passage that fits best by its words
    best_meaning: float

    def similarity(self, vector: Any) -> float:
        return 0.0 if vector is None or self.vector is None else max(0.0, float(self.vector @ vector))


class HybridSearch:
    """Words and vectors are searched at the same time. Sources that start from the same question share its matches."""

    name = "knowledge"

    def __init__(self, store: PassageStore, embedder: Embedder, vector_weight: float) -> None:
        self._store = store
        self._embedder = embedder
        self._weight = vector_weight
        self._threads = ThreadPoolExecutor(4, "veracity-search")
        self._last: tuple[object, tuple[Question, list[Match]]] | None = None

    def search(self, query: str, limit: int) -> list[Found]:
        _, matches = self.matches(query)
        return [Found(match.passage, match.score, match.relevance) for match in matches[:limit]]

    def matches(self, query: str) -> tuple[Question, list[Match]]:
        """The question as it was searched for, and the passages that match, the best first."""
        key, last = (query, self._store.version), self._last
        if last is None or last[0] != key:
            self._last = last = (key, self._find(query))
        return last[1]

    def _find(self, query: str) -> tuple[Question, list[Match]]:
        by_words = self._threads.submit(self._by_words, query)
        vector = self._embedder.embed_query(query) if self._embedder.covers(query) else None
        by_vector = [] if vector is None else self._store.by_vector(vector, CANDIDATES)
        words, hits = by_words.result()
        scores = {hit.passage.id: hit.score for hit in hits}
        found = {hit.passage.id: hit for hit in (*by_vector, *hits)}
        best_words = max(scores.values(), default=0.0)
        question = Question(query, words, vector, best_words, _nearest(vector, found.values()))
        matches = [self.match(question, hit, scores.get(name, 0.0)) for name, hit in found.items()]
        return question, sorted(matches, key=lambda match: (-match.score, match.passage.id))

    def match(self, question: Question, hit: Hit, words_score: float) -> Match:
        words = words_score / question.best_words if question.best_words else 0.0
        cosine = question.similarity(hit.vector)
        meaning = cosine / question.best_meaning if question.best_meaning else 0.0
        weight = self._weight if question.best_meaning else 0.0
        score = (1 - weight) * words + weight * meaning
        return Match(hit.passage, words, meaning, score, relevance(question, hit, words_score), hit.vector)

    def _by_words(self, query: str) -> tuple[tuple[str, ...], list[Hit]]:
        language = guess_language(query)
        if language == "zh" and (known := self._store.languages()) - {"en", "zh"}:
            return self._by_characters(query, both="zh" in known)
        words = tuple(dict.fromkeys(search_tokens(query, language)))
        return words, self._store.by_words(words, CANDIDATES)

    def _by_characters(self, query: str, both: bool) -> tuple[tuple[str, ...], list[Hit]]:
        """A question in Han characters only may be Japanese as well: each language is searched by its own words."""
        japanese = tuple(dict.fromkeys(search_tokens(query, "ja")))
        if not both:
            return japanese, self._store.by_words(japanese, CANDIDATES)
        chinese = tuple(dict.fromkeys(search_tokens(query, "zh")))
        share = len(chinese) / max(1, len(japanese))  # more words add up to more points
        hits = self._store.by_words(chinese, CANDIDATES, "zh")
        hits += [replace(hit, score=hit.score * share) for hit in self._store.by_words(japanese, CANDIDATES, "ja")]
        return chinese + japanese, hits


def _nearest(vector: Any, hits: Iterable[Hit]) -> float:
    if vector is None:
        return 0.0
    return max((float(vector @ hit.vector) for hit in hits if hit.vector is not None), default=0.0)
