"""What the database or the disk complains about, as one sentence. Knows nothing about what was asked of them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from veracity.errors import BusyLedgerError, LedgerError

LONGEST = 200
_BUSY = re.compile(r"database (table )?is locked|could not be acquired|database is busy", re.I)
_REMEDIES = [
    (re.compile(r"no space left|disk is full|disk quota", re.I), "make room on the disk."),
    (
        re.compile(r"permission denied|read-?only|unable to open|is a directory|not a directory|file exists", re.I),
        "make it a folder that can be read and written.",
    ),
    (re.compile(r"too many open files", re.I), "allow more open files (ulimit -n)."),
]
OTHERWISE = "if it stays so, bring it back from a backup, or remove it: answers already given are then no longer known."


@contextmanager
def explained(place: Path, otherwise: str = OTHERWISE) -> Iterator[None]:
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, NotImplementedError) as problem:
        raise _told(place, problem, otherwise) from problem


def busy(place: Path) -> BusyLedgerError:
    return BusyLedgerError(f'"{place}" is being written by another process: try again in a moment.')


def _told(place: Path, problem: BaseException, otherwise: str) -> LedgerError:
    """Of the database's own error: what SQLAlchemy adds are the statement and the values in it."""
    origin = problem.orig if isinstance(problem, DBAPIError) else problem
    text = " ".join(str(getattr(origin, "strerror", None) or origin).split())
    if _BUSY.search(text):
        return busy(place)
    remedy = next((told for sign, told in _REMEDIES if sign.search(text)), otherwise)
    return LedgerError(f'"{place}" cannot be used ({text[:LONGEST].strip(" ,.:") or type(origin).__name__}): {remedy}')
