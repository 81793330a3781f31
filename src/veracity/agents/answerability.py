"""Does the evidence hold the answer? Decided by form alone, unless an embedder helps.

How well the best sentence fits the question, whether another document says the same or it stands out from all others,
whether its document is about the question, how relevant the evidence is and how near in meaning: a logistic curve makes
a chance of these. Its coefficients were fitted for each language (`python -m benchmarks.answering.calibration`).
Knows nothing about how an answer is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import NamedTuple

from veracity.agents.candidates import Candidate
from veracity.agents.keywords import Keyword
from veracity.embedding import Embedder
from veracity.language import Language
from veracity.models import Evidence

# One threshold for every language and kind of text.
ANSWERABLE = 0.5
BY_CHANCE = 0.5  # sentences of other documents fit less by so much, and it tells nothing
MANY = 3  # further passages of one document
LACKING = 0.25  # of a question: no more can be lacking
ONLY_ONE = 0.5  # what they count where there is no other document
FITTED_FOR = "bundled:all-MiniLM-L6-v2-int8"  # another model's similarities mean something else


class Signals(NamedTuple):
    """Each from 0 to 1. `meaning` is None where nothing is known of it."""

    fit: float
    agreement: float = 0.0  # how well another document fits that says the same
    distance: float = 0.0  # by how much the best document fits better than the second
    relevance: float = 0.0
    setting: float = 0.0  # how far the document as a whole is about the question
    lack: float = 0.0  # how far something else was found than what is asked for: annual leave, not paternity leave
    meaning: float | None = None


class Curve(NamedTuple):
    bias: float
    fit: float
    agreement: float
    distance: float
    relevance: float
    setting: float
    lack: float
    meaning: float = 0.0


# Only the Chinese questions at hand have several documents that hold the answer: elsewhere agreement could not be
# fitted. Relevance tells nothing there that the fit does not. What a lack costs was set by hand: few questions show it.
WITH_MEANING = Curve(-3.8, 0.5, 0.0, 8.0, 4.5, 0.0, -3.0, 3.9)
WORDS_ONLY = {
    "en": Curve(-2.7, 1.0, 0.0, 8.0, 6.2, 0.0, -3.0),
    "zh": Curve(-2.8, 3.2, 2.0, 5.0, 0.0, 3.6, -3.0),
    "ja": Curve(-4.3, 2.7, 0.0, 5.0, 3.9, 4.0, -3.0),
}


def chance(signals: Signals, language: Language) -> float:
    """That the evidence holds the answer."""
    curve = WITH_MEANING if signals.meaning is not None and language == "en" else WORDS_ONLY[language]
    total = curve.bias + sum(factor * (signal or 0.0) for factor, signal in zip(curve[1:], signals, strict=True))
    return 1 / (1 + exp(-total))


def signals_of(
    wanted: Sequence[Keyword],
    ranked: Sequence[Candidate],
    evidence: Sequence[Evidence],
    embedder: Embedder | None = None,
) -> Signals:
    """Of a question's words and at least one candidate; `embedder` is the one by which they were ranked."""
    best = max(ranked, key=lambda candidate: candidate.fit)
    documents = [item.document_id for item in evidence]
    own = documents[best.number]
    others = [one for one in ranked if documents[one.number] != own]
    is_known = embedder is not None and embedder.name == FITTED_FOR
    known = [one.meaning for one in ranked if is_known and one.meaning is not None]
    several = len(set(documents)) > 1
    return Signals(
        fit=best.fit,
        agreement=max((other.fit for other in others if other.answers & best.answers), default=0.0),
        distance=_distance(best, others) if several else 0.0,
        relevance=max(item.metadata.relevance_score for item in evidence),
        setting=_setting(wanted, ranked, documents, own),
        lack=_lack(wanted, best, ranked) if several else 0.0,
        meaning=max(known, default=None),
    )


def _distance(best: Candidate, others: Sequence[Candidate]) -> float:
    """By how much the best sentence fits better than any of another document, beyond what chance may bring about."""
    second = max((other.fit for other in others), default=0.0)
    return max(0.0, best.fit - second - BY_CHANCE)


def _setting(wanted: Sequence[Keyword], ranked: Sequence[Candidate], documents: Sequence[str], own: str) -> float:
    """The share of the question's words that the document's passages hold together, by how many of these were found:
    search comes back to a document that is about the question. It has no choice where there is but one."""
    held = frozenset[str]().union(*(one.held for one in ranked if documents[one.number] == own))
    share = sum(word.weight for word in wanted if word.key in held) / sum(word.weight for word in wanted)
    further = documents.count(own) - 1
    return share * min(1.0, further / MANY) * (ONLY_ONE if further + 1 == len(documents) else 1.0)


def _lack(wanted: Sequence[Keyword], best: Candidate, ranked: Sequence[Candidate]) -> float:
    """By words that stand nowhere, yet in the question right before one that was found: the more of the question they
    are, the more is lacking."""
    held = frozenset[str]().union(*(one.held for one in ranked))
    found = {word.start for word in wanted if word.key in best.held}
    lacking = [word for word in wanted if word.key not in held and word.weight >= 1]
    share = sum(word.weight for word in lacking if word.end + word.key.isascii() in found) / sum(
        word.weight for word in wanted
    )
    return min(1.0, share / LACKING)
