"""Does the evidence hold the answer? Decided by form alone, unless an embedder helps.

How well the best sentence fits the question, whether another document says the same or it stands out from all others,
whether its document is about the question, how relevant the evidence is and how near in meaning: a logistic curve makes
a chance of these. Its coefficients were fitted for each language (`python -m benchmarks.answering.calibration`).
A passage on another office than the one that is asked about holds no answer, however well its words fit.
Knows nothing about how an answer is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import NamedTuple

from veracity.agents.extract.candidates import Candidate
from veracity.agents.extract.keywords import Keyword
from veracity.embedding import Embedder
from veracity.language import Language
from veracity.language.names import Name, names_in, other_names
from veracity.models import Evidence

# One threshold for every language and kind of text.
ANSWERABLE = 0.5
BY_CHANCE = 0.5  # sentences of other documents fit less by so much, and it tells nothing
MANY = 3  # further passages of one document
LACKING = 0.25  # of a question: no more can be lacking
NEARLY = 0.9  # of the rank of what cannot be chosen
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
    chosen: Sequence[Candidate] = (),
) -> Signals:
    """Of a question's words and at least one candidate; `embedder` is the one by which they were ranked. `chosen` are
    those that may be said, where not all may: the others still tell whether these stand out. Where the best is not
    among them, what takes its place must be about the question by itself."""
    chosen = chosen or ranked
    best = max(chosen, key=lambda candidate: candidate.fit)
    around = ranked if chosen[0] == ranked[0] else chosen
    documents = [item.document_id for item in evidence]
    own = documents[best.number]
    others = [one for one in ranked if documents[one.number] != own]
    is_known = embedder is not None and embedder.name == FITTED_FOR
    known = [one.meaning for one in chosen if is_known and one.meaning is not None]
    several = len(set(documents)) > 1
    return Signals(
        fit=best.fit,
        agreement=max(
            (one.fit for one in around if documents[one.number] != own and one.answers & best.answers), default=0
        ),
        distance=_distance(best, others) if several else 0.0,
        relevance=max(item.metadata.relevance_score for item in evidence),
        setting=_setting(wanted, around, documents, own),
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


# --- of what a passage speaks ---------------------------------------------------------------------------------------


def of_something_else(question: str, evidence: Sequence[Evidence]) -> dict[int, list[Name]]:
    """By their numbers, passages on something else than the question names, and the names that they lack: the title or
    a heading names another, or a passage of another document has the name. What nobody names is no sign of either."""
    asked = names_in(question)
    lacked = [[name for name in asked if not _vouches(item, name, evidence)] for item in evidence] if asked else []
    found = {}
    for number, lacks in enumerate(lacked):
        item = evidence[number]
        elsewhere = [name for name in lacks if any(name not in others for others in lacked)]
        headed = f"{_above(item)}\n{_origin(item)}"
        if lacks and other_names(_above(item), asked) and not any(name.stands_in(headed) for name in asked):
            found[number] = lacks
        elif elsewhere and len(lacks) == len(asked):
            found[number] = elsewhere
    return found


def of_the_right_thing(question: str, ranked: Sequence[Candidate], evidence: Sequence[Evidence]) -> list[Candidate]:
    """Without candidates of passages on something else. Where the best is one of these, only what has the names that
    it lacks can take its place, and fits nearly as well: that an office opened says nothing about its hours."""
    others = of_something_else(question, evidence)
    kept = [one for one in ranked if one.number not in others]
    if len(kept) == len(ranked) or ranked[0].number not in others:
        return kept
    best, lacked = ranked[0], others[ranked[0].number]
    kept = [one for one in kept if one.rank >= best.rank * NEARLY]
    return [one for one in kept if all(_vouches(evidence[one.number], name, evidence) for name in lacked)]


def _above(item: Evidence) -> str:
    return "\n".join(dict.fromkeys((item.title, *item.headings)))


def _origin(item: Evidence) -> str:
    return f"{item.location}\n{item.document_id}"


def _vouches(item: Evidence, name: Name, evidence: Sequence[Evidence]) -> bool:
    """By its text or what stands above it, or where it came from. By other passages of its document as well, unless it
    names another place itself."""
    if name.stands_in(f"{_above(item)}\n{item.text}\n{_origin(item)}"):
        return True
    if other_names(_above(item) if name.text.isascii() else f"{_above(item)}\n{item.text}", [name]):
        return False
    return any(name.stands_in(one.text) for one in evidence if one.document_id == item.document_id)
