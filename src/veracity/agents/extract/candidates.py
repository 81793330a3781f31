"""Ranks the units of the evidence as answers to a question, by shared words and, if available, embeddings.

A unit is a sentence, a list item or a table row (`language/layout.py`). Its fit increases with the number of the
question's keywords in it, in the line that introduces it, its neighbours and its headings, and with their distance to
a span of the expected answer type. Headings and code are not candidates; headings add to the fit of what is below them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from veracity.agents.extract.answer_types import Kind, expected_kind, find_answers
from veracity.agents.extract.keywords import Keyword, Positions, extract_keywords, find_positions
from veracity.answer_reader import AnswerReader, Passage
from veracity.embedding import BUNDLED_NAME, Embedder
from veracity.language import Language, guess_language, normalized, tokens
from veracity.language.layout import Unit, unit_text, units_of
from veracity.models import Evidence

# Weight of a keyword by position: near an answer, in the unit, in the line that introduces it, in a neighbour,
# elsewhere in the passage.
NEAR_WEIGHT, UNIT_WEIGHT, LEAD_WEIGHT, NEIGHBOUR_WEIGHT, PASSAGE_WEIGHT = 1.0, 0.8, 0.7, 0.5, 0.3
# In the title or a heading. English titles weigh less, because they apply to the whole page.
HEADING_WEIGHT = {"en": 0.3, "zh": 0.8, "ja": 0.8}
# Of the passage, against the fit of the unit: its relevance, and its place in the evidence.
RELEVANCE_WEIGHT, ORDER_WEIGHT = 0.2, 0.2
# Of the answer reader's score, which is between about -10 and 6.
READING_WEIGHT = 0.12
NEAR_WORDS = 20
LETTERS_PER_WORD = {"en": 6, "zh": 2, "ja": 2}  # including the space
KIND_MISSING_FACTOR = 0.75
QUESTION_FACTOR = 0.8  # for a sentence that is a question
UBIQUITY_DISCOUNT = 0.3  # for a keyword in every passage
MAX_CENTRES = 60  # per unit; a unit with more is a list or hostile
MAX_EMBEDDED = 12  # units

ONLY_CHINESE = re.compile("[的了吗呢么谁哪们这吧没]|多少|几[天个年次]")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit that may answer. `number` is the index of the evidence, `place` the unit's index in it."""

    number: int
    place: int
    unit: Unit
    text: str  # on one line; a table row with the names of its columns
    fit: float
    answers: frozenset[str]  # parts of the unit of the expected kind
    keywords: frozenset[str]  # in the unit
    nearby_keywords: frozenset[str]  # in the unit, the line that introduces it, its neighbours or its headings
    relevance: float = 0.0  # of the passage
    meaning: float | None = None
    reading: float | None = None  # score of the answer reader

    @property
    def strength(self) -> float:
        """How well the unit itself matches."""
        return self.fit + (self.meaning or 0.0)

    @property
    def rank(self) -> float:
        return self.rank_by_rules + READING_WEIGHT * (self.reading or 0.0)

    @property
    def rank_by_rules(self) -> float:
        """Without the answer reader."""
        return self.strength + RELEVANCE_WEIGHT * self.relevance + ORDER_WEIGHT / (1 + self.number)


def detect_language(question: str, evidence: Sequence[Evidence]) -> Language:
    """The question's language. Without kana, it is Japanese if the evidence is, unless it has Chinese-only words."""
    language = guess_language(question)
    if language == "zh" and evidence and evidence[0].language == "ja" and not ONLY_CHINESE.search(question):
        return "ja"
    return language


def rank_candidates(
    question: str,
    evidence: Sequence[Evidence],
    embedder: Embedder | None = None,
    reader: AnswerReader | None = None,
) -> tuple[list[Keyword], list[Candidate]]:
    """Returns the question's keywords and the units that contain or adjoin any of them, best first. With a reader, also
    units with other words than the question."""
    language = detect_language(question, evidence)
    wanted = extract_keywords(question, language)
    passages = [_read_passage(item, wanted, language) for item in evidence]
    weights = _weigh(wanted, passages)
    scorer = _Scorer(normalized(question).lower(), expected_kind(question), language, weights, _token_set(question))
    candidates = [
        replace(candidate, relevance=item.metadata.relevance_score)
        for number, (item, passage) in enumerate(zip(evidence, passages, strict=True))
        for candidate in scorer.candidates(number, passage, all_units=reader is not None)
    ]
    ranked = sorted(candidates, key=lambda item: (-item.rank, item.number, item.place))
    ranked = _rank_by_meaning(ranked, question, embedder)
    return wanted, _rank_by_reading(ranked, question, evidence, reader)


class _Passage(NamedTuple):
    """Per unit: its text, normalized; the positions of keywords in it, and the keywords in its headings."""

    units: list[Unit]
    texts: list[str]
    plain: list[str]
    positions: list[Positions]
    above: list[frozenset[str]]

    @property
    def keywords(self) -> frozenset[str]:
        return frozenset().union(*self.above, *self.positions)

    def lead_keywords(self, place: int) -> frozenset[str]:
        """The keywords in the lines that introduce the unit."""
        lead, keys = self.units[place].lead, frozenset[str]()
        while lead >= 0:
            keys, lead = keys.union(self.positions[lead]), self.units[lead].lead
        return keys

    def keywords_around(self, place: int) -> frozenset[str]:
        """The keywords in a sentence of prose and its neighbours."""
        keys = frozenset(self.positions[place])
        if self.units[place].kind == "prose":
            for near in (place - 1, place + 1):
                if 0 <= near < len(self.units) and self.units[near].kind == "prose":
                    keys = keys.union(self.positions[near])
        return keys


def _read_passage(item: Evidence, wanted: Sequence[Keyword], language: Language) -> _Passage:
    units = units_of(item)
    texts = [unit_text(unit, units) for unit in units]
    plain = [normalized(text) for text in texts]
    positions = [find_positions(wanted, text, language) for text in plain]
    titles = " ".join((item.title, *item.headings))
    above = {
        text: frozenset(find_positions(wanted, normalized(f"{titles} {text}"), language))
        for text in {unit.heading for unit in units}
    }
    return _Passage(units, texts, plain, positions, [above[unit.heading] for unit in units])


def _weigh(wanted: Sequence[Keyword], passages: Sequence[_Passage]) -> dict[str, float]:
    """The weights of the keywords, lower for those in many passages."""
    counts = Counter(key for passage in passages for key in passage.keywords)
    total = max(1, len(passages))
    return {word.key: word.weight * (1 - UBIQUITY_DISCOUNT * counts[word.key] / total) for word in wanted}


@dataclass(frozen=True, slots=True)
class _Scorer:
    question: str  # normalized, in lower case
    kind: Kind
    language: Language
    weights: Mapping[str, float]
    question_tokens: frozenset[str]  # including common words

    def candidates(self, number: int, passage: _Passage, *, all_units: bool) -> list[Candidate]:
        in_passage = dict.fromkeys(passage.keywords, PASSAGE_WEIGHT)
        candidates = []
        for place, unit in enumerate(passage.units):
            around, inside, above = passage.keywords_around(place), passage.positions[place], passage.above[place]
            leads = passage.lead_keywords(place)
            nearby = around | above | leads
            if unit.states and (nearby or (all_units and self.weights)):
                levels = dict(in_passage)
                for keys, level in (
                    (above, HEADING_WEIGHT[self.language]),
                    (around, NEIGHBOUR_WEIGHT),
                    (leads, LEAD_WEIGHT),
                    (inside, UNIT_WEIGHT),
                ):
                    levels |= {key: max(level, levels[key]) for key in keys}
                fit, answers = self._fit(passage.plain[place], inside, levels)
                text, keywords = passage.texts[place], frozenset(inside)
                candidates.append(Candidate(number, place, unit, text, fit, answers, keywords, nearby))
        return candidates

    def _fit(self, plain: str, positions: Positions, levels: Mapping[str, float]) -> tuple[float, frozenset[str]]:
        answers = find_answers(plain, self.question, self.kind, self.language)
        spans = [span for span in answers if self._is_new(plain, span)]
        centres = [(start + end) // 2 for start, end in spans]
        if self.kind == "thing":
            centres = [at for starts in positions.values() for at in starts]
        totals = (self._total(positions, levels, centre) for centre in centres[:MAX_CENTRES])
        fit = max(totals, default=self._total(positions, levels))
        if self.kind != "thing" and not spans:
            fit *= KIND_MISSING_FACTOR
        if plain.endswith("?"):
            fit *= QUESTION_FACTOR
        return fit, frozenset(plain[start:end] for start, end in spans)

    def _total(self, positions: Positions, levels: Mapping[str, float], centre: int | None = None) -> float:
        """The weighted share of the keywords that occur; those near the centre count fully."""
        reach = NEAR_WORDS * LETTERS_PER_WORD[self.language]
        total = 0.0
        for key, level in levels.items():
            is_near = centre is not None and any(abs(at - centre) <= reach for at in positions.get(key, ()))
            total += self.weights[key] * (NEAR_WEIGHT if is_near else level)
        return total / sum(self.weights.values())

    def _is_new(self, plain: str, span: tuple[int, int]) -> bool:
        """Whether the span adds something to the question."""
        text = plain[span[0] : span[1]].lower()
        return text not in self.question and not _token_set(text) <= self.question_tokens


def _token_set(text: str) -> frozenset[str]:
    """Tokens with Han characters in pairs, because segmentation of a Chinese word varies between sentences."""
    return frozenset(tokens(text, "ja"))


def _rank_by_meaning(ranked: list[Candidate], question: str, embedder: Embedder | None) -> list[Candidate]:
    """Re-ranks the top candidates by fit plus similarity; the others keep their order.

    Not with the bundled embedder in Chinese and Japanese: there the similarity of single sentences does not tell which
    one answers (`python -m benchmarks.answers.calibration`).
    """
    head = ranked[:MAX_EMBEDDED]
    if embedder is None or not head or not embedder.covers(question):
        return ranked
    if embedder.name == BUNDLED_NAME and guess_language(question) != "en":
        return ranked
    scores = embedder.embed_passages([item.text for item in head]) @ embedder.embed_query(question)
    head = [replace(item, meaning=min(1.0, max(0.0, float(score)))) for item, score in zip(head, scores, strict=True)]
    return sorted(head, key=lambda item: -item.rank) + ranked[MAX_EMBEDDED:]


def _rank_by_reading(
    ranked: list[Candidate], question: str, evidence: Sequence[Evidence], reader: AnswerReader | None
) -> list[Candidate]:
    """Re-ranks by the rules' rank plus the reader's score."""
    if reader is None or not ranked:
        return ranked
    scores = reader.read(question, [Passage.of(item) for item in evidence])
    read = [replace(item, reading=scores[item.number][item.place]) for item in ranked]
    return sorted(read, key=lambda item: -item.rank)
