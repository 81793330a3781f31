"""Chunks a text into passages: by sections, then paragraphs, list items and rows, then sentences.

A passage is a slice of the source, so that a quote from it can be shown in place. Passages of one section overlap by
whole sentences. A passage spans two sections only if both are tiny. Runs in linear time, in three stages:
`find_sections` finds headings and blocks, `split_pieces` splits blocks into sentences and rows, `_pack` joins pieces.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from math import ceil
from operator import itemgetter
from typing import Literal, NamedTuple

from veracity.language import sentences
from veracity.language.layout import FENCE, Line, Run, join_lines, lines_of, make_run, split_runs, starts_item
from veracity.language.scripts import HAN, HIRAGANA, KATAKANA
from veracity.patterns import lazy_pattern

# As fractions of `max_tokens`: a smaller passage is not worth having; small sections may be joined up to this size.
MIN_PASSAGE = 0.15
MAX_JOINED = 1 / 3
MAX_HEADING_LENGTH = 200
MAX_FRONT_MATTER_LENGTH = 4000
MAX_LEAD_IN_LENGTH = 80

# How good a place for a cut the start of a piece is. Pieces after a heading or lead-in are never cut off from it.
NO_CUT, FRAGMENT, SENTENCE, LINE, PARAGRAPH = range(5)

_ATX = lazy_pattern(r" {0,3}(#{1,6}+)(?:[ \t]++(.*))?\Z")
_UNDERLINE = lazy_pattern(r" {0,3}(?:={2,}+|-{2,}+)\Z")
_PAUSES = ",;:，、；：）)】」』…—-/"

# A token is up to seven Latin letters (six would overestimate all prose, eight underestimate technical prose), two
# digits, a punctuation mark, or a Chinese or Japanese character, of which every fourth is free.
_CJK = f"{HAN}{HIRAGANA}{KATAKANA}"
_TOKEN = lazy_pattern(rf"[{_CJK}]|(?:(?![{_CJK}])[^\W\d_]){{1,7}}+|\d{{1,2}}+|[^\w\s]|_")
_ASCII_TOKEN = lazy_pattern(r"[A-Za-z]{1,7}+|[0-9]{1,2}+|[^A-Za-z0-9\s]")
_FOUR_CJK = lazy_pattern(f"[{_CJK}]{{4}}")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: `text == source[start:end]`."""

    text: str
    start: int
    end: int
    headings: tuple[str, ...]  # the path of headings above all of the passage, outermost first
    page: int | None  # the page on which the passage starts, from 1; None if the source has no pages


def chunk(
    text: str, *, markdown: bool, pages: Sequence[int] = (), max_tokens: int = 256, overlap_tokens: int = 30
) -> list[Chunk]:
    """Chunk the text into passages of about `max_tokens` at most. `pages` are the offsets of page starts."""
    if not 0 <= overlap_tokens < max_tokens:
        raise ValueError(f"overlap_tokens must be from 0 to less than max_tokens ({max_tokens}), not {overlap_tokens}")
    groups = (_group(text, section, max_tokens) for section in find_sections(text, markdown=markdown))
    return [
        Chunk(text[start:end], start, end, group.headings, max(1, bisect_right(pages, start)) if pages else None)
        for group in _join_small(groups, max_tokens)
        for start, end in _pack(group.pieces, max_tokens, overlap_tokens)
    ]


def estimate_tokens(text: str) -> int:
    """About how many tokens an embedding model sees; never more than the sum over the text's parts."""
    if text.isascii():
        return len(_ASCII_TOKEN.findall(text))
    return len(_TOKEN.findall(text)) - len(_FOUR_CJK.findall(text))


class Block(NamedTuple):
    """Lines that belong together. `level` and `title` are set for headings."""

    kind: Literal["heading", "prose", "code"]
    lines: list[Line]
    level: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the blocks below it. `headings` is the path to it, outermost first."""

    headings: tuple[str, ...]
    blocks: list[Block] = field(default_factory=list)

    @property
    def is_bare(self) -> bool:
        """True if it has nothing but its heading."""
        return all(block.kind == "heading" for block in self.blocks)


def find_sections(text: str, *, markdown: bool) -> Iterator[Section]:
    """The sections in order. Text without headings is one section."""
    section = Section(())
    path: list[tuple[int, str]] = []
    for block in _markdown_blocks(text) if markdown else _paragraphs(text):
        if block.kind == "heading":
            if section.blocks:
                yield section
            path = [*(outer for outer in path if outer[0] < block.level), (block.level, block.title)]
            section = Section(tuple(title for _, title in path if title))
        section.blocks.append(block)
    if section.blocks:
        yield section


def _paragraphs(text: str) -> Iterator[Block]:
    pending: list[Line] = []
    for line in lines_of(text):
        if line.text:
            pending.append(line)
        else:
            yield from _prose(pending)
            pending = []
    yield from _prose(pending)


def _markdown_blocks(text: str) -> Iterator[Block]:
    pending: list[Line] = []
    has_front_matter = text.startswith(("---\n", "---\r\n")) and "\n---" in text[4:MAX_FRONT_MATTER_LENGTH]
    fence = "---" if has_front_matter else ""
    for line in lines_of(text):
        if fence:
            pending.append(line)
            bare = line.text.strip()
            if len(pending) > 1 and len(bare) >= len(fence) and bare == fence[0] * len(bare):
                yield Block("code", pending)
                pending, fence = [], ""
            continue
        if heading := _heading(line, pending):
            if heading.lines[0] is line:
                yield from _prose(pending)
            pending = []
            yield heading
            continue
        opening = FENCE.match(line.text)
        if opening or not line.text:
            yield from _prose(pending)
            pending = []
        if line.text:
            pending.append(line)
        fence = opening[1] if opening else ""
    yield from [Block("code", pending)] if fence else _prose(pending)


def _prose(lines: list[Line]) -> list[Block]:
    return [Block("prose", lines)] if lines else []


def _heading(line: Line, pending: list[Line]) -> Block | None:
    """The heading that this line is (`# Title`), or that it makes of the single pending line by underlining it."""
    if atx := _ATX.match(line.text):
        return Block("heading", [line], len(atx[1]), _title(atx[2] or ""))
    if len(pending) == 1 and _UNDERLINE.match(line.text) and not starts_item(pending[0].text):
        level = 1 if line.text.endswith("=") else 2
        return Block("heading", [pending[0], line], level, _title(pending[0].text))
    return None


def _title(text: str) -> str:
    """The heading without closing hashes, truncated to the maximum length."""
    bare = text.rstrip("#")
    if not bare or bare[-1] in " \t":
        text = bare
    return text.strip()[:MAX_HEADING_LENGTH].rstrip()


class Piece(NamedTuple):
    """An indivisible unit: a sentence, a row, a line of code, or a fragment of an overlong sentence."""

    start: int
    end: int
    tokens: int
    cut: int  # how good a place for a cut its start is
    can_overlap: bool  # may be repeated at the start of the next passage


def split_pieces(text: str, blocks: Sequence[Block], max_tokens: int) -> Iterator[Piece]:
    """The pieces of the blocks in order, none larger than `max_tokens`."""
    cut = PARAGRAPH
    for block in blocks:
        yield from _pieces_of_block(text, block, cut, max_tokens)
        cut = NO_CUT if block.kind == "heading" or _is_lead_in(block) else PARAGRAPH


def _is_lead_in(block: Block) -> bool:
    """True for a title on a line of its own, or `The rules are:` – a short line that does not end as a sentence."""
    line = block.lines[0].text
    if block.kind == "code" or len(block.lines) > 1 or len(line) > MAX_LEAD_IN_LENGTH or starts_item(line):
        return False
    return line[-1].isalnum() or line[-1] in ":：*"


def _pieces_of_block(text: str, block: Block, cut: int, max_tokens: int) -> Iterator[Piece]:
    is_code = block.kind == "code"
    for run in (
        (make_run("row", line, line) for line in block.lines if line.text) if is_code else split_runs(block.lines)
    ):
        can_overlap = block.kind != "heading"
        for start, end, tokens in _sentences(text, run, max_tokens):
            if tokens <= max_tokens:
                yield Piece(start, end, tokens, cut, can_overlap)
            else:
                yield from _fragments(text, start, end, cut, max(1, max_tokens // 4))
            cut, can_overlap = SENTENCE, can_overlap and run.kind == "prose"
        cut = LINE if block.kind != "heading" else NO_CUT


def _sentences(text: str, run: Run, max_tokens: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and tokens of the sentences of a run. A row stays whole if it fits a passage."""
    if run.kind == "row" and (tokens := estimate_tokens(text[run.start : run.end])) <= max_tokens:
        yield run.start, run.end, tokens
        return
    for sentence in sentences(join_lines(text[run.start : run.end])):  # a sentence may span wrapped lines
        yield run.start + sentence.start, run.start + sentence.end, estimate_tokens(sentence.text)


def _fragments(text: str, start: int, end: int, cut: int, max_tokens: int) -> Iterator[Piece]:
    """Split an endless sentence, each time at the best place in the second half of what fits."""
    offsets = [*(token.start() for token in _TOKEN.finditer(text, start, end)), end]
    at, last = 0, len(offsets) - 1
    while at < last:
        stop = min(at + max_tokens, last)
        if stop < last:
            stop = max(range(stop, at + max_tokens // 2, -1), key=lambda index: _cut_quality(text, offsets[index]))
        part = text[offsets[at] : offsets[stop]].rstrip()
        yield Piece(offsets[at], offsets[at] + len(part), estimate_tokens(part), cut, False)
        at, cut = stop, FRAGMENT


def _cut_quality(text: str, at: int) -> int:
    before, after = text[at - 1], text[at]
    if _is_one_grapheme(before, after):
        return 0
    if before in "\r\n":
        return 4
    if before.isspace():
        return 3
    return 2 if before in _PAUSES else 1


def _is_one_grapheme(before: str, after: str) -> bool:
    """True if the two characters display as one: accents, voicing marks, joined emoji."""
    return (
        unicodedata.category(after) in ("Mn", "Mc", "Me")
        or "\u200d" in (before, after)
        or after in "ﾞﾟ"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\udc00" <= after <= "\udfff"
    )


class _Group(NamedTuple):
    """The pieces of a section, or of joined small sections, and the headings they have in common."""

    headings: tuple[str, ...]
    pieces: list[Piece]
    tokens: int
    depth: int  # of the deepest heading
    is_bare: bool


def _group(text: str, section: Section, max_tokens: int) -> _Group:
    pieces = list(split_pieces(text, section.blocks, max_tokens))
    tokens = sum(piece.tokens for piece in pieces)
    return _Group(section.headings, pieces, tokens, len(section.headings), section.is_bare)


def _join_small(groups: Iterator[_Group], max_tokens: int) -> Iterator[_Group]:
    """Join a bare heading with the subsection after it, and small sections under one heading with each other."""
    previous: _Group | None = None
    for group in groups:
        if previous is None:
            previous = group
        elif (joined := _join(previous, group, max_tokens)) is not None:
            previous = joined
        else:
            yield previous
            previous = group
    if previous is not None:
        yield previous


def _join(group: _Group, following: _Group, max_tokens: int) -> _Group | None:
    tokens, depth = group.tokens + following.tokens, max(group.depth, following.depth)
    pairs = zip(group.headings, following.headings, strict=False)
    common = tuple(heading for heading, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if group.is_bare and group.tokens < max_tokens * MIN_PASSAGE and common == group.headings != following.headings:
        pieces = [*group.pieces, following.pieces[0]._replace(cut=NO_CUT), *following.pieces[1:]]
        return _Group(following.headings, pieces, tokens, depth, following.is_bare)
    if tokens <= max_tokens * MAX_JOINED and depth <= len(common) + 1:
        return _Group(common, group.pieces + following.pieces, tokens, depth, False)
    return None


def _pack(pieces: list[Piece], max_tokens: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Start and end of each passage that the pieces make."""
    sums = [0, *accumulate(piece.tokens for piece in pieces)]
    first = done = 0
    while done < len(pieces):
        stop = _passage_end(pieces, sums, first, done, max_tokens)
        yield pieces[first].start, pieces[stop - 1].end
        first, done = _overlap_start(pieces, sums, first + 1, stop, max_tokens, overlap), stop


def _overlap_start(
    pieces: list[Piece], sums: list[int], earliest: int, done: int, max_tokens: int, overlap: int
) -> int:
    """The piece with which the next passage starts: the last few done, if they and the next piece fit."""
    start = done
    if done < len(pieces):
        overlap = min(overlap, max_tokens - pieces[done].tokens)
    for at in range(done - 1, earliest - 1, -1):
        if sums[done] - sums[at] > overlap:
            break
        if pieces[at].can_overlap:
            start = at
    return start


def _passage_end(pieces: list[Piece], sums: list[int], first: int, done: int, max_tokens: int) -> int:
    """The best cut that leaves no tiny passage on either side; among equal cuts, the one that makes even passages."""
    rest, min_tokens = sums[-1] - sums[first], max_tokens * MIN_PASSAGE
    if rest <= max_tokens:
        return len(pieces)
    even = rest / ceil(rest / max_tokens)
    best, quality, fitting = 0, (-1, 0.0), done + 1
    for stop in range(done + 1, len(pieces)):
        tokens = sums[stop] - sums[first]
        if tokens > max_tokens + min_tokens:
            break
        fitting = stop
        if tokens <= max_tokens and sums[stop] - sums[done] >= min_tokens and sums[-1] - sums[stop] >= min_tokens:
            best, quality = max((best, quality), (stop, (pieces[stop].cut, -abs(tokens - even))), key=itemgetter(1))
    if rest <= max_tokens + min_tokens and quality[0] < PARAGRAPH:
        return len(pieces)
    return best or fitting
