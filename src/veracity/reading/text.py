"""Plain text and Markdown.

Knows nothing about encodings: the text comes decoded.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from veracity.reading.base import Reading, Unreadable, as_title, failed
from veracity.reading.detect import extension

# Objects become tuples of pairs, so that a name that comes twice is kept twice; numbers become text.
_decoder = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str, strict=False)


def read_json(text: str, name: str) -> Reading:
    try:
        value = _parsed(text)
    except json.JSONDecodeError as problem:
        if problem.msg == "Extra data" and "\n" in text.strip():
            return _lines_called_json(text, name, problem)
        raise _invalid(problem) from None
    return Reading(_rendered(value), _title(value), "json")


def read_jsonl(text: str, name: str) -> Reading:
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            values += [_parsed(line)] if line.strip() else []
        except json.JSONDecodeError as problem:
            raise failed(f"it is damaged: line {number} is not valid JSON ({problem.msg})") from None
    return Reading("\n\n".join(filter(None, map(_rendered, values))), "", "jsonl")


def _lines_called_json(text: str, name: str, problem: json.JSONDecodeError) -> Reading:
    try:
        return read_jsonl(text, name)
    except Unreadable:
        raise _invalid(problem) from None


def _invalid(problem: json.JSONDecodeError) -> Unreadable:
    return failed(f"it is damaged: not valid JSON at line {problem.lineno}, column {problem.colno} ({problem.msg})")


def _parsed(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise _too_deep() from None


def _rendered(value: Any) -> str:
    try:
        paragraphs = list(_paragraphs(value, ""))
    except RecursionError:
        raise _too_deep() from None
    return "\n\n".join("\n".join(lines) for lines in paragraphs if lines)


def _too_deep() -> Unreadable:
    return failed("it nests its values too deeply")


def _paragraphs(value: Any, path: str) -> Iterator[list[str]]:
    """The plain fields of an object first, then each object of its lists."""
    plain: list[str] = []
    lists: list[tuple[Any, str]] = []
    _gather(value, path, plain, lists)
    yield plain
    for entries, place in lists:
        for number, entry in enumerate(entries, 1):
            yield from _paragraphs(entry, f"{place}[{number}]" if place else "")


def _gather(value: Any, path: str, plain: list[str], lists: list[tuple[Any, str]]) -> None:
    if isinstance(value, tuple):
        for name, part in value:
            _gather(part, f"{path}.{name}" if path else name, plain, lists)
    elif isinstance(value, list) and any(isinstance(entry, tuple | list) for entry in value):
        lists.append((value, path))
    elif shown := ", ".join(filter(None, map(_shown, value))) if isinstance(value, list) else _shown(value):
        plain.append(f"{path}: {shown}" if path else shown)


def _shown(value: Any) -> str:
    return value.strip() if isinstance(value, str) else {True: "true", False: "false"}.get(value, "")


def _title(value: Any) -> str:
    fields = dict(value) if isinstance(value, tuple) else {}
    return as_title(fields.get("title", ""))


DELIMITERS = ",;\t|"
TRIED_ROWS = 50
TRIED_CHARACTERS = 50_000
LONGEST_NAME = 80

csv.field_size_limit(2**31 - 1)
_NUMBER = re.compile(r"[\s$€£¥+\-(]*\d[\d.,:/\-\s%]*\)?")


def read(text: str, name: str) -> Reading:
    delimiter = "\t" if extension(name) == ".tsv" else _delimiter(text)
    try:
        rows = [cells for cells in _rows(text, delimiter) if any(cells)]
    except csv.Error as problem:
        raise failed(f"it is damaged: {problem}") from None
    header = rows[0] if _has_header(rows) else []
    lines = [_line(cells, header) for cells in rows[1 if header else 0 :]]
    return Reading("\n".join(lines), "", "csv")


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    for cells in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        yield [" ".join(cell.split()) for cell in cells]


def _delimiter(text: str) -> str:
    """The one that cuts the first rows into the most regular columns."""
    sample = text[:TRIED_CHARACTERS]
    return max(DELIMITERS, key=lambda delimiter: _regularity(sample, delimiter))


def _regularity(sample: str, delimiter: str) -> tuple[float, int]:
    rows: list[list[str]] = []
    try:
        for cells in _rows(sample, delimiter):
            rows += [cells] if any(cells) else []
            if len(rows) == TRIED_ROWS:
                break
    except csv.Error:
        return 0.0, 0
    widths = [len(cells) for cells in (rows[:-1] if len(sample) == TRIED_CHARACTERS else rows)]
    usual = max(set(widths), key=widths.count, default=1)
    return (widths.count(usual) / len(widths), usual) if usual > 1 else (0.0, 0)


def _has_header(rows: list[list[str]]) -> bool:
    """Names are short, different, no numbers, and do not come again below."""
    if len(rows) < 2:
        return False
    first = rows[0]
    named = all(cell and len(cell) <= LONGEST_NAME and not _NUMBER.fullmatch(cell) for cell in first)
    again = any(cell == head for cells in rows[1 : TRIED_ROWS + 1] for cell, head in zip(cells, first, strict=False))
    return len(first) > 1 and named and not again and len(set(first)) == len(first)


def _line(cells: list[str], header: list[str]) -> str:
    named = [f"{head}: {cell}" for head, cell in zip(header, cells, strict=False) if cell]
    return "; ".join([*named, *(cell for cell in cells[len(header) :] if cell)])


_FRONT_MATTER = re.compile(r"\A\s*(---|\+\+\+)[ \t]*\n(.{0,20000}?)\n(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^[\w\"'][^\n:=]{0,100}\s*[:=]", re.MULTILINE)
_TITLE_FIELD = re.compile(r"^[\"']?title[\"']?\s*[:=]\s*(.+)$", re.MULTILINE | re.IGNORECASE)
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+([^\n]*)", re.MULTILINE)
_UNDERLINED = re.compile(r"(?:\A|\n)(?![#>\-*|])([^\n]{1,200})\n(?:={3,}|-{3,})[ \t]*(?:\n|\Z)")


def read_text(text: str, name: str) -> Reading:
    return Reading(text, "", "text")


def read_markdown(text: str, name: str) -> Reading:
    """Front matter gives the title and is left out."""
    title = ""
    front = _FRONT_MATTER.match(text)
    if front and (front[1] == "+++" or _FIELD.search(front[2]) or not front[2].strip()):
        field = _TITLE_FIELD.search(front[2])
        title = as_title(field[1].strip().strip("\"'")) if field else ""
        text = text[front.end() :]
    return Reading(text, title or first_heading(text), "markdown", markdown=True)


def first_heading(text: str) -> str:
    """The first line that is a heading, outside of code."""
    start = 0
    while (fence := _FENCE.search(text, start)) is not None:
        if found := _heading_in(text[start : fence.start()]):
            return found
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[1])}", re.MULTILINE).search(text, fence.end())
        if closing is None:
            return ""
        start = closing.end()
    return _heading_in(text[start:])


def _heading_in(text: str) -> str:
    found = [match for match in (_HEADING.search(text), _UNDERLINED.search(text)) if match]
    return as_title(min(found, key=lambda match: match.start())[1]).rstrip("#").rstrip() if found else ""
