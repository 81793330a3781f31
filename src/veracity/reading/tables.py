"""Comma- and tab-separated values: one line per row, with the name of each column, so that a row is understood alone.

Knows nothing about encodings: the text comes decoded.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from veracity.reading.formats import extension
from veracity.reading.result import Reading, failed

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
