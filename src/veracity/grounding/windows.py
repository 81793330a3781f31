"""Finds where in some texts the things a sentence states are found: the best window, and further places.

Splits the texts into pieces (sentences, or parts of very long ones) and indexes them once by what they state. Knows
nothing about whether a find amounts to support.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from veracity.citations import without_marks
from veracity.grounding.claims import Reading, quantity_key, read_evidence
from veracity.language import normalized, sentences

# Bounds that keep the work per sentence fixed, however long or repetitive the texts are.
LONGEST_PIECE = 600
LONGEST_WINDOW = 3
FURTHER_PLACES = 5
CANDIDATES = 24
POSTINGS_READ = 3000

_STATES_SOMETHING = re.compile(r"\w")
_LIST_MARK = re.compile(r"^(?:[-*•#]{1,6} )+")  # with its space: -40 is a number

# What is looked for, and how much each counts.
Facets = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Place:
    """A part of one of the texts."""

    source: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of a text, or a part of a very long one, and what it states."""

    place: Place
    reading: Reading
    keys: frozenset[str]


class PieceIndex:
    """The pieces of some texts, to be looked up by key."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._pieces: list[Piece] = []
        self._postings: dict[str, list[int]] = defaultdict(list)
        self._verbatim: dict[tuple[int, str], Place] = {}
        self._first_of: list[int] = []  # the first piece of each text: those of one text lie together
        for source, text in enumerate(texts):
            self._first_of.append(len(self._pieces))
            for sentence in sentences(text):
                place = Place(source, sentence.start, sentence.end)
                self._verbatim.setdefault((source, _bare(sentence.text)), place)
                for start, end in cuts(sentence.text, LONGEST_PIECE):
                    self._add(sentence.text[start:end], Place(source, place.start + start, place.start + end))

    def _add(self, text: str, place: Place) -> None:
        if not _STATES_SOMETHING.search(text):
            return
        reading = read_evidence(text)
        keys = reading.keys | {quantity_key(quantity) for quantity in reading.quantities}
        for key in keys:
            self._postings[key].append(len(self._pieces))
        self._pieces.append(Piece(place, reading, keys))

    def verbatim(self, sentence: str, among: Sequence[int]) -> Place | None:
        """Where the sentence stands word for word as a sentence of its own, in one of the texts."""
        bare = _bare(sentence)
        return next((self._verbatim[source, bare] for source in among if (source, bare) in self._verbatim), None)

    def window_and_further_places(self, facets: Facets, among: Sequence[int]) -> tuple[list[Piece], list[Piece]]:
        """The neighbouring pieces of one text that hold most of the facets, and other pieces that hold the rest."""
        candidates = self._candidates(facets, among)
        if not candidates:
            return [], []
        window = [self._pieces[at] for at in self._best_window(facets, candidates)]
        return window, _covering(_lacking(facets, window), [self._pieces[at] for at in candidates])

    def _candidates(self, facets: Facets, among: Sequence[int]) -> list[int]:
        """The pieces that share most with the sentence, found by its rarest keys first."""
        shared: dict[int, float] = defaultdict(float)
        postings = {key: self._postings_of(key, among) for key in facets.keys() & self._postings.keys()}
        budget = POSTINGS_READ
        for key in sorted(postings, key=lambda key: (len(postings[key]), key)):
            for at in postings[key][:budget]:
                shared[at] += facets[key]
            budget = max(0, budget - len(postings[key]))
        return sorted(shared, key=lambda at: (-shared[at], at))[:CANDIDATES]

    def _postings_of(self, key: str, among: Sequence[int]) -> list[int]:
        """The pieces of some of the texts that hold the key."""
        postings = self._postings[key]
        if len(among) == len(self._first_of):
            return postings
        found: list[int] = []
        for source in among:
            end = self._first_of[source + 1] if source + 1 < len(self._first_of) else len(self._pieces)
            found += postings[bisect_left(postings, self._first_of[source]) : bisect_left(postings, end)]
        return found

    def _best_window(self, facets: Facets, candidates: list[int]) -> range:
        """Of windows that hold as much, the shorter and earlier one."""
        windows = {
            range(first, first + length)
            for at in candidates
            for length in range(1, LONGEST_WINDOW + 1)
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
    """How much of the facets the pieces hold together."""
    return sum(weight for key, weight in facets.items() if any(key in piece.keys for piece in pieces))


def _lacking(facets: Facets, pieces: Sequence[Piece]) -> Facets:
    return {key: weight for key, weight in facets.items() if not any(key in piece.keys for piece in pieces)}


def _covering(facets: Facets, candidates: Sequence[Piece]) -> list[Piece]:
    """The few candidates that together hold most of the facets, chosen greedily."""
    chosen: list[Piece] = []
    while facets and len(chosen) < FURTHER_PLACES:
        best = max(candidates, key=lambda piece: weight_found(facets, [piece]))
        if not weight_found(facets, [best]):
            break
        chosen.append(best)
        facets = _lacking(facets, [best])
    return chosen


def _bare(sentence: str) -> str:
    """The sentence without what may differ in a faithful copy: space, list and citation marks, the stop at its end."""
    words = " ".join(normalized(without_marks(sentence)).split())
    return _LIST_MARK.sub("", words).rstrip(".。! ！") or sentence.strip()


def cuts(text: str, longest: int) -> Iterator[tuple[int, int]]:
    """Bounds of the parts of a text, none longer than `longest`; cut at a space where there is one to cut at."""
    start = 0
    while len(text) - start > longest:
        space = text.rfind(" ", start + longest // 2, start + longest)
        end = space if space > 0 else start + longest
        yield start, end
        start = end
    yield start, len(text)
