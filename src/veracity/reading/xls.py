"""Excel before 2007 (.xls), as Markdown tables."""

import io
from typing import Any

import xlrd  # type: ignore[import-untyped]

from veracity.reading.base import ENCRYPTED, Reading, failed, skipped, tidy
from veracity.reading.office import cell_text, table


def read_xls(content: bytes) -> Reading:
    try:
        workbook = xlrd.open_workbook(file_contents=content, logfile=io.StringIO())
    except xlrd.XLRDError as problem:
        if "encrypted" in str(problem).lower():
            raise failed(ENCRYPTED) from None
        raise failed(f"it is damaged: {problem}") from None
    sheets = [(sheet.name, _rows(sheet, workbook.datemode)) for sheet in workbook.sheets()]
    parts = [f"## {' '.join(name.split())}\n\n{table(rows)}" for name, rows in sheets if rows]
    if not parts:
        raise skipped("it holds no text")
    return Reading(tidy("\n\n".join(parts)), "", "xls", markdown=True)


def _rows(sheet: Any, datemode: int) -> list[list[str]]:
    """The rows that hold something, without columns that are empty in all of them."""
    rows = [[_text(cell, datemode) for cell in sheet.row(number)] for number in range(sheet.nrows)]
    columns = sorted({column for row in rows for column, text in enumerate(row) if text})
    return [[row[column] if column < len(row) else "" for column in columns] for row in rows if any(row)]


def _text(cell: Any, datemode: int) -> str:
    if cell.ctype == xlrd.XL_CELL_DATE:
        try:
            return cell_text(xlrd.xldate_as_datetime(cell.value, datemode))
        except (ValueError, OverflowError):  # a number that no date has
            return cell_text(cell.value)
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return cell_text(bool(cell.value))
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    return cell_text(cell.value)
