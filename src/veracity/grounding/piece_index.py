"""An inverted index of pieces: finds those that share most with a sentence.

The time for a sentence hardly depends on the length of the texts: counting the shared keys is left to NumPy, and all
that follows looks at a few candidates.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veracity.grounding.pieces import Facets, Piece, Place, lacking, pieces_of, sentences_of, strip, weight_found

# Limits that bound the work per sentence, however long or repetitive the texts are.
MAX_WINDOW = 3
MAX_FURTHER_PLACES = 5
MAX_CANDIDATES = 24
MAX_POSTINGS = 3000

Numbers = NDArray[np.intp]


class PieceIndex:
    """The pieces of some texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._pieces: list[Piece] = []
        self._verbatim: dict[tuple[int, str], Place] = {}
        self._first_of: list[int] = []  # number of the first piece of each text
        postings: dict[str, list[int]] = defaultdict(list)
        for source, text in enumerate(texts):
            self._first_of.append(len(self._pieces))
            for sentence in sentences_of(text):
                place = Place(source, sentence.start, sentence.end)
                self._verbatim.setdefault((source, strip(sentence.text)), place)
                for piece in pieces_of(sentence, source):
                    for key in piece.keys:
                        postings[key].append(len(self._pieces))
                    self._pieces.append(piece)
        self._postings: dict[str, Numbers] = {key: np.array(numbers) for key, numbers in postings.items()}

    def verbatim(self, sentence: str, among: Sequence[int]) -> Place | None:
        """The place of the same sentence in one of the texts, or None."""
        bare = strip(sentence)
        return next((self._verbatim[source, bare] for source in among if (source, bare) in self._verbatim), None)

    def pieces(self, source: int) -> list[Piece]:
        """The pieces of one text, in order."""
        return self._pieces[self._first_of[source] : self._end_of(source)]

    def window_and_further_places(self, facets: Facets, among: Sequence[int]) -> tuple[list[Piece], list[Piece]]:
        """The adjacent pieces of one text with most of the facets, and further pieces with the rest."""
        candidates = self._candidates(facets, among)
        if not candidates:
            return [], []
        window = [self._pieces[at] for at in self._best_window(facets, candidates)]
        return window, _covering(lacking(facets, window), [self._pieces[at] for at in candidates])

    def _candidates(self, facets: Facets, among: Sequence[int]) -> list[int]:
        """The pieces that share most with the sentence, found by its rarest keys first."""
        postings = {key: self._postings_of(key, among) for key in facets.keys() & self._postings.keys()}
        shared = np.zeros(len(self._pieces))
        budget = MAX_POSTINGS
        for key in sorted(postings, key=lambda key: (len(postings[key]), key)):
            shared[postings[key][:budget]] += facets[key]
            budget = max(0, budget - len(postings[key]))
        return _largest(shared, MAX_CANDIDATES)

    def _postings_of(self, key: str, among: Sequence[int]) -> Numbers:
        """The pieces of some of the texts with the key."""
        postings = self._postings[key]
        if len(among) == len(self._first_of):
            return postings
        starts = postings.searchsorted([*self._first_of, len(self._pieces)])
        return np.concatenate([postings[:0], *(postings[starts[at] : starts[at + 1]] for at in among)])

    def _best_window(self, facets: Facets, candidates: list[int]) -> range:
        """The window with most weight; on a tie the shorter and earlier one."""
        near = {at: self._neighbourhood(at) for at in candidates}
        found = {at: frozenset(facets.keys() & self._pieces[at].keys) for at in set().union(*map(set, near.values()))}
        windows = {range(at, at + 1) for at in candidates}
        for at, around in near.items():
            if not all(found[other] <= found[at] for other in around):  # a longer window has more than the piece alone
                windows |= {
                    range(first, first + length)
                    for length in range(2, MAX_WINDOW + 1)
                    for first in range(max(around.start, at - length + 1), min(around.stop - length, at) + 1)
                }
        weights: dict[frozenset[str], float] = {}  # many windows have the same facets

        def rank(window: range) -> tuple[float, int, int]:
            keys = frozenset[str]().union(*map(found.__getitem__, window))
            if keys not in weights:
                weights[keys] = sum(weight for key, weight in facets.items() if key in keys)
            return weights[keys], -len(window), -window.start

        return max(windows, key=rank)

    def _neighbourhood(self, at: int) -> range:
        """The pieces of the same text that a window with this piece may contain."""
        source = self._pieces[at].place.source
        return range(max(self._first_of[source], at - MAX_WINDOW + 1), min(self._end_of(source), at + MAX_WINDOW))

    def _end_of(self, source: int) -> int:
        return self._first_of[source + 1] if source + 1 < len(self._first_of) else len(self._pieces)


def _largest(values: NDArray[np.float64], count: int) -> list[int]:
    """The numbers of the largest values above 0, the largest and of equal ones the first first."""
    found = np.flatnonzero(values)
    if len(found) > count:
        least = np.partition(values[found], -count)[-count]
        above = found[values[found] > least]
        found = np.concatenate([above, found[values[found] == least][: count - len(above)]])
    return sorted(found.tolist(), key=lambda at: (-values[at], at))


def _covering(facets: Facets, candidates: Sequence[Piece]) -> list[Piece]:
    """A few candidates that together have most of the facets, chosen greedily."""
    chosen: list[Piece] = []
    while facets and len(chosen) < MAX_FURTHER_PLACES:
        best = max(candidates, key=lambda piece: weight_found(facets, [piece]))
        if not weight_found(facets, [best]):
            break
        chosen.append(best)
        facets = lacking(facets, [best])
    return chosen
