"""The `knowledge` source: passages that hold the words of the question and those near to it in meaning, as one list.

Each side is measured by its best passage, and the two are added with weights: measured better than ranks (RRF) with a
small embedder. A question or passage that the embedder does not cover counts by its words alone.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from math import exp, isfinite
from typing import Any, NamedTuple

from veracity.embedding import Embedder
from veracity.language import Language, guess_language, search_tokens
from veracity.models import Hit, Passage
from veracity.retrieval.base import Found, PassageStore
from veracity.workers import NATIVE_PATIENCE, Belongings, Workers

FITTED_FOR = "bundled:all-MiniLM-L6-v2-int8"  # another model's similarities mean something else


class Signals(NamedTuple):
    """`meaning` is None where nothing is known of it, which is not the same as being far."""

    words: float
    share: float
    meaning: float | None = None


class Curve(NamedTuple):
    bias: float
    words: float
    share: float
    meaning: float = 0.0


WITH_MEANING = Curve(-9.43, 2.3, 4.15, 6.25)
WORDS_ONLY = {
    "en": Curve(-9.18, 3.0, 6.57),
    "zh": Curve(-5.3, 2.42, 3.99),
    "ja": Curve(-14.12, 8.02, 10.28),
}


def relevance(signals: Signals, language: str) -> float:
    curve = WITH_MEANING if signals.meaning is not None and language == "en" else WORDS_ONLY[language]
    total = curve.bias + sum(factor * _share(signal) for factor, signal in zip(curve[1:], signals, strict=True))
    return 1 / (1 + exp(-total))


WEIGHED = 30  # passages by which the question's words are weighed


def word_weights(wanted: Iterable[str], found: Sequence[frozenset[str]]) -> dict[str, float]:
    """Words that many passages hold tell little: `found` are the words of those that fit best.

    Where fewer were found, those that are missing hold none of the words.
    """
    held_by = Counter(word for words in found[:WEIGHED] for word in words)
    return {word: 1 - 0.9 * held_by[word] / WEIGHED for word in wanted}


def covered(weights: dict[str, float], words: frozenset[str]) -> float:
    """The share of the question's words that are there, by weight."""
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in words) / total if total else 0.0


def _share(signal: float | None) -> float:
    """Within 0 and 1; what is no number counts as 0."""
    return min(1.0, max(0.0, signal or 0.0))


CANDIDATES = 50  # of each side, and more where more are asked for
MOST_WORDS = 200  # of a question; one with more is a document
LANGUAGES: tuple[Language, ...] = ("en", "zh", "ja")
ANY = ""  # language
# What words count that a rewrite added, beside the asker's own, and how far they move the question's vector: more leads
# astray (docs/benchmarks.md).
ADDED, MOVED = 0.3, 0.25


@dataclass(frozen=True, slots=True)
class Match:
    """A passage and how well it fits a question."""

    hit: Hit
    score: float

    @property
    def passage(self) -> Passage:
        return self.hit.passage


Words = Mapping[str, tuple[str, ...]]  # by the language of the passages in which they are looked for


class Candidates(NamedTuple):
    """What the store found for a question: for its words, and for its vector where the embedder covers it."""

    words: Words
    vector: Any
    by_words: list[Hit]
    by_vector: list[Hit]
    added: Words  # those that a rewrite added


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it was searched for. `vector` is None where the embedder does not cover it."""

    weights: Mapping[str, dict[str, float]]  # of its words, by the language of the passages
    vector: Any
    best_words: float  # the score of the passage that fits best by its words
    best_meaning: float
    is_calibrated: bool  # nearness in meaning is that of the embedder for which relevance was fitted

    def similarity(self, vector: Any) -> float:
        return similarity(self.vector, vector)

    def signals(self, hit: Hit, share: float) -> Signals:
        weights = self.weights.get(hit.passage.language) or self.weights.get(ANY) or {}
        is_known = self.is_calibrated and self.vector is not None and hit.vector is not None
        meaning = self.similarity(hit.vector) if is_known else None
        return Signals(covered(weights, frozenset(hit.words.split())), share, meaning)


Matches = tuple[Question, list[Match]]


class HybridSearch:
    """Words and vectors are searched at the same time. Sources that start from the same question share its matches."""

    name = "knowledge"

    def __init__(self, store: PassageStore, embedder: Embedder, vector_weight: float) -> None:
        self._store = store
        self._embedder = embedder
        self._weight = vector_weight
        self._threads = Workers(16, "veracity-search")  # daemons: a search that hangs does not keep a program alive
        self._turn = threading.Lock()
        self._last: tuple[object, Future[Matches]] | None = None

    def close(self) -> None:
        self._threads.close(NATIVE_PATIENCE)

    def search(self, query: str, limit: int, added: Sequence[str] = ()) -> list[Found]:
        question, matches = self.matches(query, limit, added)
        return found(question, [(match.hit, match.score) for match in matches[:limit]])

    def matches(self, query: str, limit: int, added: Sequence[str] = ()) -> Matches:
        """The question as it was searched for, and the passages that match, the best first: `limit` if there are."""
        key = (query, limit, tuple(added), self._store.version)
        with self._turn:
            is_first = self._last is None or self._last[0] != key
            if is_first:
                self._last = (key, Future())
            _, matches = self._last  # type: ignore[misc]  # it was just made, if it was not there
        if is_first:
            self._fulfil(matches, query, limit, added)
        return matches.result()

    def _fulfil(self, matches: Future[Matches], query: str, limit: int, added: Sequence[str]) -> None:
        """Who waits for it gets what comes of the search, an error too; but that is not remembered."""
        try:
            matches.set_result(self.weigh(self.candidates(query, limit, added)))
        except BaseException as problem:  # noqa: BLE001 - raised again where the result is asked for
            self._last = None
            matches.set_exception(problem)

    def score(self, question: Question, hit: Hit, words_score: float) -> float:
        words = words_score / question.best_words if question.best_words else 0.0
        if not question.best_meaning:
            return words
        meaning = question.similarity(hit.vector) / question.best_meaning
        return (1 - self._weight) * words + self._weight * meaning

    def candidates(self, query: str, limit: int = CANDIDATES, added: Sequence[str] = ()) -> Candidates:
        """`added` are words that the asker did not use: they count less than the query's own, in what is found as well
        as in its relevance."""
        each, language, more = max(CANDIDATES, limit), guess_language(query), " ".join(added)
        texts = [query, more] if added else [query]
        searches = [self._threads.submit(partial(self._asked, text, each, language)) for text in texts]
        vector = self._vector(query)
        if added and vector is not None:
            vector = _moved(vector, self._vector(f"{query} {more}"))
        by_vector = [] if vector is None else self._store.by_vector(vector, each)
        (words, hits), *rest = [search.result() for search in searches]
        for led_by, led in rest:
            return Candidates(words, vector, _added_up(hits, led), by_vector, led_by)
        return Candidates(words, vector, hits, by_vector, {})

    def weigh(self, given: Candidates) -> tuple[Question, list[Match]]:
        """Each side is measured by its best passage, so the passages have to be known before they can be scored."""
        scores = {hit.passage.id: hit.score for hit in given.by_words}
        hits = {hit.passage.id: hit for hit in (*given.by_vector, *given.by_words)}
        question = Question(
            weights={language: _weights(given, language) for language in given.words},
            vector=given.vector,
            best_words=max(scores.values(), default=0.0),
            best_meaning=max((similarity(given.vector, hit.vector) for hit in hits.values()), default=0.0),
            is_calibrated=self._embedder.name == FITTED_FOR,
        )
        matches = [Match(hit, self.score(question, hit, scores.get(name, 0.0))) for name, hit in hits.items()]
        return question, sorted(matches, key=lambda match: (-match.score, match.passage.id))

    def _vector(self, query: str) -> Any:
        """None where the embedder does not cover the question, or gives what is no vector."""
        vector = self._embedder.embed_query(query) if self._embedder.covers(query) else None
        return vector if vector is not None and isfinite(float(vector @ vector)) else None

    def _asked(self, query: str, limit: int, language: Language, _: Belongings) -> tuple[Words, list[Hit]]:
        return self._by_words(query, limit, language)

    def _by_words(self, query: str, limit: int, language: Language) -> tuple[Words, list[Hit]]:
        if language == "zh" and "ja" in (known := self._store.languages()):
            return self._by_own_words(query, limit, known)
        words = _words(query, language)
        return {ANY: words}, self._store.by_words(words, limit)

    def _by_own_words(self, query: str, limit: int, known: frozenset[str]) -> tuple[Words, list[Hit]]:
        """A question without kana may be Japanese as well: passages of each language are searched by its own words.

        A passage of a Japanese document may have no kana either, and then counts as Chinese.
        """
        languages = [language for language in LANGUAGES if language in known | {"zh"}]
        words = {str(language): _words(query, language) for language in languages}
        hits = [
            replace(hit, score=hit.score / len(wanted))  # more words add up to more points
            for language, wanted in words.items()
            for hit in self._store.by_words(wanted, limit, language)
        ]
        return words, hits


def found(question: Question, scored: Sequence[tuple[Hit, float]], best: float = 0.0) -> list[Found]:
    """What a source found, the best first, with its relevance. `best` is the score of the best passage there is, where
    that may not be among them."""
    best = max((best, *(score for _, score in scored))) or 1.0
    return [
        Found(hit.passage, score, relevance(question.signals(hit, score / best), hit.passage.language))
        for hit, score in scored
    ]


def similarity(one: Any, other: Any) -> float:
    """From 0 to 1; of what is no vector, 0."""
    return 0.0 if one is None or other is None else min(1.0, max(0.0, float(one @ other)))


def _words(query: str, language: Language) -> tuple[str, ...]:
    return tuple(dict.fromkeys(search_tokens(query, language)))[:MOST_WORDS]


def _weights(given: Candidates, language: str) -> dict[str, float]:
    """Of the words, by the passages of that language that fit best."""
    same = [hit for hit in given.by_words if language in (ANY, hit.passage.language)]
    held = [frozenset(hit.words.split()) for hit in same]
    added = {word: ADDED * weight for word, weight in word_weights(given.added.get(language, ()), held).items()}
    return added | word_weights(given.words[language], held)


def _moved(vector: Any, towards: Any) -> Any:
    if towards is None:
        return vector
    moved = (1 - MOVED) * vector + MOVED * towards
    return moved / float(moved @ moved) ** 0.5


def _added_up(own: Sequence[Hit], led: Sequence[Hit]) -> list[Hit]:
    """The points of both, each as a share of its best, the best first."""
    hits: dict[str, Hit] = {}
    for some, weight in ((own, 1.0), (led, ADDED)):
        best = max((hit.score for hit in some), default=1.0) or 1.0
        for hit in some:
            before = hits[hit.passage.id].score if hit.passage.id in hits else 0.0
            hits[hit.passage.id] = replace(hit, score=before + weight * hit.score / best)
    return sorted(hits.values(), key=lambda hit: (-hit.score, hit.passage.id))
