"""The structure a text shows on its face: sections under their headings, and blocks of lines within them.

Blocks are what blank lines part: paragraphs, lists, tables; in Markdown also headings and fenced code. Knows nothing
about sentences or about how long a passage may be. Takes time linear in the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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
