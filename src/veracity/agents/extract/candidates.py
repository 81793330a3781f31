"""Ranks the sentences of the evidence as answers to a question, by shared words and, if available, embeddings.

The fit of a sentence increases with the number of the question's keywords in it, its neighbours and its headings, and
with their distance to a span of the expected answer type. Headings are not candidates; they add to the fit of the
sentences below them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from veracity.agents.extract.answer_types import Kind, expected_kind, find_answers
from veracity.agents.extract.keywords import Keyword, Positions, extract_keywords, find_positions
from veracity.embedding import Embedder
from veracity.language import Language, Sentence, guess_language, normalized, sentences, tokens
from veracity.models import Evidence

# Weight of a keyword by position: near an answer, in the sentence, in a neighbour, elsewhere in the passage.
NEAR_WEIGHT, SENTENCE_WEIGHT, NEIGHBOUR_WEIGHT, PASSAGE_WEIGHT = 1.0, 0.8, 0.5, 0.3
# In the title or a heading. English titles weigh less, because they apply to the whole page.
HEADING_WEIGHT = {"en": 0.3, "zh": 0.8, "ja": 0.8}
NEAR_WORDS = 20
LETTERS_PER_WORD = {"en": 6, "zh": 2, "ja": 2}  # including the space
KIND_MISSING_FACTOR = 0.75
REPETITION_FACTOR = 0.8  # for a sentence that repeats the question or is a question
UBIQUITY_DISCOUNT = 0.3  # for a keyword in every passage
MAX_CENTRES = 60  # per sentence; a sentence with more is a list or hostile
MAX_EMBEDDED = 12  # sentences
MAX_HEADING_LENGTH = 60  # characters of an unmarked heading

ONLY_CHINESE = re.compile("[的了吗呢么谁哪们这吧没]|多少|几[天个年次]")
ENTRY = re.compile(r"\||[-*•・+]\s")
RULE_CHARACTERS = frozenset("|:+=- \t")
STOPS = tuple('.!?。！？)）」』”"')
MARKED_HEADING = re.compile(r"#{1,6}\s|\*\*[^*\n]{1,200}\*\*:?$|<h\d")
# Lines that end a sentence, start an item, assign a value or contain table cells.
NO_HEADING = re.compile(r"[.!?。！？,，、;；:：|]$|^[-*•・+>|\d(（]|[:：|=]\s*\S|[。；]")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer. `number` is the index of the evidence, `place` the sentence's index in it."""

    number: int
    place: int
    sentence: Sentence
    fit: float
    answers: frozenset[str]  # parts of the sentence of the expected kind
    keywords: frozenset[str]  # in the sentence
    nearby_keywords: frozenset[str]  # in the sentence, its neighbours or its headings
    meaning: float | None = None

    @property
    def rank(self) -> float:
        return self.fit + (self.meaning or 0.0)


class PlacedSentence(NamedTuple):
    sentence: Sentence
    states: bool  # false for headings, table heads and rules
    is_entry: bool  # of a table or a list, whose neighbours are unrelated
    above: str  # the nearest heading and the table head


def detect_language(question: str, evidence: Sequence[Evidence]) -> Language:
    """The question's language. Without kana, it is Japanese if the evidence is, unless it has Chinese-only words."""
    language = guess_language(question)
    if language == "zh" and evidence and evidence[0].language == "ja" and not ONLY_CHINESE.search(question):
        return "ja"
    return language


def rank_candidates(
    question: str, evidence: Sequence[Evidence], embedder: Embedder | None = None
) -> tuple[list[Keyword], list[Candidate]]:
    """Returns the question's keywords and the sentences that contain or adjoin any of them, best first."""
    language = detect_language(question, evidence)
    wanted = extract_keywords(question, language)
    passages = [_read_passage(item, wanted, language) for item in evidence]
    weights = _weigh(wanted, passages)
    scorer = _Scorer(normalized(question).lower(), expected_kind(question), language, weights, _token_set(question))
    candidates = [item for number, passage in enumerate(passages) for item in scorer.candidates(number, passage)]
    ranked = sorted(candidates, key=lambda item: (-item.fit, item.number, item.place))
    return wanted, _rank_by_meaning(ranked, question, embedder)


def lay_out(item: Evidence) -> list[PlacedSentence]:
    """The sentences of a passage in order, including headings."""
    lines = item.text.splitlines(keepends=True)
    names = {name.strip() for name in (item.title, *item.headings)} - {""}
    heading = table_head = ""
    placed = []
    for index, (line, line_sentences) in enumerate(zip(lines, _split_by_line(item.text, lines), strict=True)):
        bare = line.strip()
        states = False
        if bare.startswith("|") and _is_rule(_line(lines, index + 1)):
            table_head = bare
        elif _is_heading(lines, index, names):
            heading, table_head = bare, ""
        elif not _is_rule(bare):
            states, table_head = True, table_head if bare.startswith("|") else ""
        above = f"{heading} {table_head}" if states else ""
        is_entry = ENTRY.match(bare) is not None
        placed += [PlacedSentence(sentence, states, is_entry, above) for sentence in line_sentences]
    return placed


def _split_by_line(text: str, lines: Sequence[str]) -> Iterator[list[Sentence]]:
    """The sentences of each line. No sentence spans two lines."""
    split, index, end = sentences(text), 0, 0
    for line in lines:
        end += len(line)
        first = index
        while index < len(split) and split[index].start < end:
            index += 1
        yield split[first:index]


def _is_heading(lines: Sequence[str], index: int, names: set[str]) -> bool:
    """Whether the line is marked or known as a heading, or is short, without punctuation, after an empty line."""
    bare = lines[index].strip()
    if MARKED_HEADING.match(bare) or bare in names:
        return True
    if not bare or len(bare) > MAX_HEADING_LENGTH or _line(lines, index - 1) or NO_HEADING.search(bare):
        return False
    below = _line(lines, index + 1) or _line(lines, index + 2)
    return len(below) > len(bare) and below.endswith(STOPS)


def _is_rule(bare: str) -> bool:
    return "--" in bare and RULE_CHARACTERS.issuperset(bare)


def _line(lines: Sequence[str], index: int) -> str:
    return lines[index].strip() if 0 <= index < len(lines) else ""


class _Passage(NamedTuple):
    """Per sentence: its normalized text, the positions of keywords in it, and the keywords in its headings."""

    sentences: list[PlacedSentence]
    plain: list[str]
    positions: list[Positions]
    above: list[frozenset[str]]

    @property
    def keywords(self) -> frozenset[str]:
        return frozenset().union(*self.above, *self.positions)

    def keywords_around(self, place: int) -> frozenset[str]:
        """The keywords in a sentence and its neighbours."""
        keys = frozenset(self.positions[place])
        if not self.sentences[place].is_entry:
            for near in (place - 1, place + 1):
                if 0 <= near < len(self.sentences) and self.sentences[near].states:
                    keys = keys.union(self.positions[near])
        return keys


def _read_passage(item: Evidence, wanted: Sequence[Keyword], language: Language) -> _Passage:
    placed = lay_out(item)
    plain = [normalized(sentence.sentence.text) for sentence in placed]
    positions = [find_positions(wanted, text, language) for text in plain]
    titles = " ".join((item.title, *item.headings))
    above = {
        text: frozenset(find_positions(wanted, normalized(f"{titles} {text}"), language))
        for text in {sentence.above for sentence in placed}
    }
    return _Passage(placed, plain, positions, [above[sentence.above] for sentence in placed])


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

    def candidates(self, number: int, passage: _Passage) -> list[Candidate]:
        in_passage = dict.fromkeys(passage.keywords, PASSAGE_WEIGHT)
        candidates = []
        for place, placed in enumerate(passage.sentences):
            around, inside, above = passage.keywords_around(place), passage.positions[place], passage.above[place]
            if placed.states and around | above:
                levels = dict(in_passage)
                for keys, level in (
                    (above, HEADING_WEIGHT[self.language]),
                    (around, NEIGHBOUR_WEIGHT),
                    (inside, SENTENCE_WEIGHT),
                ):
                    levels |= {key: max(level, levels[key]) for key in keys}
                fit, answers = self._fit(passage.plain[place], inside, levels)
                nearby = around | above
                candidates.append(Candidate(number, place, placed.sentence, fit, answers, frozenset(inside), nearby))
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
        if plain.endswith("?") or (not spans and self._repeats_question(plain)):
            fit *= REPETITION_FACTOR
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

    def _repeats_question(self, plain: str) -> bool:
        is_short = (
            len(plain) < 2 * len(self.question) + 20
        )  # a longer sentence is not a repetition, and slow to tokenize
        return is_short and len(_token_set(plain) - self.question_tokens) < 3


def _token_set(text: str) -> frozenset[str]:
    """Tokens with Han characters in pairs, because segmentation of a Chinese word varies between sentences."""
    return frozenset(tokens(text, "ja"))


def _rank_by_meaning(ranked: list[Candidate], question: str, embedder: Embedder | None) -> list[Candidate]:
    """Re-ranks the top candidates by fit plus similarity; the others keep their order."""
    head = ranked[:MAX_EMBEDDED]
    if embedder is None or not head or not embedder.covers(question):
        return ranked
    scores = embedder.embed_passages([item.sentence.text for item in head]) @ embedder.embed_query(question)
    head = [replace(item, meaning=min(1.0, max(0.0, float(score)))) for item, score in zip(head, scores, strict=True)]
    return sorted(head, key=lambda item: -item.rank) + ranked[MAX_EMBEDDED:]
