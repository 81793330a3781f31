"""Splits texts into pieces: sentences, and parts of very long ones, with what each of them states."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from veracity.deadlines import check_time
from veracity.grounding.claims import Reading, quantity_key, read_evidence
from veracity.language import Sentence, normalized
from veracity.language.citations import without_marks
from veracity.language.layout import lay_out, one_line, unit_text

MAX_PIECE = 600  # characters

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


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of a text. A table row is also one with the names of its columns, which are part of what it says:
    then its text is longer than its span."""
    units = lay_out(text)
    for unit in units:
        check_time()
        if unit.kind == "row":
            yield Sentence(unit_text(unit, units), unit.start, unit.end)
        yield from unit.sentences


def pieces_of(sentence: Sentence, source: int) -> Iterator[Piece]:
    """The pieces of a sentence of the text number `source`. Parts without a word are left out."""
    place = Place(source, sentence.start, sentence.end)
    if len(sentence.text) != sentence.end - sentence.start:
        parts = [(sentence.text[:MAX_PIECE], place)]
    else:
        parts = [
            (sentence.text[start:end], Place(source, place.start + start, place.start + end))
            for start, end in cuts(sentence.text, MAX_PIECE)
        ]
    for text, where in parts:
        if _HAS_WORD.search(text):
            reading = read_evidence(text)
            numbers = {quantity_key(quantity) for quantity in reading.quantities}
            yield Piece(where, reading, reading.keys | numbers)


def weight_found(facets: Facets, pieces: Sequence[Piece]) -> float:
    """The weight of the facets that occur in the pieces."""
    return sum(weight for key, weight in facets.items() if any(key in piece.keys for piece in pieces))


def lacking(facets: Facets, pieces: Sequence[Piece]) -> Facets:
    """The facets that occur in none of the pieces."""
    return {key: weight for key, weight in facets.items() if not any(key in piece.keys for piece in pieces)}


def strip(sentence: str) -> str:
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
