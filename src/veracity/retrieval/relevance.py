"""Relevance: the chance that a passage bears on a question, so that 0.6 means the same for any question and language.

Three signals, each from 0 to 1: how much of the question's words the passage holds, rare ones counting more; how near
the two are in meaning; and what share of the best passage's score it reached. A logistic curve makes a chance of them.
Its coefficients were fitted for each language on questions with known answers, asked once more with the answers hidden
(`python -m benchmarks.retrieval.calibration`). Knows nothing about where the passages come from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import exp
from typing import NamedTuple

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
