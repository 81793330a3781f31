"""Ranks the units of passages in another language than the question, by similarity in meaning.

A question and a passage in different languages share no words but names and numbers, so nothing else can be compared.
The quote stays in the language of its document.
"""

from __future__ import annotations

from collections.abc import Sequence

from veracity.agents.extract.candidates import Candidate
from veracity.embedding import Embedder
from veracity.language import possible_languages
from veracity.language.layout import unit_text, units_of
from veracity.models import Evidence

MAX_PASSAGES = 3  # whose units are compared
MAX_UNITS = 24
MAX_LESS_SIMILAR = 0.05  # than the best unit: no words show that a second one answers, too
# Relevance of the best unit's passage (`python -m benchmarks.cross_lingual_calibration`). The similarity of the unit
# itself adds nothing to it.
ANSWERS, CLEARLY_ANSWERS = 0.33, 0.45  # between them a person decides


def rank_other_languages(question: str, evidence: Sequence[Evidence], embedder: Embedder | None) -> list[Candidate]:
    """The units of the best passages in other languages that are about as similar as the best one, best first.

    None without an embedder for the question.
    """
    own = possible_languages(question)
    numbers = [number for number, item in enumerate(evidence) if item.language not in own][:MAX_PASSAGES]
    if embedder is None or not numbers or not embedder.covers(question):
        return []
    units = [
        (number, place, unit, unit_text(unit, all_units))
        for number in numbers
        for all_units in (units_of(evidence[number]),)
        for place, unit in enumerate(all_units)
        if unit.states
    ][:MAX_UNITS]
    if not units:
        return []
    scores = embedder.embed_passages([text for *_, text in units]) @ embedder.embed_query(question)
    empty = frozenset[str]()
    candidates = [
        Candidate(
            number,
            place,
            unit,
            text,
            fit=0.0,
            answers=empty,
            keywords=empty,
            nearby_keywords=empty,
            relevance=evidence[number].metadata.relevance_score,
            meaning=min(1.0, max(0.0, float(score))),
        )
        for (number, place, unit, text), score in zip(units, scores, strict=True)
    ]
    candidates.sort(key=lambda item: (-item.rank, item.number, item.place))
    least = (candidates[0].meaning or 0.0) - MAX_LESS_SIMILAR
    return [item for item in candidates if (item.meaning or 0.0) >= least]
