"""The ledger in a SQLite file of the workspace, shared by the threads and processes of one machine.

Runs in WAL mode. A power failure may lose the last milliseconds: `synchronous=NORMAL` syncs at checkpoints only.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from filelock import FileLock

from veracity.errors import LedgerError
from veracity.ledger import database, tables
from veracity.ledger.database import busy, dump_json, translate_errors
from veracity.ledger.migrations import migrate
from veracity.models import LedgerChange
from veracity.workspace import make_private_folder

CHECKPOINTS_FILE = "checkpoints.sqlite"
CHECKPOINTS_REMEDY = "delete it: only unfinished runs lose their progress."
CHECKPOINTS_TIMEOUT_SECONDS = 30.0
CHECKPOINT_PAUSE = 0.02  # seconds between attempts to truncate the log


class SqliteDatabase:
    """Opens the database on first use. Reading a database that does not exist creates no files. One that was moved to
    another place is refused, unless it `is_moving`."""

    def __init__(self, folder: Path, *, is_moving: bool = False) -> None:
        self._folder = folder
        self._is_moving = is_moving
        self._path = folder / "ledger.sqlite"
        self._opening = threading.Lock()
        self._write_queue = WriteQueue()
        self._engine: sa.Engine | None = None

    @property
    def exists(self) -> bool:
        return self._engine is not None or self._path.exists()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        with translate_errors(self._folder), (self._open() if self.exists else _empty()).connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, priority: bool = False, exclusive: bool = False) -> Iterator[sa.Connection]:
        """One transaction, always exclusive. With `priority` it goes before all waiting threads without."""
        with (
            translate_errors(self._folder),
            self._write_queue.turn(database.BUSY_SECONDS, priority=priority),
            self._open().execution_options(writes=True).begin() as connection,
        ):
            yield connection

    def notify(self, connection: sa.Connection, *changes: LedgerChange) -> None:
        """No-op: other processes poll."""

    def scrub(self) -> None:
        """Remove the bytes of deleted rows from the files."""
        with (
            translate_errors(self._folder),
            self._write_queue.turn(database.BUSY_SECONDS),
            closing(self._open().raw_connection()) as raw,
        ):
            vacuum(cast(sqlite3.Connection, raw.driver_connection), self._folder)

    def erase_checkpoints(self, keep: Collection[str]) -> None:
        path = self._folder / CHECKPOINTS_FILE
        if not path.exists():
            return
        with (
            translate_errors(path, CHECKPOINTS_REMEDY),
            closing(sqlite3.connect(path, timeout=CHECKPOINTS_TIMEOUT_SECONDS, isolation_level=None)) as connection,
        ):
            connection.execute("CREATE TEMP TABLE kept (thread_id TEXT PRIMARY KEY)")
            connection.executemany("INSERT OR IGNORE INTO kept VALUES (?)", [(run_id,) for run_id in keep])
            connection.execute("BEGIN IMMEDIATE")
            for table in ("checkpoints", "writes"):
                connection.execute(f"DELETE FROM {table} WHERE thread_id NOT IN (SELECT thread_id FROM kept)")
            connection.execute("COMMIT")
            vacuum(connection, path)

    def close(self) -> None:
        with self._opening:
            if self._engine is not None:
                self._engine.dispose()
            self._engine = None

    def _open(self) -> sa.Engine:
        with self._opening:
            if self._engine is None:
                make_private_folder(self._folder)
                # Of two processes that switch a new file to WAL, one would fail with "locked" without waiting.
                with FileLock(self._folder / ".opening.lock", timeout=database.BUSY_SECONDS):
                    _require_content(self._path)
                    self._engine = _connect(self._path, is_moving=self._is_moving)
            return self._engine


def _require_content(path: Path) -> None:
    """Raise `LedgerError` for a file that was emptied: SQLite would take it for a new one."""
    if path.exists() and path.stat().st_size == 0 and any(other.exists() for other in _signs_of_use(path)):
        raise LedgerError(
            f'"{path}" is empty: restore it from a backup, or delete it, which loses all earlier answers.'
        )


def _signs_of_use(path: Path) -> tuple[Path, ...]:
    return path.with_name(CHECKPOINTS_FILE), path.parent.parent / "knowledge", path.with_name(f"{path.name}-wal")


class WriteQueue:
    """A lock for the writing threads of a process. SQLite's own busy loop is unfair: unlucky threads starve."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_taken = False
        self._waiting_with_priority = 0

    @contextmanager
    def turn(self, timeout: float, *, priority: bool = False) -> Iterator[None]:
        """Raises `TimeoutError` if the lock stays taken."""
        with self._changed:
            self._waiting_with_priority += priority
            try:
                if not self._changed.wait_for(lambda: self._is_free(priority), timeout):
                    raise TimeoutError("database is busy")
            finally:
                self._waiting_with_priority -= priority
            self._is_taken = True
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()

    def _is_free(self, priority: bool) -> bool:
        return not self._is_taken and (priority or not self._waiting_with_priority)


def vacuum(connection: sqlite3.Connection, path: Path) -> None:
    """Rewrite the file and truncate its log. Raises `BusyLedgerError` while a reader keeps the log in use.

    `secure_delete` is not enough: it leaves copies of rows that moved to another page (measured).
    """
    connection.execute("VACUUM")
    deadline = time.monotonic() + database.BUSY_SECONDS
    while _is_log_busy(connection):
        if time.monotonic() >= deadline:
            raise busy(path)
        time.sleep(CHECKPOINT_PAUSE)


def _is_log_busy(connection: sqlite3.Connection) -> bool:
    """Truncate the log, unless it is in use. SQLite waits for readers, but not for a checkpoint by another process."""
    (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(is_busy)


def _connect(path: Path, *, is_moving: bool) -> sa.Engine:
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        max_overflow=-1,
        connect_args={"timeout": database.BUSY_SECONDS},
        json_serializer=dump_json,
    )
    sa.event.listen(engine, "connect", _set_pragmas)
    sa.event.listen(engine, "begin", _begin)
    try:
        migrate(engine, is_moving=is_moving)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _set_pragmas(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None  # transactions begin in _begin
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    # A transaction that reads first and writes later can fail halfway, so writers take the lock at once.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


@lru_cache(maxsize=1)
def _empty() -> sa.Engine:
    """An empty ledger in memory. Cached, because a ledger that does not exist may be polled."""
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        tables.metadata.create_all(connection, checkfirst=False)
        content = cast(sqlite3.Connection, connection.connection.driver_connection).serialize()
    engine.dispose()

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:")
        connection.deserialize(content)
        return connection

    return sa.create_engine("sqlite://", creator=connect, poolclass=sa.NullPool)
