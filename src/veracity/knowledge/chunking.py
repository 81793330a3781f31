"""Cuts a text into passages: by sections, then paragraphs, list items and rows, then sentences.

A passage is a slice of the source, so that a quote from it can be shown in place. Passages of one section overlap by
whole sentences; none reaches into another section unless both are tiny. Knows nothing about files, search or
embedding models. Takes time linear in the text.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from operator import itemgetter
from typing import NamedTuple

from veracity.knowledge.pieces import GLUED, PARAGRAPH, Piece, pieces_of
from veracity.knowledge.structure import Section, sections


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage and where it stands: `text == source[start:end]`."""

    text: str
    start: int
    end: int
    headings: tuple[str, ...]  # the path, outermost first, that all of the passage stands under
    page: int | None  # counted from 1, where the passage starts; None where the source has no pages


# As shares of `most`: what is too small to stand alone, and what small sections may come to together.
CRUMB = 0.15
SMALL = 1 / 3


class _Group(NamedTuple):
    """The pieces of a section, or of small sections that go together, and the headings all of them stand under."""

    headings: tuple[str, ...]
    pieces: list[Piece]
    size: int
    depth: int  # of the deepest heading
    is_bare: bool


def chunk(text: str, *, markdown: bool, pages: Sequence[int] = (), most: int = 256, overlap: int = 30) -> list[Chunk]:
    """The passages of the text in order, of about `most` in `size` at most; `pages` are the offsets of page starts."""
    if not 0 <= overlap < most:
        raise ValueError(f"overlap must be at least 0 and less than most, not {overlap} with most {most}")
    groups = (_group(text, section, most) for section in sections(text, markdown=markdown))
    return [
        Chunk(text[start:end], start, end, group.headings, max(1, bisect_right(pages, start)) if pages else None)
        for group in _joined(groups, most)
        for start, end in _packed(group.pieces, most, overlap)
    ]


def _group(text: str, section: Section, most: int) -> _Group:
    found = list(pieces_of(text, section.blocks, most))
    total = sum(piece.size for piece in found)
    return _Group(section.headings, found, total, len(section.headings), section.is_bare)


def _joined(groups: Iterator[_Group], most: int) -> Iterator[_Group]:
    """A bare heading goes with the subsection that follows it; small sections under one heading go together."""
    held: _Group | None = None
    for group in groups:
        if held is None:
            held = group
        elif (together := _together(held, group, most)) is not None:
            held = together
        else:
            yield held
            held = group
    if held is not None:
        yield held


def _together(one: _Group, other: _Group, most: int) -> _Group | None:
    total, depth = one.size + other.size, max(one.depth, other.depth)
    common = _common(one.headings, other.headings)
    if one.is_bare and one.size < most * CRUMB and common == one.headings != other.headings:
        glued = [other.pieces[0]._replace(cut=GLUED), *other.pieces[1:]]
        return _Group(other.headings, one.pieces + glued, total, depth, other.is_bare)
    if total <= most * SMALL and depth <= len(common) + 1:
        return _Group(common, one.pieces + other.pieces, total, depth, False)
    return None


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return one[:same]


def _packed(pieces: list[Piece], most: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Bounds of the chunks that the pieces make."""
    sums = [0, *accumulate(piece.size for piece in pieces)]
    first = done = 0
    while done < len(pieces):
        upto = _end_of_chunk(pieces, sums, first, done, most)
        yield pieces[first].start, pieces[upto - 1].end
        first, done = _start_of_overlap(pieces, sums, first + 1, upto, most, overlap), upto


def _start_of_overlap(pieces: list[Piece], sums: list[int], earliest: int, done: int, most: int, overlap: int) -> int:
    """The piece with which the next chunk starts: the last few of what is done, if they and the next one fit."""
    start = done
    if done < len(pieces):
        overlap = min(overlap, most - pieces[done].size)
    for at in range(done - 1, earliest - 1, -1):
        if sums[done] - sums[at] > overlap:
            break
        if pieces[at].opens:
            start = at
    return start


def _end_of_chunk(pieces: list[Piece], sums: list[int], first: int, done: int, most: int) -> int:
    """The best cut that leaves no crumb on either side; of cuts as good, the one that makes even chunks."""
    rest, crumb = sums[-1] - sums[first], most * CRUMB
    if rest <= most:
        return len(pieces)
    even = rest / ceil(rest / most)
    best, worth, fitting = 0, (-1, 0.0), done + 1
    for upto in range(done + 1, len(pieces)):
        length = sums[upto] - sums[first]
        if length > most + crumb:
            break
        fitting = upto
        if length <= most and sums[upto] - sums[done] >= crumb and sums[-1] - sums[upto] >= crumb:
            best, worth = max((best, worth), (upto, (pieces[upto].cut, -abs(length - even))), key=itemgetter(1))
    if rest <= most + crumb and worth[0] < PARAGRAPH:
        return len(pieces)
    return best or fitting
