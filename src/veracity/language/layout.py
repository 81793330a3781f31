"""Lays out the text of a document: its headings, sentences, list items, table rows and code.

Joins hard-wrapped lines before it splits sentences. A list item or a table row is one unit with all of its sentences,
because a later sentence ("Default is 500.") is about the first. Expects Markdown, and reads plain text as well: lines
of plain text that do not wrap are units of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from veracity.language.scripts import HAN, HIRAGANA, KATAKANA
from veracity.language.sentences import Sentence, sentences
from veracity.models import Evidence
from veracity.patterns import lazy_pattern

HARD_WRAP_WIDTHS = range(20, 200)
MIN_WRAPPED_SHARE = 0.6  # of the longest line of its paragraph
MAX_HEADING_LENGTH = 60  # characters of an unmarked heading
TAB_WIDTH = 4

_CJK = f"{HAN}{HIRAGANA}{KATAKANA}"
_ITEM_START = lazy_pattern(
    r"[ \t\u3000]*+(?:[-*+•·・◦‣▪■□◆●○>|]|[(（]?(?:\d{1,3}|[A-Za-z]|[一二三四五六七八九十]{1,3})[.)）、．]|[①-⑳])"
)
_LIST_ITEM = lazy_pattern(
    r"[ \t\u3000]*(?:[-*+•◦‣▪■□◆●○]\s|[·・]\s?|[①-⑳]|:[ \t]{1,8}(?=\S)"
    r"|[(（]?(?:\d{1,3}|[A-Za-z]|[一二三四五六七八九十]{1,3})(?:[.)）]\s|[、．）]))"
)
FENCE = lazy_pattern(r"[ \t]*+(`{3,}+(?=[^`]*\Z)|~{3,}+)")
_MARKED_HEADING = lazy_pattern(r" {0,3}#{1,6}\s|\s*\*\*[^*\n]{1,200}\*\*[:：]?$|\s*<h\d")
_UNDERLINE = lazy_pattern("={3,}|-{3,}")
_QUOTE_MARK = lazy_pattern(r"\n[ \t]*>+|\r?\n")
_RULE_CHARACTERS = frozenset("|:+=- \t")
# Lines that end a sentence, start an item, assign a value or contain table cells.
_NO_HEADING = lazy_pattern(r"[.!?。！？,，、;；:：|]$|^[-*•・+>|\d(（]|[:：|=]\s*\S|[。；]")
_STOPS = tuple('.!?。！？)）」』”"')
# `Total: 34.50`: a line of its own, whatever its length.
_FIELD = lazy_pattern(r"\s*(?:\*\*)?[^\W\d_][^:：\n]{0,40}(?:[:：](?:\*\*)?)\s*\S")
_CONTINUES = lazy_pattern(r"\s*[a-z]")
_LEAD_IN = lazy_pattern(
    r"[:：]\**$|\b(?:following|below|these)\b[^.]{0,40}[.]?$|(?:如下|以下|下列|次の)[^。]{0,20}[。]?$", re.IGNORECASE
)

UnitKind = Literal["heading", "prose", "item", "head", "row", "code"]


class Line(NamedTuple):
    """A line without its line break and trailing whitespace."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Run(NamedTuple):
    """One logical line: a list item, a table row, or prose that is hard-wrapped."""

    kind: Literal["prose", "item", "row"]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Unit:
    """A quotable part of a text. `sentences` are its sentences, with positions in the text.

    `lead` is the index of the unit that introduces it: the line before a list or code, the item around a nested one, or
    the head of the table; -1 if there is none. `paragraph` numbers the paragraphs: sentences of one are neighbours.
    """

    kind: UnitKind
    sentences: tuple[Sentence, ...]
    paragraph: int
    heading: str = ""
    lead: int = -1

    @property
    def start(self) -> int:
        return self.sentences[0].start

    @property
    def end(self) -> int:
        return self.sentences[-1].end

    @property
    def states(self) -> bool:
        return self.kind in ("prose", "item", "row")


def lines_of(text: str) -> Iterator[Line]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield Line(start, line.rstrip())
        start += len(line)


def starts_item(line: str) -> bool:
    """True if the line opens a list item, a quotation or a table row, so it does not continue the line before."""
    return _ITEM_START.match(line) is not None


def split_runs(lines: Sequence[Line]) -> Iterator[Run]:
    """The logical lines of a block of lines without blank ones."""
    width = max(len(line.text) for line in lines)
    first = previous = lines[0]
    in_table = False
    for line in lines[1:]:
        is_row = _same_columns(previous.text, line.text)
        if is_row or not _is_wrapped(previous.text, line.text, width):
            yield make_run("row" if is_row or in_table else _run_kind(first.text), first, previous)
            first, in_table = line, is_row
        previous = line
    yield make_run("row" if in_table else _run_kind(first.text), first, previous)


def make_run(kind: Literal["prose", "item", "row"], first: Line, last: Line) -> Run:
    return Run(kind, first.start + _indent_length(first.text), last.end)


def join_lines(text: str) -> str:
    """The text on one line, of the same length, without quotation marks of Markdown."""
    return _QUOTE_MARK.sub(lambda match: " " * len(match[0]), text)


def one_line(text: str) -> str:
    """The text on one line, with single spaces. Lines of Chinese and Japanese are joined without one."""
    return " ".join(_CJK_BREAK.sub("", _QUOTE_MARK.sub("\n", text)).split())


_CJK_BREAK = lazy_pattern(rf"(?<=[{_CJK}、。，；：！？）」』])[ \t]*\r?\n[ \t]*(?=[{_CJK}（「『])")


def unit_text(unit: Unit, units: Sequence[Unit]) -> str:
    """The unit on one line: a table row as `column: cell; …`."""
    text = " ".join(one_line(sentence.text) for sentence in unit.sentences)
    if unit.kind != "row" or unit.lead < 0:
        return text
    names, cells = _cells(units[unit.lead].sentences[0].text), _cells(text)
    if len(names) != len(cells):
        return text
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell)


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def lay_out(text: str, headings: frozenset[str] = frozenset()) -> list[Unit]:
    """The units in order. `headings` are lines that are known to be headings."""
    return _Layout(text, headings).units


def units_of(item: Evidence) -> list[Unit]:
    """The units of a passage."""
    return lay_out(item.text, frozenset(name.strip() for name in (item.title, *item.headings)) - {""})


class _Layout:
    def __init__(self, text: str, headings: frozenset[str]) -> None:
        self.units: list[Unit] = []
        self._text = text
        self._known_headings = headings
        self._lines = list(lines_of(text))
        self._heading = ""
        self._paragraph = 0
        self._items: list[tuple[int, int]] = []  # indent and unit of the open items, outermost first
        self._lead = -1
        self._read()

    def _read(self) -> None:
        at = 0
        while at < len(self._lines):
            line = self._lines[at]
            if not line.text.strip():
                at += 1
            elif FENCE.match(line.text):
                at = self._read_code(at)
            elif self._is_heading(at):
                self._add_heading(line)
                at += 1
            elif self._is_table(at):
                at = self._read_table(at)
            elif is_rule(line.text):
                at += 1
            elif _LIST_ITEM.match(line.text):
                at = self._read_item(at)
            else:
                at = self._read_paragraph(at)

    def _line_text(self, at: int) -> str:
        return self._lines[at].text.strip() if 0 <= at < len(self._lines) else ""

    def _is_heading(self, at: int) -> bool:
        """Whether the line is marked, underlined or known as a heading, or is short, without punctuation, after an
        empty line."""
        bare = self._line_text(at)
        if _MARKED_HEADING.match(self._lines[at].text) or bare in self._known_headings:
            return True
        if bare and _UNDERLINE.fullmatch(self._line_text(at + 1)) and not self._line_text(at - 1):
            return True
        if not bare or len(bare) > MAX_HEADING_LENGTH or self._line_text(at - 1) or _NO_HEADING.search(bare):
            return False
        below = self._line_text(at + 1) or self._line_text(at + 2)
        is_close = bool(self._line_text(at + 1))  # then it may as well be the first line of a paragraph
        is_longer = len(below) > (2 if is_close else 1) * len(bare)
        return is_longer and below.endswith(_STOPS) and not _CONTINUES.match(below)

    def _add_heading(self, line: Line) -> None:
        self._heading, self._lead, self._items = line.text.strip(), -1, []
        self._add("heading", [line])

    def _is_table(self, at: int) -> bool:
        return "|" in self._line_text(at) and is_rule(self._line_text(at + 1)) and "|" in self._line_text(at + 1)

    def _read_table(self, at: int) -> int:
        head = self._add("head", [self._lines[at]])
        at += 2
        while at < len(self._lines) and "|" in self._line_text(at):
            self._add("row", [self._lines[at]], lead=head)
            at += 1
        return at

    def _read_code(self, at: int) -> int:
        fence = FENCE.match(self._lines[at].text)
        assert fence is not None
        mark, first = fence[1], at + 1
        at = first
        while at < len(self._lines) and not self._line_text(at).startswith(mark):
            at += 1
        lines = [line for line in self._lines[first:at] if line.text.strip()]
        if lines:
            self._add("code", lines, lead=self._lead)
        return at + 1

    def _read_item(self, at: int) -> int:
        """The item with all lines below it that are indented or wrapped."""
        indent = _indent(self._lines[at].text)
        self._items = [(outer, unit) for outer, unit in self._items if outer < indent]
        lead = self._items[-1][1] if self._items else self._lead
        lines, at = [self._lines[at]], at + 1
        while at < len(self._lines) and self._continues_item(at, indent):
            if self._line_text(at):
                lines.append(self._lines[at])
            at += 1
        unit = self._add("item", lines, lead=lead)
        self._items.append((indent, unit))
        return at

    def _continues_item(self, at: int, indent: int) -> bool:
        line = self._lines[at].text
        if not line.strip():
            following = self._lines[at + 1].text if at + 1 < len(self._lines) else ""
            return bool(following.strip()) and _indent(following) > indent and not self._opens_block(at + 1)
        if self._opens_block(at):
            return False
        return _indent(line) > indent or bool(self._line_text(at - 1))

    def _opens_block(self, at: int) -> bool:
        line = self._lines[at].text
        is_marked = bool(_LIST_ITEM.match(line) or FENCE.match(line) or _MARKED_HEADING.match(line))
        return is_marked or line.strip() in self._known_headings or self._is_table(at)

    def _read_paragraph(self, at: int) -> int:
        self._paragraph += 1
        lines = [self._lines[at]]
        is_inside = bool(self._items) and _indent(self._lines[at].text) > self._items[-1][0]
        at += 1
        while at < len(self._lines) and self._line_text(at) and not self._opens_block(at):
            lines.append(self._lines[at])
            at += 1
        lead = self._items[-1][1] if is_inside else -1
        if not is_inside:
            self._items = []
        for run in split_runs(lines):
            self._add_sentences(run, lead)
        last = self.units[-1] if self.units else None
        is_lead_in = last is not None and last.kind == "prose" and _LEAD_IN.search(last.sentences[-1].text)
        self._lead = len(self.units) - 1 if is_lead_in else -1
        return at

    def _add_sentences(self, run: Run, lead: int) -> None:
        for sentence in self._sentences(run.start, run.end):
            self.units.append(Unit("prose", (sentence,), self._paragraph, self._heading, lead))

    def _sentences(self, start: int, end: int) -> Iterator[Sentence]:
        for sentence in sentences(join_lines(self._text[start:end])):
            first, last = start + sentence.start, start + sentence.end
            yield Sentence(self._text[first:last], first, last)

    def _add(self, kind: UnitKind, lines: Sequence[Line], lead: int = -1) -> int:
        start, end = lines[0].start + _indent_length(lines[0].text), lines[-1].end
        if kind == "code":
            found = tuple(
                Sentence(line.text.strip(), line.start + _indent_length(line.text), line.end) for line in lines
            )
        elif kind in ("row", "head", "heading"):
            found = (Sentence(self._text[start:end], start, end),)
        else:
            found = tuple(self._sentences(start, end))
        if not found:
            return lead
        self._paragraph += 1
        heading = "" if kind == "heading" else self._heading
        self.units.append(Unit(kind, found, self._paragraph, heading, lead))
        return len(self.units) - 1


def is_rule(line: str) -> bool:
    return ("--" in line or "==" in line) and _RULE_CHARACTERS.issuperset(line)


def _is_wrapped(previous: str, line: str, width: int) -> bool:
    """Whether the line continues the sentence of the line before."""
    if starts_item(line):
        return previous.lstrip().startswith(">") and line.lstrip().startswith(">")
    if _FIELD.match(previous) and _FIELD.match(line):
        return False
    if previous and (previous[-1].isalnum() or previous[-1] in ",，、") and _CONTINUES.match(line):
        return True
    return width in HARD_WRAP_WIDTHS and len(previous) >= MIN_WRAPPED_SHARE * width


def _run_kind(line: str) -> Literal["prose", "item"]:
    return "item" if starts_item(line) else "prose"


def _same_columns(line: str, other: str) -> bool:
    """True for rows of one table: as many cells by the same delimiter. A comma in prose is followed by a space."""
    return any(line.count(mark) == other.count(mark) > 1 for mark in "\t|") or any(
        line.count(mark) - line.count(f"{mark} ") == other.count(mark) - other.count(f"{mark} ") > 1 for mark in ",;"
    )


def _indent(line: str) -> int:
    return len(line.expandtabs(TAB_WIDTH)) - len(line.expandtabs(TAB_WIDTH).lstrip())


def _indent_length(line: str) -> int:
    return len(line) - len(line.lstrip())
