"""Plain text formats, already decoded: JSON and CSV."""

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from veracity.reading.base import Reading, Unreadable, as_title, failed

DELIMITERS = ",;\t|"
SAMPLE_ROWS = 50
SAMPLE_CHARACTERS = 50_000
MAX_COLUMN_NAME_LENGTH = 80
TOO_DEEP = "it nests its values too deeply"

_NUMBER = re.compile(r"[\s$€£¥+\-(]*\d[\d.,:/\-\s%]*\)?")

# Objects become tuples of pairs, so that duplicate names are kept. Numbers become text.
_decoder = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str, strict=False)
csv.field_size_limit(2**31 - 1)


def read_json(text: str) -> Reading:
    try:
        value = _parse(text)
    except json.JSONDecodeError as problem:
        if problem.msg == "Extra data" and "\n" in text.strip():  # it may be JSON Lines under the name .json
            try:
                return read_jsonl(text)
            except Unreadable:
                pass
        raise failed(
            f"it is damaged: not valid JSON at line {problem.lineno}, column {problem.colno} ({problem.msg})"
        ) from None
    title = dict(value).get("title", "") if isinstance(value, tuple) else ""
    return Reading(_render(value), as_title(title), "json")


def read_jsonl(text: str) -> Reading:
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            values += [_parse(line)] if line.strip() else []
        except json.JSONDecodeError as problem:
            raise failed(f"it is damaged: line {number} is not valid JSON ({problem.msg})") from None
    return Reading("\n\n".join(filter(None, map(_render, values))), "", "jsonl")


def _parse(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise failed(TOO_DEEP) from None


def _render(value: Any) -> str:
    try:
        paragraphs = list(_paragraphs(value, ""))
    except RecursionError:
        raise failed(TOO_DEEP) from None
    return "\n\n".join("\n".join(lines) for lines in paragraphs if lines)


def _paragraphs(value: Any, path: str) -> Iterator[list[str]]:
    """The plain fields of an object first, then each object of its lists."""
    lines: list[str] = []
    lists: list[tuple[Any, str]] = []
    _collect(value, path, lines, lists)
    yield lines
    for entries, place in lists:
        for number, entry in enumerate(entries, 1):
            yield from _paragraphs(entry, f"{place}[{number}]" if place else "")


def _collect(value: Any, path: str, lines: list[str], lists: list[tuple[Any, str]]) -> None:
    if isinstance(value, tuple):
        for name, part in value:
            _collect(part, f"{path}.{name}" if path else name, lines, lists)
    elif isinstance(value, list) and any(isinstance(entry, tuple | list) for entry in value):
        lists.append((value, path))
    elif shown := ", ".join(filter(None, map(_scalar, value))) if isinstance(value, list) else _scalar(value):
        lines.append(f"{path}: {shown}" if path else shown)


def _scalar(value: Any) -> str:
    return value.strip() if isinstance(value, str) else {True: "true", False: "false"}.get(value, "")


def read_csv(text: str, delimiter: str | None = None) -> Reading:
    """Each row becomes a line. With a header, cells are written as `name: value`."""
    sample = text[:SAMPLE_CHARACTERS]
    delimiter = delimiter or max(DELIMITERS, key=lambda candidate: _regularity(sample, candidate))
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


def _regularity(sample: str, delimiter: str) -> tuple[float, int]:
    """The share of rows with the usual number of columns, and that number."""
    rows: list[list[str]] = []
    try:
        for cells in _rows(sample, delimiter):
            rows += [cells] if any(cells) else []
            if len(rows) == SAMPLE_ROWS:
                break
    except csv.Error:
        return 0.0, 0
    widths = [len(cells) for cells in (rows[:-1] if len(sample) == SAMPLE_CHARACTERS else rows)]
    usual = max(set(widths), key=widths.count, default=1)
    return (widths.count(usual) / len(widths), usual) if usual > 1 else (0.0, 0)


def _has_header(rows: list[list[str]]) -> bool:
    """True if the first row holds short, distinct names that are not numbers and do not repeat below."""
    if len(rows) < 2:
        return False
    first = rows[0]
    are_names = all(cell and len(cell) <= MAX_COLUMN_NAME_LENGTH and not _NUMBER.fullmatch(cell) for cell in first)
    repeats = any(cell == head for cells in rows[1 : SAMPLE_ROWS + 1] for cell, head in zip(cells, first, strict=False))
    return len(first) > 1 and are_names and not repeats and len(set(first)) == len(first)


def _line(cells: list[str], header: list[str]) -> str:
    named = [f"{head}: {cell}" for head, cell in zip(header, cells, strict=False) if cell]
    return "; ".join([*named, *(cell for cell in cells[len(header) :] if cell)])
