"""Does the evidence hold the answer? Decided by form alone, unless an embedder helps.

How well the best sentence fits the question, whether another document says the same or it stands out from all others,
how relevant the evidence is and how near in meaning: a logistic curve makes a chance of these. Its coefficients were
fitted for each language (`python -m benchmarks.answering.calibration`). Knows nothing about how an answer is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import NamedTuple

from veracity.agents.candidates import Candidate
from veracity.embedding import Embedder
from veracity.language import Language
from veracity.models import Evidence

# One threshold for every language and kind of text.
ANSWERABLE = 0.5
BY_CHANCE = 0.3  # sentences of other documents fit less by so much, and it tells nothing
FITTED_FOR = "bundled:all-MiniLM-L6-v2-int8"  # another model's similarities mean something else


class Signals(NamedTuple):
    """Each from 0 to 1. `meaning` is None where nothing is known of it."""

    fit: float
    agreement: float  # how well another document fits that says the same
    distance: float  # by how much the best document fits better than the second
    relevance: float
    meaning: float | None = None


class Curve(NamedTuple):
    bias: float
    fit: float
    agreement: float
    distance: float
    relevance: float
    meaning: float = 0.0


# Only the Chinese questions at hand have several documents that hold the answer: elsewhere agreement could not be
# fitted. Relevance tells nothing there that the fit does not; the passages around its answers all bear on the question,
# which is why its curve asks for more.
WITH_MEANING = Curve(-4.0, 0.5, 0.0, 6.0, 4.5, 3.9)
WORDS_ONLY = {
    "en": Curve(-2.7, 1.0, 0.0, 6.0, 6.2),
    "zh": Curve(-2.95, 3.3, 1.9, 2.5, 0.0),
    "ja": Curve(-4.1, 2.55, 0.0, 6.0, 3.7),
}


def chance(signals: Signals, language: Language) -> float:
    """That the evidence holds the answer."""
    curve = WITH_MEANING if signals.meaning is not None and language == "en" else WORDS_ONLY[language]
    total = curve.bias + sum(factor * (signal or 0.0) for factor, signal in zip(curve[1:], signals, strict=True))
    return 1 / (1 + exp(-total))


def signals_of(ranked: Sequence[Candidate], evidence: Sequence[Evidence], embedder: Embedder | None = None) -> Signals:
    """Of at least one candidate; `embedder` is the one by which they were ranked."""
    best = max(ranked, key=lambda candidate: candidate.fit)
    relevance = max(item.metadata.relevance_score for item in evidence)
    is_known = embedder is not None and embedder.name == FITTED_FOR
    known = [one.meaning for one in ranked if is_known and one.meaning is not None]
    agreement = _agreement(best, ranked, evidence)
    return Signals(best.fit, agreement, _distance(best, ranked, evidence), relevance, max(known, default=None))


def _agreement(best: Candidate, ranked: Sequence[Candidate], evidence: Sequence[Evidence]) -> float:
    """How well the best sentence of another document fits that says the same."""
    own = evidence[best.number].document_id
    others = (one for one in ranked if one.answers & best.answers and evidence[one.number].document_id != own)
    return max((other.fit for other in others), default=0.0)


def _distance(best: Candidate, ranked: Sequence[Candidate], evidence: Sequence[Evidence]) -> float:
    """By how much the best sentence fits better than any of another document, beyond what chance may bring about.
    Nothing stands out where there is but one document."""
    own = evidence[best.number].document_id
    if all(item.document_id == own for item in evidence):
        return 0.0
    second = max((one.fit for one in ranked if evidence[one.number].document_id != own), default=0.0)
    return max(0.0, best.fit - second - BY_CHANCE)
