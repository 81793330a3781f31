"""The pieces that passages are made of: sentences, items, rows, lines of code; and how large a text is.

Says of each piece how good a place its start is for a cut. Knows nothing about how pieces are packed into passages.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from veracity.knowledge.structure import Block, Line, starts_an_item
from veracity.language import sentences
from veracity.language.scripts import HAN, HIRAGANA, KATAKANA

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
