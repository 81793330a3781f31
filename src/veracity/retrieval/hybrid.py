"""The `knowledge` source: searches by words and by vectors, and adds the scores of both with weights.

Each side's scores are relative to its best passage. With a small embedder this measured better than fusing ranks (RRF).
A question or passage that the embedder does not cover is scored by its words alone.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from math import exp, isfinite
from typing import Any, NamedTuple, Self

from veracity.embedding import BUNDLED_NAME, Embedder
from veracity.language import Language, guess_language, possible_languages, search_tokens
from veracity.models import Hit, Passage
from veracity.retrieval.base import PassageStore, RankedPassage
from veracity.workers import NATIVE_CLOSE_SECONDS, ThreadLocals, Workers

MIN_CANDIDATES = 50  # from each side
MAX_QUERY_WORDS = 200
WEIGHING_PASSAGES = 30  # the best passages, by which the question's words are weighted
SEARCH_THREADS = 16
LANGUAGES: tuple[Language, ...] = ("en", "zh", "ja")
ANY_LANGUAGE = ""
ACROSS = "across"  # from the language of the question to that of the passage
OTHER_LANGUAGE_FACTOR = 0.8  # on the score of passages in another language than the question
# Factors on `retrieval.vector_weight`, measured by `python -m benchmarks.retrieval`. Across languages few words are the
# same (names, numbers, code), so vectors count at least as much as OTHER_LANGUAGE_VECTOR_WEIGHT says.
VECTOR_FACTORS = {"en": 1.0, "zh": 0.75, "ja": 0.75}
OTHER_LANGUAGE_VECTOR_WEIGHT = 0.9
RELEVANT_ENOUGH = 0.3  # in the question's own language: then passages in other languages get no more weight
# How much words added by a rewrite count, and how far they move the question's vector. Higher values make the results
# worse (docs/benchmarks.md).
ADDED_WORD_WEIGHT, ADDED_VECTOR_WEIGHT = 0.3, 0.25


class Signals(NamedTuple):
    """The inputs of `relevance`. `meaning` is None if it is unknown, which is not the same as 0."""

    words: float  # the share of the question's words in the passage, by weight
    share: float  # the score relative to the best passage
    meaning: float | None = None


# Coefficients of a logistic function: bias, words, share, meaning (`python -m benchmarks.retrieval.calibration`).
CURVES_WITH_MEANING = {
    "en": (-9.93, 2.32, 4.54, 6.38),
    "zh": (-6.35, 2.12, 3.32, 3.16),
    "ja": (-22.86, 8.16, 18.41, 1.7),
    ACROSS: (-12.2, 5.37, 8.14, 8.29),
}
CURVES_WITHOUT_MEANING = {
    "en": (-9.18, 3.0, 6.57, 0.0),
    "zh": (-5.3, 2.42, 3.99, 0.0),
    "ja": (-14.12, 8.02, 10.28, 0.0),
}


def relevance(signals: Signals, language: str) -> float:
    """`language` is that of the passage, or `ACROSS`."""
    bias, *factors = (CURVES_WITHOUT_MEANING if signals.meaning is None else CURVES_WITH_MEANING)[language]
    total = bias + sum(factor * _clip(signal) for factor, signal in zip(factors, signals, strict=True))
    return 1 / (1 + exp(-total))


def word_weights(words: Iterable[str], best_passages: Sequence[frozenset[str]]) -> dict[str, float]:
    """Weigh the words by rarity: words that many of the best passages contain count little."""
    counts = Counter(word for passage_words in best_passages[:WEIGHING_PASSAGES] for word in passage_words)
    return {word: 1 - 0.9 * counts[word] / WEIGHING_PASSAGES for word in words}


def word_coverage(weights: dict[str, float], words: frozenset[str]) -> float:
    """The share of the weighted words that are among `words`."""
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in words) / total if total else 0.0


def similarity(vector: Any, other: Any) -> float:
    """The dot product within 0 and 1; 0 if a vector is missing."""
    return 0.0 if vector is None or other is None else _clip(float(vector @ other))


def _clip(signal: float | None) -> float:
    """Within 0 and 1. None and NaN count as 0."""
    return min(1.0, max(0.0, signal or 0.0))


@dataclass(frozen=True, slots=True)
class Match:
    """A passage and its score for a question."""

    hit: Hit
    score: float

    @property
    def passage(self) -> Passage:
        return self.hit.passage


WordsByLanguage = Mapping[str, tuple[str, ...]]  # the language of the passages in which the words are searched


class Candidates(NamedTuple):
    """What the store found for a question, by its words and by its vector. The vector is None if it is not covered."""

    words: WordsByLanguage
    vector: Any
    by_words: list[Hit]
    by_vector: list[Hit]
    added_words: WordsByLanguage
    languages: frozenset[Language]  # of the question


@dataclass(frozen=True, slots=True)
class Question:
    """A question after its search. `vector` is None if the embedder does not cover it."""

    weights: Mapping[str, dict[str, float]]  # of its words, by the language of the passages
    vector: Any
    best_words: float  # the highest score by words
    best_meaning: float  # the highest similarity
    is_calibrated: bool  # `relevance` was fitted for this embedder; other models' similarities have another scale
    languages: frozenset[Language]  # more than one if they cannot be told apart
    searches_across: bool = True  # nothing relevant was found in its own language

    def signals(self, hit: Hit, share: float) -> Signals:
        weights = self.weights.get(hit.passage.language) or self.weights.get(ANY_LANGUAGE) or {}
        is_known = self.is_calibrated and self.vector is not None and hit.vector is not None
        meaning = similarity(self.vector, hit.vector) if is_known else None
        return Signals(word_coverage(weights, frozenset(hit.words.split())), share, meaning)

    def is_across(self, hit: Hit) -> bool:
        """Whether the passage is in another language than the question."""
        return hit.passage.language not in self.languages

    def relevance(self, hit: Hit, share: float) -> float:
        signals = self.signals(hit, share)
        is_across = signals.meaning is not None and self.is_across(hit)
        return relevance(signals, ACROSS if is_across else hit.passage.language)


Matches = tuple[Question, list[Match]]


class HybridSearch:
    """Searches words and vectors concurrently. The last result is cached, so that sources can share it."""

    name = "knowledge"

    def __init__(self, store: PassageStore, embedder: Embedder, vector_weight: float) -> None:
        self._store = store
        self._embedder = embedder
        self._vector_weight = vector_weight
        self._threads = Workers(SEARCH_THREADS, "veracity-search")  # daemons: a hanging search does not block exit
        self._lock = threading.Lock()
        self._last: tuple[object, Future[Matches]] | None = None

    def close(self) -> None:
        self._threads.close(NATIVE_CLOSE_SECONDS)

    def over(self, store: PassageStore) -> Self:
        """The same search in another store. It uses the threads of this one."""
        other = copy(self)
        other._store, other._lock, other._last = store, threading.Lock(), None
        return other

    def search(self, query: str, limit: int, added_words: Sequence[str] = ()) -> list[RankedPassage]:
        question, matches = self.match(query, limit, added_words)
        return rank(question, matches[:limit])

    def match(self, query: str, limit: int, added_words: Sequence[str] = ()) -> Matches:
        """The question and its matches, best first: at least `limit` if there are so many."""
        key = (query, limit, tuple(added_words), self._store.version)
        with self._lock:
            is_first = self._last is None or self._last[0] != key
            if is_first:
                self._last = (key, Future())
            _, matches = self._last  # type: ignore[misc]  # set above
        if is_first:
            self._resolve(matches, query, limit, added_words)
        return matches.result()

    def score(self, question: Question, hit: Hit, words_score: float) -> float:
        """From 0 to 1. Of passages that match equally, those in the language of the question come first."""
        factor = OTHER_LANGUAGE_FACTOR if question.is_across(hit) else 1.0
        words = words_score / question.best_words if question.best_words else 0.0
        if not question.best_meaning:
            return factor * words
        meaning = similarity(question.vector, hit.vector) / question.best_meaning
        weight = self._weight_of_vectors(question, hit)
        return factor * ((1 - weight) * words + weight * meaning)

    def _weight_of_vectors(self, question: Question, hit: Hit) -> float:
        if self._vector_weight in (0, 1):
            return self._vector_weight
        if question.searches_across and question.is_across(hit):
            return max(self._vector_weight, OTHER_LANGUAGE_VECTOR_WEIGHT)
        return self._vector_weight * VECTOR_FACTORS[hit.passage.language]

    def find_candidates(self, query: str, limit: int = MIN_CANDIDATES, added_words: Sequence[str] = ()) -> Candidates:
        """`added_words` are not the user's own: they count less, for the candidates as well as for relevance."""
        depth, language, added = max(MIN_CANDIDATES, limit), guess_language(query), " ".join(added_words)
        languages = possible_languages(query)
        texts = [query, added] if added_words else [query]
        searches = [self._threads.submit(partial(self._search_words, text, depth, language)) for text in texts]
        vector = self._embed(query)
        if added_words and vector is not None:
            vector = _move(vector, self._embed(f"{query} {added}"))
        by_vector = [] if vector is None else self._store.by_vector(vector, depth)
        (words, hits), *more = [search.result() for search in searches]
        for words_of_added, hits_of_added in more:
            return Candidates(words, vector, _merge_hits(hits, hits_of_added), by_vector, words_of_added, languages)
        return Candidates(words, vector, hits, by_vector, {}, languages)

    def score_candidates(self, candidates: Candidates) -> Matches:
        """Scores are relative to the best passage of each side, so all candidates must be known."""
        scores = {hit.passage.id: hit.score for hit in candidates.by_words}
        hits = {hit.passage.id: hit for hit in (*candidates.by_vector, *candidates.by_words)}
        question = Question(
            weights={language: _weigh_words(candidates, language) for language in candidates.words},
            vector=candidates.vector,
            best_words=max(scores.values(), default=0.0),
            best_meaning=max((similarity(candidates.vector, hit.vector) for hit in hits.values()), default=0.0),
            is_calibrated=self._embedder.name == BUNDLED_NAME,
            languages=candidates.languages,
        )
        own = [hit for hit in hits.values() if not question.is_across(hit)]
        if any(question.relevance(hit, 1.0) >= RELEVANT_ENOUGH for hit in own):
            question = replace(question, searches_across=False)
        matches = [Match(hit, self.score(question, hit, scores.get(id_, 0.0))) for id_, hit in hits.items()]
        matches = _prefer_own_language(question, matches)
        return question, sorted(matches, key=lambda match: (-match.score, match.passage.id))

    def _resolve(self, matches: Future[Matches], query: str, limit: int, added_words: Sequence[str]) -> None:
        """Errors go to all callers that wait for the future, and are not cached."""
        try:
            matches.set_result(self.score_candidates(self.find_candidates(query, limit, added_words)))
        except BaseException as problem:  # noqa: BLE001 - raised again by matches.result()
            self._last = None
            matches.set_exception(problem)

    def _embed(self, query: str) -> Any:
        """None if the embedder does not cover the question, or returns a vector that is not finite."""
        vector = self._embedder.embed_query(query) if self._embedder.covers(query) else None
        return vector if vector is not None and isfinite(float(vector @ vector)) else None

    def _search_words(
        self, query: str, limit: int, language: Language, _: ThreadLocals
    ) -> tuple[WordsByLanguage, list[Hit]]:
        if language == "zh" and "ja" in (stored := self._store.languages()):
            return self._search_words_by_language(query, limit, stored)
        words = _query_words(query, language)
        return {ANY_LANGUAGE: words}, self._store.by_words(words, limit)

    def _search_words_by_language(
        self, query: str, limit: int, stored: frozenset[str]
    ) -> tuple[WordsByLanguage, list[Hit]]:
        """Tokenize the query once per language: a question without kana may be Japanese.

        A passage of a Japanese document may have no kana either, and then counts as Chinese.
        """
        languages = [language for language in LANGUAGES if language in stored | {"zh"}]
        words = {str(language): _query_words(query, language) for language in languages}
        hits = [
            replace(hit, score=hit.score / len(own_words))  # more words add up to higher scores
            for language, own_words in words.items()
            for hit in self._store.by_words(own_words, limit, language)
        ]
        return words, hits


def _prefer_own_language(question: Question, matches: list[Match]) -> list[Match]:
    """Limit the score of passages in other languages that are less similar than one in the question's language.

    Their score comes from the vectors almost alone, so it would be higher than that of a similar passage in the
    question's language that uses other words.
    """

    def meaning(match: Match) -> float:
        factor = OTHER_LANGUAGE_FACTOR if question.is_across(match.hit) else 1.0
        return factor * similarity(question.vector, match.hit.vector)

    def limit(match: Match) -> Match:
        if not question.is_across(match.hit) or not 0 < meaning(match) <= most:
            return match
        return Match(match.hit, min(match.score, nearest.score * meaning(match) / most))

    own = [match for match in matches if not question.is_across(match.hit)]
    if question.best_meaning <= 0 or not own or len(own) == len(matches):
        return matches
    nearest = max(own, key=meaning)
    most = meaning(nearest)
    return [limit(match) for match in matches]


def rank(question: Question, matches: Sequence[Match], best: float = 0.0) -> list[RankedPassage]:
    """Add the relevance. `best` is the best score of all passages, if that may not be among the matches."""
    best = max((best, *(match.score for match in matches))) or 1.0
    return [
        RankedPassage(match.passage, match.score, question.relevance(match.hit, match.score / best))
        for match in matches
    ]


def _query_words(query: str, language: Language) -> tuple[str, ...]:
    return tuple(dict.fromkeys(search_tokens(query, language)))[:MAX_QUERY_WORDS]


def _weigh_words(candidates: Candidates, language: str) -> dict[str, float]:
    """Weigh the words by the best passages of that language."""
    hits = [hit for hit in candidates.by_words if language in (ANY_LANGUAGE, hit.passage.language)]
    passages = [frozenset(hit.words.split()) for hit in hits]
    added = word_weights(candidates.added_words.get(language, ()), passages)
    own = word_weights(candidates.words[language], passages)
    return {word: ADDED_WORD_WEIGHT * weight for word, weight in added.items()} | own


def _move(vector: Any, towards: Any) -> Any:
    if towards is None:
        return vector
    moved = (1 - ADDED_VECTOR_WEIGHT) * vector + ADDED_VECTOR_WEIGHT * towards
    return moved / float(moved @ moved) ** 0.5


def _merge_hits(own: Sequence[Hit], added: Sequence[Hit]) -> list[Hit]:
    """Add the scores, each relative to the best of its list. Best first."""
    merged: dict[str, Hit] = {}
    for hits, weight in ((own, 1.0), (added, ADDED_WORD_WEIGHT)):
        best = max((hit.score for hit in hits), default=1.0) or 1.0
        for hit in hits:
            previous = merged[hit.passage.id].score if hit.passage.id in merged else 0.0
            merged[hit.passage.id] = replace(hit, score=previous + weight * hit.score / best)
    return sorted(merged.values(), key=lambda hit: (-hit.score, hit.passage.id))
