"""Scores how far texts support a sentence, and reports what is missing or contradicted.

The score is the mean of two coverages of the sentence's claims: by the best window of adjacent sentences, and by that
window together with further places, because a long sentence may draw on several. Each missing name lowers it. A wrong
number or a reversed statement puts it below the threshold.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from veracity.grounding.claims import (
    QUANTITY_WEIGHT,
    Reading,
    Word,
    is_side,
    other_side,
    quantity_key,
    read_claim,
    read_evidence,
)
from veracity.grounding.quantities import Quantity, agrees, differs
from veracity.language import Sentence, normalized
from veracity.language.citations import without_marks
from veracity.language.layout import lay_out, one_line, unit_text

# Limits that bound the work per sentence, however long or repetitive the texts are.
MAX_PIECE = 600
MAX_WINDOW = 3
MAX_FURTHER_PLACES = 5
MAX_CANDIDATES = 24
MAX_POSTINGS = 3000

_HAS_WORD = re.compile(r"\w")
_LIST_MARK = re.compile(r"^(?:[-*•#]{1,6} )+")  # the space is required: -40 is a number

# Keys to look for, with their weights.
Facets = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Place:
    """A span of one of the texts."""

    source: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence, or a part of a very long one, and its reading."""

    place: Place
    reading: Reading
    keys: frozenset[str]


class PieceIndex:
    """An inverted index of the pieces of some texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._pieces: list[Piece] = []
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._verbatim: dict[tuple[int, str], Place] = {}
        self._first_of: list[int] = []  # index of the first piece of each text
        for source, text in enumerate(texts):
            self._first_of.append(len(self._pieces))
            units = lay_out(text)
            for unit in units:
                if unit.kind == "row":  # its columns' names are part of what it says
                    self._add_sentence(Sentence(unit_text(unit, units), unit.start, unit.end), source)
                for sentence in unit.sentences:
                    self._add_sentence(sentence, source)

    def _add_sentence(self, sentence: Sentence, source: int) -> None:
        place = Place(source, sentence.start, sentence.end)
        self._verbatim.setdefault((source, _strip(sentence.text)), place)
        if len(sentence.text) != sentence.end - sentence.start:
            self._add(sentence.text[:MAX_PIECE], place)
            return
        for start, end in cuts(sentence.text, MAX_PIECE):
            self._add(sentence.text[start:end], Place(source, place.start + start, place.start + end))

    def _add(self, text: str, place: Place) -> None:
        if not _HAS_WORD.search(text):
            return
        reading = read_evidence(text)
        keys = reading.keys | {quantity_key(quantity) for quantity in reading.quantities}
        for key in keys:
            self._postings[key].append(len(self._pieces))
        self._pieces.append(Piece(place, reading, keys))

    def verbatim(self, sentence: str, among: Sequence[int]) -> Place | None:
        """The place of the same sentence in one of the texts, or None."""
        bare = _strip(sentence)
        return next((self._verbatim[source, bare] for source in among if (source, bare) in self._verbatim), None)

    def window_and_further_places(self, facets: Facets, among: Sequence[int]) -> tuple[list[Piece], list[Piece]]:
        """The adjacent pieces of one text with most of the facets, and further pieces with the rest."""
        candidates = self._candidates(facets, among)
        if not candidates:
            return [], []
        window = [self._pieces[at] for at in self._best_window(facets, candidates)]
        return window, _covering(_lacking(facets, window), [self._pieces[at] for at in candidates])

    def _candidates(self, facets: Facets, among: Sequence[int]) -> list[int]:
        """The pieces that share most with the sentence, found by its rarest keys first."""
        shared: dict[int, float] = defaultdict(float)
        postings = {key: self._postings_of(key, among) for key in facets.keys() & self._postings.keys()}
        budget = MAX_POSTINGS
        for key in sorted(postings, key=lambda key: (len(postings[key]), key)):
            for at in postings[key][:budget]:
                shared[at] += facets[key]
            budget = max(0, budget - len(postings[key]))
        return sorted(shared, key=lambda at: (-shared[at], at))[:MAX_CANDIDATES]

    def _postings_of(self, key: str, among: Sequence[int]) -> list[int]:
        """The pieces of some of the texts with the key."""
        postings = self._postings[key]
        if len(among) == len(self._first_of):
            return postings
        pieces: list[int] = []
        for source in among:
            end = self._first_of[source + 1] if source + 1 < len(self._first_of) else len(self._pieces)
            pieces += postings[bisect_left(postings, self._first_of[source]) : bisect_left(postings, end)]
        return pieces

    def _best_window(self, facets: Facets, candidates: list[int]) -> range:
        """The window with most weight; on a tie the shorter and earlier one."""
        windows = {
            range(first, first + length)
            for at in candidates
            for length in range(1, MAX_WINDOW + 1)
            for first in range(at - length + 1, at + 1)
            if self._lie_in_one_text(first, first + length - 1)
        }
        return max(windows, key=lambda window: (self._weight(facets, window), -len(window), -window.start))

    def _lie_in_one_text(self, first: int, last: int) -> bool:
        pieces = self._pieces
        return first >= 0 and last < len(pieces) and pieces[first].place.source == pieces[last].place.source

    def _weight(self, facets: Facets, window: range) -> float:
        return weight_found(facets, [self._pieces[at] for at in window])


def weight_found(facets: Facets, pieces: Sequence[Piece]) -> float:
    """The weight of the facets that occur in the pieces."""
    return sum(weight for key, weight in facets.items() if any(key in piece.keys for piece in pieces))


def _lacking(facets: Facets, pieces: Sequence[Piece]) -> Facets:
    return {key: weight for key, weight in facets.items() if not any(key in piece.keys for piece in pieces)}


def _covering(facets: Facets, candidates: Sequence[Piece]) -> list[Piece]:
    """A few candidates that together have most of the facets, chosen greedily."""
    chosen: list[Piece] = []
    while facets and len(chosen) < MAX_FURTHER_PLACES:
        best = max(candidates, key=lambda piece: weight_found(facets, [piece]))
        if not weight_found(facets, [best]):
            break
        chosen.append(best)
        facets = _lacking(facets, [best])
    return chosen


def _strip(sentence: str) -> str:
    """The sentence without what a copy may change: white space, list and citation marks, the final stop."""
    words = one_line(normalized(without_marks(sentence)))
    return _LIST_MARK.sub("", words).rstrip(".。! ！") or sentence.strip()


def cuts(text: str, max_length: int) -> Iterator[tuple[int, int]]:
    """Bounds of parts of at most `max_length` characters, cut at spaces if possible."""
    start = 0
    while len(text) - start > max_length:
        space = text.rfind(" ", start + max_length // 2, start + max_length)
        end = space if space > 0 else start + max_length
        yield start, end
        start = end
    yield start, len(text)


# One threshold for every language and kind of text, measured by `benchmarks/grounding_wice.py`.
SUPPORT_THRESHOLD = 0.6

CONTRADICTION_FACTOR = 0.5
MISSING_NAME_FACTOR = 0.6
# A piece with this share of the sentence's words is about the same thing: a difference is a contradiction.
SAME_STATEMENT = 0.7
# Characters; longer than any sentence a person writes.
MAX_PART = 1200


Claims = Sequence[Word | Quantity]


@dataclass(frozen=True, slots=True)
class Support:
    """The support for a sentence and its place: `quote == texts[source][start:end]`.

    `missing` and `contradicted` hold parts of the sentence in its own words. `source` is -1 if nothing was found.
    """

    score: float
    supported: bool
    source: int
    quote: str
    start: int
    end: int
    missing: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()


def support(sentence: str, text: str) -> Support:
    """Whether one text supports the sentence."""
    return EvidenceTexts([text]).support(sentence)


def checkable(sentence: str) -> bool:
    """Whether the sentence makes a claim that can be checked. "Yes." does not."""
    stated = without_marks(sentence)
    claims = (read_claim(stated[start:end]) for start, end in cuts(stated, MAX_PART))
    return any(claim.words or claim.quantities for claim in claims)


class EvidenceTexts:
    """Texts, split and indexed once, to check any number of sentences against."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = tuple(texts)
        self._index = PieceIndex(self._texts)

    def support(self, sentence: str, sources: Collection[int] | None = None) -> Support:
        """The best support for the sentence in all texts, or in those with the given indexes.

        A sentence copied from a text scores 1, one without a claim 0 (see `checkable`). A very long sentence is checked
        in parts and scores as its weakest part.
        """
        among = range(len(self._texts)) if sources is None else sorted(set(sources))
        if place := self._index.verbatim(sentence, among):
            return self._result(1.0, place)
        stated = without_marks(sentence).strip()
        parts = [self._part_support(stated[start:end], among) for start, end in cuts(stated, MAX_PART)]
        return replace(
            min(parts, key=lambda part: part.score),
            missing=tuple(missing for part in parts for missing in part.missing),
            contradicted=tuple(contradicted for part in parts for contradicted in part.contradicted),
        )

    def _part_support(self, stated: str, among: Sequence[int]) -> Support:
        claim = read_claim(stated)
        window, further = self._index.window_and_further_places(_facets(claim), among)
        if not window:
            return Support(0.0, False, -1, "", 0, 0, _own_words(stated, [*claim.words, *claim.quantities]))
        score, missing, contradicted = _judge(claim, window, window + further)
        place = Place(window[0].place.source, window[0].place.start, window[-1].place.end)
        return self._result(score, place, _own_words(stated, missing), _own_words(stated, contradicted))

    def _result(
        self, score: float, place: Place, missing: tuple[str, ...] = (), contradicted: tuple[str, ...] = ()
    ) -> Support:
        quote = self._texts[place.source][place.start : place.end]
        supported = score >= SUPPORT_THRESHOLD
        return Support(score, supported, place.source, quote, place.start, place.end, missing, contradicted)


def _facets(claim: Reading) -> Facets:
    """Keys to look for. A repeated key counts once; a word with several keys splits its weight."""
    facets: dict[str, float] = defaultdict(float)
    for word in claim.words:
        for key in word.keys:
            facets[key] = max(facets[key], word.weight / len(word.keys))
    for quantity in claim.quantities:
        facets[quantity_key(quantity)] = QUANTITY_WEIGHT
    return facets


def _judge(claim: Reading, window: Sequence[Piece], spread: Sequence[Piece]) -> tuple[float, Claims, Claims]:
    """The score, the missing and the contradicted claims."""
    same = _same_statement(claim, window)
    other = [quantity for quantity in claim.quantities if differs(quantity, _quantities(same))]
    absent = [
        quantity for quantity in claim.quantities if quantity not in other and not agrees(quantity, _quantities(spread))
    ]
    turned = _reversed_keys(claim, same or window)
    unfound = [word for word in claim.words if not _is_found(word, spread)]
    reversals = [word for word in claim.words if not turned.isdisjoint(word.keys)]
    score = (_coverage(claim, window) + _coverage(claim, spread)) / 2
    score *= MISSING_NAME_FACTOR ** sum(word.is_name for word in unfound)
    only_numbers = bool(claim.words) and len(unfound) == len(claim.words)  # then the numbers belong to something else
    if other or absent or turned or only_numbers:
        score *= CONTRADICTION_FACTOR
    missing: Claims = [*absent, *(word for word in unfound if word not in reversals)]
    return score, missing, [*other, *reversals]


def _coverage(claim: Reading, pieces: Sequence[Piece]) -> float:
    """The share of the sentence, by weight, that occurs in the pieces."""
    keys = frozenset[str]().union(*(piece.keys for piece in pieces))
    known = _quantities(pieces)
    quantities = {quantity_key(q): QUANTITY_WEIGHT * agrees(q, known) for q in claim.quantities}
    facets = _facets(claim)
    found = sum(weight for key, weight in facets.items() if key in keys and key not in quantities)
    return (found + sum(quantities.values())) / sum(facets.values())


def _quantities(pieces: Sequence[Piece]) -> list[Quantity]:
    return [quantity for piece in pieces for quantity in piece.reading.quantities]


def _is_found(word: Word, pieces: Sequence[Piece]) -> bool:
    return all(any(key in piece.keys for piece in pieces) for key in word.keys)


def _same_statement(claim: Reading, window: Sequence[Piece]) -> list[Piece]:
    """The piece of the window about the same thing, ignoring numbers and direction; empty if there is none."""
    facets = {key: word.weight for word in claim.words for key in word.keys if not is_side(key)}
    closest = max(window, key=lambda piece: weight_found(facets, [piece]))
    enough = SAME_STATEMENT * sum(facets.values())
    return [closest] if facets and weight_found(facets, [closest]) >= enough else []


def _reversed_keys(claim: Reading, pieces: Sequence[Piece]) -> frozenset[str]:
    """Keys the sentence asserts and the pieces only negate, or the reverse, or whose opposite they state."""
    asserted = frozenset[str]().union(*(piece.reading.asserted for piece in pieces))
    denied = frozenset[str]().union(*(piece.reading.denied for piece in pieces))
    known = asserted | denied
    # A name within reach of a "not" is rarely what is negated.
    stated = {key for word in claim.words if not word.is_name for key in word.keys}
    turned: set[str] = set()
    if not claim.denied & denied & stated:  # with a shared negation, its reach is a matter of style
        turned |= (claim.asserted - claim.denied) & (denied - asserted)
        turned |= (claim.denied - claim.asserted) & (asserted - denied)
    opposed = {key for key in stated if is_side(key) and key not in known and other_side(key) in known - stated}
    return frozenset(turned & stated | opposed)


def _own_words(stated: str, missing: Claims) -> tuple[str, ...]:
    """Claims as the sentence spells them, in order; overlapping ones are joined."""
    plain = normalized(stated)
    text = stated if len(stated) == len(plain) else plain
    spans: list[list[int]] = []
    for start, end in sorted({(part.start, part.end) for part in missing}):
        if spans and start < spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    return tuple(text[start:end] for start, end in spans)
