"""Scores how far a text in another language supports a sentence.

Words cannot be compared, so the bundled embedder compares meanings: the sentence with one to three neighbouring
sentences of the text. It is always the bundled one, so that the result does not depend on the settings. Its vectors
hardly notice a changed number, name or "not": these are compared by form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp
from typing import TYPE_CHECKING

from veracity.deadlines import check_time
from veracity.grounding.claims import find_negation
from veracity.grounding.pieces import Piece
from veracity.grounding.quantities import Quantity, quantities
from veracity.grounding.transliteration import missing_names
from veracity.language import normalized

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

# Logistic curve of the similarity: `SUPPORT_THRESHOLD` separates best (`python -m benchmarks.grounding_across`).
BIAS, SLOPE = -4.5, 11.0
MAX_WINDOW = 3  # neighbouring sentences
FURTHER_SENTENCE = 0.03  # of similarity that a window has to gain by each: most sentences have one counterpart
MAX_SENTENCES = 200  # of one text: the rest is not compared
BATCH = 16  # sentences between two looks at the clock


@dataclass(frozen=True, slots=True)
class Window:
    """Neighbouring pieces of a text, their similarity to a sentence, and the most similar piece."""

    pieces: Sequence[Piece]
    similarity: float
    nearest: Piece


@dataclass(frozen=True, slots=True)
class Comparison:
    """The best window for a sentence, and parts of the sentence that the text does not have or contradicts."""

    window: Window
    names: tuple[str, ...]
    absent: tuple[str, ...]
    contradicted: tuple[str, ...]
    is_reversed: bool

    @property
    def score(self) -> float:
        """The score by meaning alone."""
        return 1 / (1 + exp(-(BIAS + SLOPE * self.window.similarity)))


def compare(stated: str, text: str, pieces: Sequence[Piece]) -> Comparison | None:
    """Compares a sentence with the pieces of a text in another language; None if there are none."""
    window = best_window(stated, text, pieces[:MAX_SENTENCES])
    if window is None:
        return None
    near = [text[piece.place.start : piece.place.end] for piece in window.pieces]
    nearest = text[window.nearest.place.start : window.nearest.place.end]
    absent, other = _missing_quantities(stated, nearest, text)
    negation = find_negation(normalized(stated))
    negated = [bool(find_negation(normalized(sentence))) for sentence in near]
    is_reversed = not any(negated) if negation else all(negated)
    names = missing_names(stated, text, "\n".join(near))
    contradicted = (*other, negation) if is_reversed and negation else tuple(other)
    return Comparison(window, tuple(names), tuple(absent), contradicted, is_reversed)


def similarity(first: str, second: str) -> float:
    """The similarity of the meanings of two texts, from -1 to 1."""
    return float(_embed((first,))[0] @ _embed((second,))[0])


def best_window(sentence: str, text: str, pieces: Sequence[Piece]) -> Window | None:
    """The window most similar to the sentence."""
    import numpy as np  # noqa: PLC0415 - only needed across languages

    if not pieces:
        return None
    vectors = _embed(tuple(text[piece.place.start : piece.place.end] for piece in pieces))
    asked = _embed((sentence,))[0]
    alone = vectors @ asked
    best = Window((), -2.0, pieces[0])
    for length in range(1, min(MAX_WINDOW, len(pieces)) + 1):
        # The sum of the sentences' vectors is as good as the vector of the window, and costs nothing.
        sums = np.sum([vectors[at : len(vectors) - length + 1 + at] for at in range(length)], axis=0)
        near = (sums @ asked) / np.maximum(np.linalg.norm(sums, axis=1), 1e-6) - FURTHER_SENTENCE * (length - 1)
        first = int(near.argmax())
        if near[first] > best.similarity:
            nearest = first + int(alone[first : first + length].argmax())
            best = Window(pieces[first : first + length], float(near[first]), pieces[nearest])
    return best


@lru_cache(maxsize=256)  # every sentence of an answer, and several checks of it, are compared with the same texts
def _embed(texts: tuple[str, ...]) -> Vectors:
    import numpy as np  # noqa: PLC0415 - only needed across languages

    from veracity.embedding.bundled import BundledEmbedder  # noqa: PLC0415 - loads onnxruntime

    embedder = BundledEmbedder()
    batches = []
    for first in range(0, len(texts), BATCH):
        check_time()
        batches.append(embedder.embed_passages(texts[first : first + BATCH]))
    return np.concatenate(batches)


# --- quantities -----------------------------------------------------------------------------------------------------


def _missing_quantities(stated: str, nearest: str, text: str) -> tuple[list[str], list[str]]:
    """The quantities that occur nowhere in the text, and those for which the nearest sentence has another value."""
    claimed, near, anywhere = _read(stated), _read(nearest), _read(text)
    absent, other = [], []
    for quantity in claimed:
        if quantity.is_measure and _has_other_value(quantity, near, claimed):
            other.append(quantity.surface)
        elif not (_agrees(quantity, anywhere) or _may_be_a_word(quantity)):
            absent.append(quantity.surface)
    return absent, other


@lru_cache(maxsize=512)
def _read(text: str) -> tuple[Quantity, ...]:
    return quantities(normalized(text))


def _may_be_a_word(quantity: Quantity) -> bool:
    """One and two have many words: "a year", "another", "first", "both", "twice"."""
    if quantity.is_measure:
        return quantity.number == 1 and quantity.kind in ("time", "span", "people")
    return quantity.number in (1, 2)


def _has_other_value(quantity: Quantity, near: Sequence[Quantity], claimed: Sequence[Quantity]) -> bool:
    """Whether the sentence nearby has other values of the kind only. It may have one of several that are claimed."""
    values = {other.value for other in near if other.kind == quantity.kind}
    return bool(values) and values.isdisjoint(other.value for other in claimed if other.kind == quantity.kind)


def _agrees(stated: Quantity, known: Sequence[Quantity]) -> bool:
    """Measures of one kind by value, anything else by number: counted nouns differ in every language."""
    same_kind = [other for other in known if other.kind == stated.kind]
    if stated.is_measure and same_kind:
        return any(other.value == stated.value for other in same_kind)
    return any(other.number == stated.number and not _are_different_measures(stated, other) for other in known)


def _are_different_measures(first: Quantity, second: Quantity) -> bool:
    """日 is a day of the calendar or a time."""
    both_days = {first.kind, second.kind} == {"time", "calendar day"}
    return first.is_measure and second.is_measure and not both_days
