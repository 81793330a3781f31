"""Excel: each sheet under a heading of its own, as a Markdown table.

Read with openpyxl itself rather than through a data frame, which would write NaN and "Unnamed: 0" where a cell is
empty. Knows nothing about zip archives.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import datetime, time
from typing import Any

import openpyxl  # type: ignore[import-untyped]

from veracity.reading.cleaning import tidy
from veracity.reading.properties import stored_title
from veracity.reading.result import Reading, skipped


def read(content: bytes, name: str) -> Reading:
    workbook = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    try:
        sheets = [(sheet.title, _rows(sheet)) for sheet in workbook.worksheets]
    finally:
        workbook.close()
    parts = [f"## {' '.join(title.split())}\n\n{_table(rows)}" for title, rows in sheets if rows]
    if not parts:
        raise skipped("it holds no text")
    return Reading(tidy("\n\n".join(parts)), stored_title(content), "xlsx", markdown=True)


def _rows(sheet: Any) -> list[list[str]]:
    """The rows that hold something, without the columns that are empty in all of them."""
    sheet.reset_dimensions()  # what the file claims of its size may be wrong by a million rows
    rows = [row for row in (_trimmed(cells) for cells in sheet.iter_rows(values_only=True)) if row]
    used = sorted({at for row in rows for at, cell in enumerate(row) if cell})
    return [[row[at] if at < len(row) else "" for at in used] for row in rows]


def _trimmed(cells: Iterable[Any]) -> list[str]:
    row = [_shown(cell) for cell in cells]
    while row and not row[-1]:
        row.pop()
    return row


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        midnight = value.time() == time()
        return value.date().isoformat() if midnight else value.isoformat(" ", "seconds")
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return " ".join(str(value).split()).replace("|", "\\|")


def _table(rows: list[list[str]]) -> str:
    head, *body = rows
    rule = ["---"] * len(head)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *body))
