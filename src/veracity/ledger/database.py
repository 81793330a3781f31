"""The database of the ledger: SQLite in WAL mode, shared by any number of processes and threads.

What is committed survives a kill of the process. A loss of power may lose the last milliseconds, never more: commits go
to the disk at checkpoints (`synchronous=NORMAL`). Everything that only SQLite knows stands here. Knows nothing about
runs.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from filelock import FileLock
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event

from veracity.ledger.complaints import busy, explained
from veracity.ledger.migrating import migrate
from veracity.ledger.schema import tables
from veracity.providers.texts import encodable

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
