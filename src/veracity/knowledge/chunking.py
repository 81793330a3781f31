"""Cuts a text into passages: by sections, then paragraphs, list items and rows, then sentences.

A passage is a slice of the source, so that a quote from it can be shown in place. Passages of one section overlap by
whole sentences; none reaches into another section unless both are tiny. Knows nothing about files, search or
embedding models. Takes time linear in the text.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import ceil
from operator import itemgetter
from typing import Literal, NamedTuple

from veracity.language import sentences
from veracity.language.scripts import HAN, HIRAGANA, KATAKANA

# Beyond this a heading is a paragraph in disguise; its name is cut, the line itself stays in the text.
LONGEST_HEADING = 200
_LONGEST_FRONT_MATTER = 4000

_ATX = re.compile(r" {0,3}(#{1,6}+)(?:[ \t]++(.*))?\Z")
_UNDERLINE = re.compile(r" {0,3}(?:={2,}+|-{2,}+)\Z")
_FENCE = re.compile(r"[ \t]*+(`{3,}+(?=[^`]*\Z)|~{3,}+)")
_STARTS_AN_ITEM = re.compile(
    r"[ \t\u3000]*+(?:[-*+•·・◦‣▪■□◆●○>|]|[(（]?(?:\d{1,3}|[A-Za-z]|[一二三四五六七八九十]{1,3})[.)）、．]|[①-⑳])"
)


class Line(NamedTuple):
    """A line and where it stands; the text is without the whitespace at its end and without its line break."""

    start: int
    text: str


class Block(NamedTuple):
    """Lines that belong together. `level` and `title` are those of a heading."""

    kind: Literal["heading", "prose", "code"]
    lines: list[Line]
    level: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The blocks under one heading, with the heading itself; `headings` is the path to it, outermost first."""

    headings: tuple[str, ...]
    blocks: list[Block] = field(default_factory=list)

    @property
    def is_bare(self) -> bool:
        """Nothing but its heading."""
        return all(block.kind == "heading" for block in self.blocks)


def starts_an_item(line: str) -> bool:
    """The line opens a list item, a quotation or a table row, and so does not carry on the line before."""
    return _STARTS_AN_ITEM.match(line) is not None


def sections(text: str, *, markdown: bool) -> Iterator[Section]:
    """The sections of the text in order; text without headings is one section."""
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


def _lines(text: str) -> Iterator[Line]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield Line(start, line.rstrip())
        start += len(line)


def _paragraphs(text: str) -> Iterator[Block]:
    gathered: list[Line] = []
    for line in _lines(text):
        if line.text:
            gathered.append(line)
        elif gathered:
            yield Block("prose", gathered)
            gathered = []
    if gathered:
        yield Block("prose", gathered)


def _markdown_blocks(text: str) -> Iterator[Block]:
    gathered: list[Line] = []
    fence = "---" if _has_front_matter(text) else ""
    for line in _lines(text):
        if fence:
            gathered.append(line)
            if len(gathered) > 1 and _closes(line.text, fence):
                yield Block("code", gathered)
                gathered, fence = [], ""
            continue
        if heading := _heading(line, gathered):
            if heading.lines[0] is line:
                yield from _prose(gathered)
            gathered = []
            yield heading
            continue
        opening = _FENCE.match(line.text)
        if opening or not line.text:
            yield from _prose(gathered)
            gathered = []
        if line.text:
            gathered.append(line)
        fence = opening[1] if opening else ""
    yield from [Block("code", gathered)] if fence else _prose(gathered)


def _prose(gathered: list[Line]) -> list[Block]:
    return [Block("prose", gathered)] if gathered else []


def _heading(line: Line, before: list[Line]) -> Block | None:
    """The heading that the line is (`# Title`), or that it makes of the single line before by underlining it."""
    if atx := _ATX.match(line.text):
        return Block("heading", [line], len(atx[1]), _title(atx[2] or ""))
    if len(before) == 1 and _UNDERLINE.match(line.text) and not starts_an_item(before[0].text):
        level = 1 if line.text.endswith("=") else 2
        return Block("heading", [before[0], line], level, _title(before[0].text))
    return None


def _title(text: str) -> str:
    """Without the hashes that may close a heading."""
    bare = text.rstrip("#")
    if not bare or bare[-1] in " \t":
        text = bare
    return text.strip()[:LONGEST_HEADING].rstrip()


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and bare == fence[0] * len(bare)


def _has_front_matter(text: str) -> bool:
    return text.startswith(("---\n", "---\r\n")) and "\n---" in text[4:_LONGEST_FRONT_MATTER]


# How good a place it is to cut before a piece. A heading or lead-in is glued to what follows it.
GLUED, FRAGMENT, SENTENCE, LINE, PARAGRAPH = range(5)

_LONGEST_LEAD_IN = 80
_WRAPPED_WIDTHS = range(20, 200)
_PAUSES = ",;:，、；：）)】」』…—-/"

# Six letters to a wordpiece would count every text too long, eight would count technical prose too short.
_CJK = f"{HAN}{HIRAGANA}{KATAKANA}"
_WORDPIECE = re.compile(rf"[{_CJK}]|(?:(?![{_CJK}])[^\W\d_]){{1,7}}+|\d{{1,2}}+|[^\w\s]|_")
_ASCII_WORDPIECE = re.compile(r"[A-Za-z]{1,7}+|[0-9]{1,2}+|[^A-Za-z0-9\s]")
_FOUR_CJK = re.compile(f"[{_CJK}]{{4}}")


def size(text: str) -> int:
    """About how many pieces an embedding model cuts the text into; never more than the sizes of its parts together.

    Latin words count one for every seven letters begun, punctuation one a mark, Chinese and Japanese three for every
    four characters.
    """
    if text.isascii():
        return len(_ASCII_WORDPIECE.findall(text))
    return len(_WORDPIECE.findall(text)) - len(_FOUR_CJK.findall(text))


class Piece(NamedTuple):
    """What is not cut any further: a sentence, a row, a line of code, a fragment of an endless sentence."""

    start: int
    end: int
    size: int
    cut: int  # how good a place its start is for a cut
    opens: bool  # may open the next chunk again, as overlap


class _Run(NamedTuple):
    """What is one line to the reader."""

    kind: Literal["prose", "item", "row"]
    start: int
    end: int


def pieces_of(text: str, blocks: Sequence[Block], most: int) -> Iterator[Piece]:
    """The pieces of some blocks of the text in order, none larger than `most`."""
    cut = PARAGRAPH
    for block in blocks:
        yield from _pieces_of_block(text, block, cut, most)
        cut = GLUED if block.kind == "heading" or _leads_in(block) else PARAGRAPH


def _leads_in(block: Block) -> bool:
    """A title of its own, or `The rules are:` – a short line that ends as no sentence does."""
    line = block.lines[0].text
    if block.kind == "code" or len(block.lines) > 1 or len(line) > _LONGEST_LEAD_IN or starts_an_item(line):
        return False
    return line[-1].isalnum() or line[-1] in ":：*"


def _pieces_of_block(text: str, block: Block, cut: int, most: int) -> Iterator[Piece]:
    for run in _code_lines(block.lines) if block.kind == "code" else _runs(block.lines):
        opens = block.kind != "heading"
        for start, end, weight in _parts(text, run, most):
            if weight <= most:
                yield Piece(start, end, weight, cut, opens)
            else:
                yield from _fragments(text, start, end, cut, max(1, most // 4))
            cut, opens = SENTENCE, opens and run.kind == "prose"
        cut = LINE if block.kind != "heading" else GLUED


def _parts(text: str, run: _Run, most: int) -> Iterator[tuple[int, int, int]]:
    """Bounds and sizes of the sentences of a run; a row is one part if it fits a chunk."""
    if run.kind == "row" and (weight := size(text[run.start : run.end])) <= most:
        yield run.start, run.end, weight
        return
    # Seen as one line, so that a sentence may go on over the end of a line.
    line = text[run.start : run.end].replace("\n", " ").replace("\r", " ")
    for sentence in sentences(line):
        yield run.start + sentence.start, run.start + sentence.end, size(sentence.text)


def _code_lines(lines: list[Line]) -> Iterator[_Run]:
    return (_run("row", line, line) for line in lines if line.text)


def _runs(lines: list[Line]) -> Iterator[_Run]:
    """What is one line to the reader: an item, a row, or lines of prose broken only for their length."""
    widest = max(len(line.text) for line in lines)
    first = before = lines[0]
    in_table = False
    for line in lines[1:]:
        is_row = _alike(before.text, line.text)
        if is_row or not _goes_on(before.text, line.text, widest):
            yield _run("row" if is_row or in_table else _kind(first.text), first, before)
            first, in_table = line, is_row
        before = line
    yield _run("row" if in_table else _kind(first.text), first, before)


def _run(kind: Literal["prose", "item", "row"], first: Line, last: Line) -> _Run:
    indent = len(first.text) - len(first.text.lstrip())
    return _Run(kind, first.start + indent, last.start + len(last.text))


def _kind(line: str) -> Literal["prose", "item"]:
    return "item" if starts_an_item(line) else "prose"


def _alike(one: str, other: str) -> bool:
    """Rows of one table: cut into as many cells by the same mark. A comma of prose has a space behind it."""
    return any(one.count(mark) == other.count(mark) > 1 for mark in "\t|") or any(
        one.count(mark) - one.count(f"{mark} ") == other.count(mark) - other.count(f"{mark} ") > 1 for mark in ",;"
    )


def _goes_on(before: str, line: str, widest: int) -> bool:
    return widest in _WRAPPED_WIDTHS and len(before) >= 0.6 * widest and not starts_an_item(line)


def _fragments(text: str, start: int, end: int, cut: int, most: int) -> Iterator[Piece]:
    """Parts of an endless sentence, cut at the best place in the second half of what fits."""
    places = [*(found.start() for found in _WORDPIECE.finditer(text, start, end)), end]
    at, last = 0, len(places) - 1
    while at < last:
        upto = min(at + most, last)
        if upto < last:
            upto = max(range(upto, at + most // 2, -1), key=lambda place: _worth_of_cut(text, places[place]))
        part = text[places[at] : places[upto]].rstrip()
        yield Piece(places[at], places[at] + len(part), size(part), cut, False)
        at, cut = upto, FRAGMENT


def _worth_of_cut(text: str, at: int) -> int:
    before, after = text[at - 1], text[at]
    if _joins(before, after):
        return 0
    if before in "\r\n":
        return 4
    if before.isspace():
        return 3
    return 2 if before in _PAUSES else 1


def _joins(before: str, after: str) -> bool:
    """The two characters are seen as one, or as parts of one: accents, voicing marks, joined emoji."""
    return (
        unicodedata.category(after) in ("Mn", "Mc", "Me")
        or "\u200d" in (before, after)
        or after in "ﾞﾟ"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\udc00" <= after <= "\udfff"
    )


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
