"""The database of the ledger: what SQLite and Postgres have in common, and the messages of their errors."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from veracity.errors import BusyLedgerError, LedgerError
from veracity.models import LedgerChange
from veracity.printable import encodable

BUSY_SECONDS = 15.0  # to wait for another writer
MAX_REASON_LENGTH = 200
DEFAULT_REMEDY = "if the problem persists, restore it from a backup, or delete it, which loses all earlier answers."
_BUSY = re.compile(r"database (table )?is locked|could not be acquired|database is busy", re.I)
_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_REMEDIES = [
    (re.compile(r"no space left|disk is full|disk quota", re.I), "free some disk space."),
    (
        re.compile(r"permission denied|read-?only|unable to open|is a directory|not a directory|file exists", re.I),
        "make it a folder that can be read and written.",
    ),
    (re.compile(r"too many open files", re.I), "allow more open files (ulimit -n)."),
]


class Database(Protocol):
    """Threads can share it."""

    @property
    def exists(self) -> bool:
        """Whether it has been created. Reading one that does not exist yields nothing and creates nothing."""

    def reading(self) -> AbstractContextManager[sa.Connection]: ...

    def writing(self, *, priority: bool = False, exclusive: bool = False) -> AbstractContextManager[sa.Connection]:
        """One transaction. With `exclusive` no other one writes meanwhile; without, other ones may, to rows that this
        one has not locked. With `priority` it goes before all waiting threads without, where writers wait in turn."""

    def notify(self, connection: sa.Connection, *changes: LedgerChange) -> None:
        """Tell other processes when the transaction commits, where they can be told."""

    def scrub(self) -> None:
        """Remove the bytes of deleted rows from the files."""

    def erase_checkpoints(self, keep: Collection[str]) -> None:
        """Erase the checkpoints of all runs but these. Running processes need them only to resume."""

    def close(self) -> None: ...


@contextmanager
def translate_errors(path: Path, remedy: str = DEFAULT_REMEDY) -> Iterator[None]:
    """Raises errors of the database and the file system as `LedgerError`."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, NotImplementedError) as error:
        raise _ledger_error(path, error, remedy) from error


def busy(path: Path) -> BusyLedgerError:
    return BusyLedgerError(f'"{path}" is being written by another process: try again in a moment.')


def _ledger_error(path: Path, error: BaseException, default_remedy: str) -> LedgerError:
    # The driver's own message: SQLAlchemy's holds the statement and its values.
    cause = error.orig if isinstance(error, DBAPIError) else error
    reason = " ".join(str(getattr(cause, "strerror", None) or cause).split())
    if _BUSY.search(reason):
        return busy(path)
    remedy = next((remedy for pattern, remedy in _REMEDIES if pattern.search(reason)), default_remedy)
    reason = reason[:MAX_REASON_LENGTH].strip(" ,.:") or type(cause).__name__
    return LedgerError(f'"{path}" cannot be used ({reason}): {remedy}')


def dump_json(value: Any) -> str:
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def dump_json_without_nul(value: Any) -> str:
    """Postgres cannot extract NUL from JSON."""
    return without_nul(dump_json(value))


def without_nul(encoded: str) -> str:
    """JSON with another character instead of each NUL."""
    return _ESCAPED_NUL.sub("\\1\ufffd", encoded) if "\\u0000" in encoded else encoded
