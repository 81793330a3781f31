"""Which sentences of the evidence may answer a question, the best first. By form alone, unless an embedder helps.

A sentence fits the better, the more words of the question stand in it, around it or above it, and near to something of
the kind that the question expects. Headings are no sentences: they only help those below them. Knows nothing about
whether the best fits well enough.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from veracity.agents.extract.answer_types import Kind, answers_in, kind_expected
from veracity.agents.extract.keywords import Keyword, Places, keywords, places_of
from veracity.embedding import Embedder
from veracity.language import Language, Sentence, guess_language, normalized, sentences, tokens
from veracity.models import Evidence

LONGEST_HEADING = 60  # characters of a line that is a heading by its place alone


class Placed(NamedTuple):
    sentence: Sentence
    states: bool  # headings, heads of tables and rules say nothing of their own
    is_entry: bool  # of a table or a list: its neighbours say nothing about it
    above: str  # the heading nearest above it, and the head of its table


def laid_out(item: Evidence) -> list[Placed]:
    """The sentences of the passage in order, headings among them."""
    lines = item.text.splitlines(keepends=True)
    names = {name.strip() for name in (item.title, *item.headings)} - {""}
    heading = head = ""
    found = []
    for place, (line, within) in enumerate(zip(lines, _within(item.text, lines), strict=True)):
        bare = line.strip()
        states = False
        if bare.startswith("|") and _is_rule(_at(lines, place + 1)):
            head = bare
        elif _is_heading(lines, place, names):
            heading, head = bare, ""
        elif not _is_rule(bare):
            states, head = True, head if bare.startswith("|") else ""
        above = f"{heading} {head}" if states else ""
        found += [Placed(one, states, ENTRY.match(bare) is not None, above) for one in within]
    return found


def _within(text: str, lines: Sequence[str]) -> Iterator[list[Sentence]]:
    """The sentences of each line: none reaches over its end."""
    found, at, end = sentences(text), 0, 0
    for line in lines:
        end += len(line)
        first = at
        while at < len(found) and found[at].start < end:
            at += 1
        yield found[first:at]


def _is_heading(lines: Sequence[str], place: int, names: set[str]) -> bool:
    """Marked as one, or known as one, or a short line without a stop after an empty line, and text right below."""
    bare = lines[place].strip()
    if MARKED.match(bare) or bare in names:
        return True
    if not bare or len(bare) > LONGEST_HEADING or _at(lines, place - 1) or NO_HEADING.search(bare):
        return False
    below = _at(lines, place + 1) or _at(lines, place + 2)
    return len(below) > len(bare) and below.endswith(STOPS)


def _is_rule(bare: str) -> bool:
    return "--" in bare and RULED.issuperset(bare)


def _at(lines: Sequence[str], place: int) -> str:
    return lines[place].strip() if 0 <= place < len(lines) else ""


ENTRY = re.compile(r"\||[-*•・+]\s")
RULED = frozenset("|:+=- \t")
STOPS = tuple('.!?。！？)）」』”"')
MARKED = re.compile(r"#{1,6}\s|\*\*[^*\n]{1,200}\*\*:?$|<h\d")
# A line that ends a sentence, starts an item, names a value or holds cells is none.
NO_HEADING = re.compile(r"[.!?。！？,，、;；:：|]$|^[-*•・+>|\d(（]|[:：|=]\s*\S|[。；]")


# What a word of the question counts where it stands: near an answer, in the sentence, in the next one, in the passage.
NEAR, SAME, NEXT, PASSAGE = 1.0, 0.8, 0.5, 0.3
# … and in the title or a heading above. An English title names what the whole page is about, right or wrong.
ABOVE = {"en": 0.3, "zh": 0.8, "ja": 0.8}
NEAR_WORDS = 20
LETTERS = {"en": 6, "zh": 2, "ja": 2}  # of a word, with the space after it
KIND_MISSING = 0.75
SAYS_LITTLE = 0.8  # repeats the question, or is one
EVERYWHERE = 0.3  # what a word loses that every passage holds
MOST_CENTRES = 60  # of one sentence: a longer one is a list, or hostile
COMPARED = 12  # sentences whose meaning is looked at
ONLY_CHINESE = re.compile("[的了吗呢么谁哪们这吧没]|多少|几[天个年次]")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of the evidence that may answer: `number` counts the evidence from 0, `place` its sentences."""

    number: int
    place: int
    sentence: Sentence
    fit: float
    answers: frozenset[str]  # what it says of the kind that is asked for
    own: frozenset[str]  # keys of the question that it holds
    held: frozenset[str]  # those that it, its neighbours or the headings above hold
    meaning: float | None = None

    @property
    def rank(self) -> float:
        return self.fit + (self.meaning or 0.0)


def language_of(question: str, evidence: Sequence[Evidence]) -> Language:
    """A question without kana is Japanese too where the evidence is, unless it has words that only Chinese has."""
    language = guess_language(question)
    if language == "zh" and evidence and evidence[0].language == "ja" and not ONLY_CHINESE.search(question):
        return "ja"
    return language


class _Passage(NamedTuple):
    sentences: list[Placed]
    plain: list[str]  # the sentences, normalized
    places: list[Places]  # of the question's words, in each sentence
    above: list[frozenset[str]]  # those that stand in title and headings above each

    @property
    def held(self) -> frozenset[str]:
        return frozenset().union(*self.above, *self.places)

    def beside(self, place: int) -> frozenset[str]:
        """The words that a sentence and its neighbours hold."""
        found = frozenset(self.places[place])
        if not self.sentences[place].is_entry:
            for near in (place - 1, place + 1):
                if 0 <= near < len(self.sentences) and self.sentences[near].states:
                    found = found.union(self.places[near])
        return found


def ranked_candidates(
    question: str, evidence: Sequence[Evidence], embedder: Embedder | None = None
) -> tuple[list[Keyword], list[Candidate]]:
    """The question's words, and the sentences that hold any of them or stand beside such, the best first."""
    language = language_of(question, evidence)
    wanted = keywords(question, language)
    passages = [_read(item, wanted, language) for item in evidence]
    weights = _weights(wanted, passages)
    asked = _Asked(normalized(question).lower(), kind_expected(question), language, weights, _said(question))
    found = [one for number, passage in enumerate(passages) for one in asked.candidates(number, passage)]
    ranked = sorted(found, key=lambda one: (-one.fit, one.number, one.place))
    return wanted, _with_meaning(ranked, question, embedder)


def _read(item: Evidence, wanted: Sequence[Keyword], language: Language) -> _Passage:
    found = laid_out(item)
    plain = [normalized(one.sentence.text) for one in found]
    places = [places_of(wanted, text, language) for text in plain]
    titles = " ".join((item.title, *item.headings))
    above = {
        text: frozenset(places_of(wanted, normalized(f"{titles} {text}"), language))
        for text in {one.above for one in found}
    }
    return _Passage(found, plain, places, [above[one.above] for one in found])


def _weights(wanted: Sequence[Keyword], passages: Sequence[_Passage]) -> dict[str, float]:
    """A word that all passages hold tells less."""
    held_by = Counter(key for passage in passages for key in passage.held)
    total = max(1, len(passages))
    return {word.key: word.weight * (1 - EVERYWHERE * held_by[word.key] / total) for word in wanted}


@dataclass(frozen=True, slots=True)
class _Asked:
    question: str  # normalized, in small letters
    kind: Kind
    language: Language
    weights: Mapping[str, float]
    said: frozenset[str]  # its tokens, common ones included

    def candidates(self, number: int, passage: _Passage) -> list[Candidate]:
        far = dict.fromkeys(passage.held, PASSAGE)
        found = []
        for place, one in enumerate(passage.sentences):
            beside, own, above = passage.beside(place), passage.places[place], passage.above[place]
            if one.states and beside | above:
                levels = dict(far)
                for keys, level in ((above, ABOVE[self.language]), (beside, NEXT), (own, SAME)):
                    levels |= {key: max(level, levels[key]) for key in keys}
                fit, answers = self._fit(passage.plain[place], own, levels)
                found.append(Candidate(number, place, one.sentence, fit, answers, frozenset(own), beside | above))
        return found

    def _fit(self, plain: str, places: Places, levels: Mapping[str, float]) -> tuple[float, frozenset[str]]:
        spans = [
            span for span in answers_in(plain, self.question, self.kind, self.language) if self._is_new(plain, span)
        ]
        centres = [(start + end) // 2 for start, end in spans]
        if self.kind == "thing":
            centres = [at for found in places.values() for at in found]
        totals = (self._total(places, levels, centre) for centre in centres[:MOST_CENTRES])
        fit = max(totals, default=self._total(places, levels))
        if self.kind != "thing" and not spans:
            fit *= KIND_MISSING
        if plain.endswith("?") or (not spans and self._repeats(plain)):
            fit *= SAYS_LITTLE
        return fit, frozenset(plain[start:end] for start, end in spans)

    def _total(self, places: Places, levels: Mapping[str, float], centre: int | None = None) -> float:
        """The share of the question's words that is there, by weight and nearness."""
        reach = NEAR_WORDS * LETTERS[self.language]
        total = 0.0
        for key, level in levels.items():
            is_near = centre is not None and any(abs(at - centre) <= reach for at in places.get(key, ()))
            total += self.weights[key] * (NEAR if is_near else level)
        return total / sum(self.weights.values())

    def _is_new(self, plain: str, span: tuple[int, int]) -> bool:
        """What the question says itself answers nothing."""
        said = plain[span[0] : span[1]].lower()
        return said not in self.question and not _said(said) <= self.said

    def _repeats(self, plain: str) -> bool:
        is_short = len(plain) < 2 * len(self.question) + 20  # a longer one says more, and reading it takes time
        return is_short and len(_said(plain) - self.said) < 3


def _said(text: str) -> frozenset[str]:
    """Han characters in pairs: a Chinese word may be cut differently in another sentence."""
    return frozenset(tokens(text, "ja"))


def _with_meaning(ranked: list[Candidate], question: str, embedder: Embedder | None) -> list[Candidate]:
    """The first ones once more, in the order of both; those that follow keep their order."""
    head = ranked[:COMPARED]
    if embedder is None or not head or not embedder.covers(question):
        return ranked
    near = embedder.embed_passages([one.sentence.text for one in head]) @ embedder.embed_query(question)
    compared = [replace(one, meaning=min(1.0, max(0.0, float(score)))) for one, score in zip(head, near, strict=True)]
    return sorted(compared, key=lambda one: -one.rank) + ranked[COMPARED:]
