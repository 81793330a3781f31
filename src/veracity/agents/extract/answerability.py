"""Estimates whether the evidence contains the answer, and whether the chosen sentence is it, from words and models.

A logistic curve combines these signals: how well the best sentence matches the question, whether another document
agrees with it, its rank and its lead over the sentences of other documents, how well its document matches the topic,
the relevance of the evidence and its similarity in meaning. These coefficients were fitted per language
(`python -m benchmarks.answers.calibration`); those of the answer reader's scores, which are added, were set by hand.
Passages about another subject than the question's are excluded, however well their words match.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import NamedTuple

from veracity.agents.extract.candidates import Candidate
from veracity.agents.extract.keywords import Keyword
from veracity.embedding import BUNDLED_NAME, Embedder
from veracity.language import Language
from veracity.language.names import Name, names_in, other_names
from veracity.models import Evidence

# From this probability on something is shown; below the clear threshold a passage, on which a person decides.
ANSWERABLE_THRESHOLD = 0.5
# Without a reader. A compromise between right answers that wait and unfounded ones that are released (`python -m
# benchmarks.answers`).
CLEAR_THRESHOLD: dict[Language, float] = {"en": 0.66, "zh": 0.64, "ja": 0.66}
MAX_FURTHER_PASSAGES = 3  # further passages of a document, beyond which its topic match does not increase
MAX_MISMATCH_SHARE = 0.25  # share of the question's words at which the subject mismatch is 1
MIN_RELATIVE_RANK = 0.9  # for a candidate that replaces a better one about another subject
SINGLE_DOCUMENT_FACTOR = 0.5
MAX_RULES = 1.0  # log-odds: shared words make up for a low score of the reader up to a limit
# Of the subject mismatch, in the log-odds that an answer is clear. With several documents the rules count it, too.
MISMATCH_FACTOR = 3.0


class Signals(NamedTuple):
    """Each signal is between 0 and 1, besides `rank`, `lead` and those of the answer reader, which are log-odds.
    `meaning` is None without an embedder."""

    fit: float
    agreement: float = 0.0  # fit of another document with the same answer
    relevance: float = 0.0
    topic_match: float = 0.0  # of the whole document
    subject_mismatch: float = 0.0  # annual leave instead of paternity leave; 0 with a single document
    rank: float = 0.0  # of the best candidate
    lead: float = 0.0  # in rank, over the best candidate of another document
    meaning: float | None = None
    best_reading: float | None = None  # the answer reader's best score of a sentence
    chosen_reading: float | None = None  # that the first candidate answers, and not another one or none
    chosen_mismatch: float = 0.0  # subject mismatch of the first candidate, also with a single document


class Curve(NamedTuple):
    bias: float
    fit: float
    agreement: float
    relevance: float
    topic_match: float
    subject_mismatch: float
    rank: float
    lead: float
    meaning: float = 0.0


class ReadingCurve(NamedTuple):
    """Coefficients of the log-odds with the answer reader: of the rules' log-odds, and of the reader's best score.

    The first candidate is clear if `clear_rules` times the rules' log-odds plus its reading, less its subject mismatch,
    is at least `clear`."""

    bias: float
    rules: float
    reading: float
    clear_rules: float
    clear: float


# Only Chinese question sets have several documents with the same answer, so `agreement` was fitted for Chinese only.
# `subject_mismatch` was set by hand: it occurs in few questions.
WITH_MEANING = Curve(-4.1, 0.45, 0.0, 2.9, 0.0, -4.0, 0.85, 0.4, 2.8)
WORDS_ONLY = {
    "en": Curve(-2.6, 1.4, 0.0, 0.9, 0.0, -4.0, 1.3, 1.15),
    "zh": Curve(-3.65, 1.1, 1.3, 1.3, 3.1, -3.0, 1.5, 0.9),
    "ja": Curve(-5.4, 1.9, 0.0, 2.1, 3.2, -3.0, 1.8, 2.4),
}
# Set by hand, a compromise between six question sets and the development parts of the real documents (ADR 50,
# `python -m benchmarks.answers`, `python -m benchmarks.real_documents`).
READING = {
    "en": ReadingCurve(1.0, 0.4, 0.4, 1.5, -1.0),
    "zh": ReadingCurve(0.3, 0.6, 0.4, 2.0, 0.25),
    "ja": ReadingCurve(0.6, 0.2, 0.4, 0.5, -0.5),
}


def answer_probability(signals: Signals, language: Language) -> float:
    """The probability that the evidence answers the question."""
    odds = rules_log_odds(signals, language)
    if signals.best_reading is not None:
        curve = READING[language]
        odds = curve.bias + curve.rules * min(odds, MAX_RULES) + curve.reading * signals.best_reading
    return 1 / (1 + exp(-odds))


def is_clear(signals: Signals, language: Language) -> bool:
    """Whether the first candidate answers clearly enough to be released. Otherwise a person decides."""
    if signals.chosen_reading is None:
        return answer_probability(signals, language) >= CLEAR_THRESHOLD[language]
    curve = READING[language]
    rules = min(rules_log_odds(signals, language), MAX_RULES)
    odds = curve.clear_rules * rules + signals.chosen_reading - MISMATCH_FACTOR * signals.chosen_mismatch
    return odds >= curve.clear


def rules_log_odds(signals: Signals, language: Language) -> float:
    """Without the answer reader."""
    curve = WITH_MEANING if signals.meaning is not None and language == "en" else WORDS_ONLY[language]
    by_rules = signals[: len(curve) - 1]  # those after them are the reader's
    return curve.bias + sum(factor * (signal or 0.0) for factor, signal in zip(curve[1:], by_rules, strict=True))


def compute_signals(
    wanted: Sequence[Keyword],
    ranked: Sequence[Candidate],
    evidence: Sequence[Evidence],
    embedder: Embedder | None = None,
    chosen: Sequence[Candidate] = (),
) -> Signals:
    """Computes the signals. `ranked` must not be empty; `embedder` is the embedder that ranked it.

    `chosen` are the candidates that may be quoted, by default all. The lead is measured against all candidates. If the
    best candidate is not in `chosen`, agreement and topic match are computed from `chosen` alone."""
    chosen = chosen or ranked
    best = max(chosen, key=lambda candidate: candidate.fit)
    considered = ranked if chosen[0] == ranked[0] else chosen
    documents = [item.document_id for item in evidence]
    best_document = documents[best.number]
    agreeing = (item for item in considered if documents[item.number] != best_document and item.answers & best.answers)
    is_fitted = embedder is not None and embedder.name == BUNDLED_NAME  # other models' similarities have another scale
    meanings = [item.meaning for item in chosen if is_fitted and item.meaning is not None]
    language = evidence[best.number].language
    return Signals(
        fit=best.fit,
        agreement=max((item.fit for item in agreeing), default=0),
        relevance=max(item.metadata.relevance_score for item in evidence if item.language == language),
        topic_match=_topic_match(wanted, considered, documents, best_document),
        subject_mismatch=_subject_mismatch(wanted, best, ranked) if len(set(documents)) > 1 else 0.0,
        rank=_rank(chosen[0], is_fitted),
        lead=_lead(chosen[0], ranked, documents, is_fitted),
        meaning=max(meanings, default=None),
        best_reading=max((item.reading for item in chosen if item.reading is not None), default=None),
        chosen_reading=_chosen_reading(chosen[0], ranked),
        chosen_mismatch=_subject_mismatch(wanted, chosen[0], ranked),
    )


def find_other_subjects(question: str, evidence: Sequence[Evidence]) -> dict[int, list[Name]]:
    """Finds the passages about another subject than the question's; returns their missing names by index.

    A passage is about another subject if its title or headings name another subject, or if the names of the question
    occur in other documents only. A name that occurs in no passage is ignored."""
    names = names_in(question)
    if not names:
        return {}
    missing_names = [[name for name in names if not _has_name(item, name, evidence)] for item in evidence]
    others = {}
    for index, (item, missing) in enumerate(zip(evidence, missing_names, strict=True)):
        elsewhere = [name for name in missing if any(name not in other for other in missing_names)]
        origin = f"{_headings(item)}\n{_origin(item)}"
        if missing and other_names(_headings(item), names) and not any(name.is_mentioned_in(origin) for name in names):
            others[index] = missing
        elif elsewhere and len(missing) == len(names):
            others[index] = elsewhere
    return others


def keep_right_subject(question: str, ranked: Sequence[Candidate], evidence: Sequence[Evidence]) -> list[Candidate]:
    """Drops the candidates from passages about another subject.

    If the best candidate is dropped, only candidates that contain its missing names and rank nearly as high can
    replace it: a sentence about the opening of an office does not answer a question about its hours."""
    others = find_other_subjects(question, evidence)
    kept = [item for item in ranked if item.number not in others]
    if len(kept) == len(ranked) or ranked[0].number not in others:
        return kept
    best, missing = ranked[0], others[ranked[0].number]
    kept = [item for item in kept if item.rank >= best.rank * MIN_RELATIVE_RANK]
    return [item for item in kept if all(_has_name(evidence[item.number], name, evidence) for name in missing)]


def _rank(item: Candidate, is_fitted: bool) -> float:
    """By the rules. Without the similarity of a model whose scale is unknown."""
    return item.rank_by_rules if is_fitted else item.rank_by_rules - (item.meaning or 0.0)


def _lead(best: Candidate, ranked: Sequence[Candidate], documents: Sequence[str], is_fitted: bool) -> float:
    """The lead in rank over the best sentence of another document, or its whole rank if there is none."""
    others = (item for item in ranked if documents[item.number] != documents[best.number])
    return _rank(best, is_fitted) - max((_rank(item, is_fitted) for item in others), default=0.0)


def _chosen_reading(best: Candidate, ranked: Sequence[Candidate]) -> float | None:
    """The log-odds by one softmax over all candidates and "none", as the reader was trained. Candidates with the same
    text or answer do not count against the best one."""
    if best.reading is None:
        return None
    others = (item for item in ranked if item.text != best.text and not item.answers & best.answers)
    return best.reading - log(1 + sum(exp(item.reading) for item in others if item.reading is not None))


def _topic_match(
    wanted: Sequence[Keyword], candidates: Sequence[Candidate], documents: Sequence[str], document: str
) -> float:
    """The share of the keywords in the document's passages, scaled by their number: search returns more passages of a
    document that matches the topic. Halved if all passages come from a single document."""
    present = frozenset[str]().union(
        *(item.nearby_keywords for item in candidates if documents[item.number] == document)
    )
    share = sum(word.weight for word in wanted if word.key in present) / sum(word.weight for word in wanted)
    further = documents.count(document) - 1
    factor = SINGLE_DOCUMENT_FACTOR if further + 1 == len(documents) else 1.0
    return share * min(1.0, further / MAX_FURTHER_PASSAGES) * factor


def _subject_mismatch(wanted: Sequence[Keyword], best: Candidate, ranked: Sequence[Candidate]) -> float:
    """The share of keywords that no candidate has and that, in the question, directly precede one that the best has:
    "paternity" in "paternity leave", if the evidence is about annual leave."""
    present = frozenset[str]().union(*(item.nearby_keywords for item in ranked))
    starts = {word.start for word in wanted if word.key in best.nearby_keywords}
    missing = [word for word in wanted if word.key not in present and word.weight >= 1]
    weight = sum(word.weight for word in missing if word.end + word.key.isascii() in starts)
    return min(1.0, weight / sum(word.weight for word in wanted) / MAX_MISMATCH_SHARE)


def _headings(item: Evidence) -> str:
    return "\n".join(dict.fromkeys((item.title, *item.headings)))


def _origin(item: Evidence) -> str:
    return f"{item.location}\n{item.document_id}"


def _has_name(item: Evidence, name: Name, evidence: Sequence[Evidence]) -> bool:
    """Whether the passage's text, headings or origin contain the name. Other passages of the document count too, unless
    this one names another subject."""
    if name.is_mentioned_in(f"{_headings(item)}\n{item.text}\n{_origin(item)}"):
        return True
    if other_names(_headings(item) if name.text.isascii() else f"{_headings(item)}\n{item.text}", [name]):
        return False
    return any(name.is_mentioned_in(other.text) for other in evidence if other.document_id == item.document_id)
