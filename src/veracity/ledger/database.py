"""The database of the ledger: SQLite in WAL mode, shared by any number of processes and threads.

What is committed survives a kill of the process. A loss of power may lose the last milliseconds, never more: commits go
to the disk at checkpoints (`synchronous=NORMAL`). Everything that only SQLite knows stands here. Knows nothing about
runs.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from filelock import FileLock
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    NullPool,
    Table,
    create_engine,
    event,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn, CreateIndex

from veracity.errors import BusyLedgerError, LedgerError
from veracity.ledger.tables import (
    approvals,
    conversations,
    feedback,
    leases,
    ledger_version,
    recall_terms,
    recall_vectors,
    runs,
    tables,
    users,
)
from veracity.printable import encodable

ENDED = "The process that worked on it ended."


def _to_conversations(connection: Connection) -> None:
    """Version 2: conversations, approvals and leases. No run of version 1 can be taken up again. (Who changes one of
    these tables later writes down here what it was.)"""
    _add_columns(connection, runs, "conversation", "turn", "max_rewrites", "deadline")
    for index in runs.indexes:
        if index.name in ("runs_of_user", "runs_of_conversation", "runs_by_status"):
            index.create(connection, checkfirst=True)
    tables.create_all(connection, tables=[leases, approvals, conversations, recall_terms, recall_vectors])
    connection.execute(update(runs).where(runs.c.status == "running").values(status="failed", problem=ENDED))


def _to_users(connection: Connection) -> None:
    """Version 3: who may use the workspace, what they say of answers, how approvals stand at a glance, and questions
    that are sent again."""
    _add_columns(connection, runs, "request_key")
    tables.create_all(connection, tables=[users, feedback])
    # Some are there, and those of expressions cannot be looked up beforehand.
    for index in (*approvals.indexes, *runs.indexes):
        connection.execute(CreateIndex(index, if_not_exists=True))


def _add_columns(connection: Connection, table: Table, *names: str) -> None:
    for name in names:
        column = CreateColumn(table.c[name]).compile(dialect=connection.dialect)
        connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {column}"))


# Each leads from one version to the next. A ledger that is new gets the tables as schema.py has them.
CHANGES: Sequence[Callable[[Connection], None]] = (_to_conversations, _to_users)
CURRENT = 1 + len(CHANGES)


def migrate(reader: Engine, writer: Engine) -> None:
    """All in one transaction: who is killed in the midst of it has changed nothing."""
    with reader.connect() as connection:
        if _require_known(connection) == CURRENT:
            return
    with writer.begin() as connection:
        found = _require_known(connection)  # another process may have been faster
        if found == 0:
            tables.create_all(connection)
        for change in CHANGES[max(found - 1, 0) :] if found else ():
            change(connection)
        if found < CURRENT:
            connection.execute(insert(ledger_version), {"version": CURRENT})


def _require_known(connection: Connection) -> int:
    if not inspect(connection).has_table(ledger_version.name):
        return 0
    found = int(connection.execute(select(func.max(ledger_version.c.version))).scalar() or 0)
    if found > CURRENT:
        raise LedgerError(
            f"The ledger of this workspace was written by a newer Veracity (its version is {found}, this program knows "
            f"{CURRENT}): update Veracity."
        )
    return found


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


BUSY_SECONDS = 15.0  # how long one waits for another who writes


class Database:
    """The folder is made with the first write; until then there is nothing to read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "ledger.sqlite"
        self._opening = threading.Lock()
        self._turns = WritingTurns()
        self._engine: Engine | None = None

    @property
    def is_there(self) -> bool:
        return self._engine is not None or self._path.exists()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with explained(self._folder), (self._opened() if self.is_there else _nothing()).connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, first: bool = False) -> Iterator[Connection]:
        """One transaction, and nobody else writes meanwhile. Who goes `first` waits for none of the others' threads but
        the one that is at it."""
        with explained(self._folder), self._turn(first), _for_writing(self._opened()).begin() as connection:
            yield connection

    def scrub(self) -> None:
        """Leave no byte of what was removed."""
        with explained(self._folder), self._turn(), closing(self._opened().raw_connection()) as raw:
            write_anew(cast(sqlite3.Connection, raw.driver_connection), self._folder)

    @contextmanager
    def _turn(self, first: bool = False) -> Iterator[None]:
        """Whoever waits behind others waits no longer than they do."""
        if not self._turns.begin(first, BUSY_SECONDS):
            raise busy(self._folder)
        try:
            yield
        finally:
            self._turns.end()

    def close(self) -> None:
        with self._opening:
            if self._engine is not None:
                self._engine.dispose()
            self._engine = None

    def _opened(self) -> Engine:
        with self._opening:
            if self._engine is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                # Two that switch a new file to WAL at once would be told "locked" without having waited.
                with FileLock(self._folder / ".opening.lock", timeout=BUSY_SECONDS):
                    self._engine = _open(self._path)
            return self._engine


class WritingTurns:
    """One thread at a time. SQLite itself would let them try again and again, and whoever is unlucky wait for long."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_taken = False
        self._first = 0  # that wait and go before all others

    def begin(self, first: bool, patience: float) -> bool:
        """False: it took longer than this."""
        with self._changed:
            self._first += first
            try:
                has_come = self._changed.wait_for(lambda: self._is_free(first), patience)
            finally:
                self._first -= first
            self._is_taken |= has_come
            return has_come

    def _is_free(self, first: bool) -> bool:
        return not self._is_taken and (first or not self._first)

    def end(self) -> None:
        with self._changed:
            self._is_taken = False
            self._changed.notify_all()


def write_anew(connection: sqlite3.Connection, place: Path) -> None:
    """`secure_delete` alone leaves copies of rows that once moved to another page (measured), so the file is written
    anew; then the log is emptied, which nobody may be reading."""
    connection.execute("VACUUM")
    (was_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if was_busy:
        raise busy(place)


def _open(path: Path) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        max_overflow=-1,
        connect_args={"timeout": BUSY_SECONDS},
        json_serializer=_as_json,
    )
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    try:
        migrate(engine, _for_writing(engine))
    except BaseException:
        engine.dispose()
        raise
    return engine


def _for_writing(engine: Engine) -> Engine:
    return engine.execution_options(writes=True)


def _prepare(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None  # we begin transactions ourselves
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    """Who begins by reading and writes later can be refused in the midst of it: writers say so at the start."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


@lru_cache(maxsize=1)
def _nothing() -> Engine:
    """The tables of a ledger in which nothing was ever written. They are made once: it may be looked for often."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        tables.create_all(connection, checkfirst=False)
        written = cast(sqlite3.Connection, connection.connection.driver_connection).serialize()
    engine.dispose()

    def one() -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(written)
        return connection

    return create_engine("sqlite://", creator=one, poolclass=NullPool)


def _as_json(value: Any) -> str:
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
