"""The SQLite database of the ledger, shared by threads and processes: connections, migrations and error messages.

Runs in WAL mode. A power failure may lose the last milliseconds: `synchronous=NORMAL` syncs at checkpoints only.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
from filelock import FileLock
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn, CreateIndex

from veracity.errors import BusyLedgerError, LedgerError
from veracity.ledger import tables
from veracity.printable import encodable

BUSY_SECONDS = 15.0  # to wait for another writer
CHECKPOINT_PAUSE = 0.02  # seconds between attempts to truncate the log
MAX_REASON_LENGTH = 200
DEFAULT_REMEDY = "if the problem persists, restore it from a backup, or delete it, which loses all earlier answers."
_BUSY = re.compile(r"database (table )?is locked|could not be acquired|database is busy", re.I)
_REMEDIES = [
    (re.compile(r"no space left|disk is full|disk quota", re.I), "free some disk space."),
    (
        re.compile(r"permission denied|read-?only|unable to open|is a directory|not a directory|file exists", re.I),
        "make it a folder that can be read and written.",
    ),
    (re.compile(r"too many open files", re.I), "allow more open files (ulimit -n)."),
]


class Database:
    """Opens the database on first use. Reading a database that does not exist creates no files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
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
    def writing(self, *, priority: bool = False) -> Iterator[sa.Connection]:
        """One exclusive transaction. With `priority` it goes before all waiting threads without."""
        with (
            translate_errors(self._folder),
            self._write_queue.turn(BUSY_SECONDS, priority=priority),
            self._open().execution_options(writes=True).begin() as connection,
        ):
            yield connection

    def scrub(self) -> None:
        """Remove the bytes of deleted rows from the files."""
        with (
            translate_errors(self._folder),
            self._write_queue.turn(BUSY_SECONDS),
            closing(self._open().raw_connection()) as raw,
        ):
            vacuum(cast(sqlite3.Connection, raw.driver_connection), self._folder)

    def close(self) -> None:
        with self._opening:
            if self._engine is not None:
                self._engine.dispose()
            self._engine = None

    def _open(self) -> sa.Engine:
        with self._opening:
            if self._engine is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                # Of two processes that switch a new file to WAL, one would fail with "locked" without waiting.
                with FileLock(self._folder / ".opening.lock", timeout=BUSY_SECONDS):
                    self._engine = _connect(self._path)
            return self._engine


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
    deadline = time.monotonic() + BUSY_SECONDS
    while _is_log_busy(connection):
        if time.monotonic() >= deadline:
            raise _busy(path)
        time.sleep(CHECKPOINT_PAUSE)


def _is_log_busy(connection: sqlite3.Connection) -> bool:
    """Truncate the log, unless it is in use. SQLite waits for readers, but not for a checkpoint by another process."""
    (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(is_busy)


@contextmanager
def translate_errors(path: Path, remedy: str = DEFAULT_REMEDY) -> Iterator[None]:
    """Raises errors of the database and the file system as `LedgerError`."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError, NotImplementedError) as error:
        raise _ledger_error(path, error, remedy) from error


def _busy(path: Path) -> BusyLedgerError:
    return BusyLedgerError(f'"{path}" is being written by another process: try again in a moment.')


def _ledger_error(path: Path, error: BaseException, default_remedy: str) -> LedgerError:
    # The driver's own message: SQLAlchemy's holds the statement and its values.
    cause = error.orig if isinstance(error, DBAPIError) else error
    reason = " ".join(str(getattr(cause, "strerror", None) or cause).split())
    if _BUSY.search(reason):
        return _busy(path)
    remedy = next((remedy for pattern, remedy in _REMEDIES if pattern.search(reason)), default_remedy)
    reason = reason[:MAX_REASON_LENGTH].strip(" ,.:") or type(cause).__name__
    return LedgerError(f'"{path}" cannot be used ({reason}): {remedy}')


def _connect(path: Path) -> sa.Engine:
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        max_overflow=-1,
        connect_args={"timeout": BUSY_SECONDS},
        json_serializer=_dump_json,
    )
    sa.event.listen(engine, "connect", _set_pragmas)
    sa.event.listen(engine, "begin", _begin)
    try:
        migrate(engine)
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


def _dump_json(value: Any) -> str:
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _add_conversations(connection: sa.Connection) -> None:
    """Version 2: conversations, approvals and leases. Runs of version 1 cannot be resumed.

    Uses today's tables: copy their old definition here before changing any of them."""
    _add_columns(connection, tables.runs, "conversation", "turn", "max_rewrites", "deadline")
    for index in tables.runs.indexes:
        if index.name in ("runs_of_user", "runs_of_conversation", "runs_by_status"):
            index.create(connection, checkfirst=True)
    new = [tables.leases, tables.approvals, tables.conversations, tables.recall_terms, tables.recall_vectors]
    tables.metadata.create_all(connection, tables=new)
    failed = {"status": "failed", "problem": "The process that worked on this run ended."}
    connection.execute(sa.update(tables.runs).where(tables.runs.c.status == "running").values(failed))


def _add_users(connection: sa.Connection) -> None:
    """Version 3: users, feedback, idempotency keys and indexes for polling approvals."""
    _add_columns(connection, tables.runs, "request_key")
    tables.metadata.create_all(connection, tables=[tables.users, tables.feedback])
    # IF NOT EXISTS, because SQLAlchemy's checkfirst does not find indexes on expressions.
    for index in (*tables.approvals.indexes, *tables.runs.indexes):
        connection.execute(CreateIndex(index, if_not_exists=True))


def _add_document_limits(connection: sa.Connection) -> None:
    """Version 4: the documents that a run is limited to."""
    _add_columns(connection, tables.runs, "only")


def _add_model_calls(connection: sa.Connection) -> None:
    """Version 5: usage by role, and calls to models with their texts."""
    _add_columns(connection, tables.runs, "usage_by_role")
    tables.metadata.create_all(connection, tables=[tables.model_calls])


def _add_columns(connection: sa.Connection, table: sa.Table, *names: str) -> None:
    for name in names:
        column = CreateColumn(table.c[name]).compile(dialect=connection.dialect)
        connection.execute(sa.text(f"ALTER TABLE {table.name} ADD COLUMN {column}"))


# The first leads to version 2.
MIGRATIONS: Sequence[Callable[[sa.Connection], None]] = (
    _add_conversations,
    _add_users,
    _add_document_limits,
    _add_model_calls,
)
SCHEMA_VERSION = 1 + len(MIGRATIONS)


def migrate(engine: sa.Engine) -> None:
    """Create or update the tables, in one transaction. Raises `LedgerError` if a newer program wrote them."""
    with engine.connect() as connection:
        if _read_version(connection) == SCHEMA_VERSION:
            return
    with engine.execution_options(writes=True).begin() as connection:
        version = _read_version(connection)  # another process may have migrated it meanwhile
        if version == 0:
            tables.metadata.create_all(connection)
        for change in MIGRATIONS[version - 1 :] if version else ():
            change(connection)
        if version < SCHEMA_VERSION:
            connection.execute(sa.insert(tables.ledger_version), {"version": SCHEMA_VERSION})


def _read_version(connection: sa.Connection) -> int:
    """0 for a new database."""
    versions = tables.ledger_version
    if not sa.inspect(connection).has_table(versions.name):
        return 0
    version = int(connection.execute(sa.select(sa.func.max(versions.c.version))).scalar() or 0)
    if version > SCHEMA_VERSION:
        raise LedgerError(
            f"The ledger of this workspace was written by a newer Veracity (schema version {version}, this program "
            f"supports {SCHEMA_VERSION}): update Veracity."
        )
    return version
