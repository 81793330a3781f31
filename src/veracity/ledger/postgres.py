"""The ledger in a Postgres database, shared by processes on any machines.

Every write holds an advisory lock that other writes share. Forgetting holds it exclusively: no run can store what it
read before, and no number of a run is missing below the highest. Everything else relies on row locks.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import psycopg
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from veracity.errors import BusyLedgerError, LedgerError, UnreachableLedgerError
from veracity.ledger import database, tables
from veracity.ledger.database import dump_json_without_nul
from veracity.ledger.migrations import migrate
from veracity.ledger.notifications import ChangeSender
from veracity.models import LedgerChange

MIN_VERSION = 15
POOL_SIZE = 8
MAX_OVERFLOW = 12
PING_SECONDS = 1.0  # without use, a connection is tested first
USED = "used"
MAX_REASON_LENGTH = 200
POLL_SECONDS = 0.02
CHECKPOINT_TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
# Detects a connection whose other end is gone, also while data is under way.
KEEPALIVE = {
    "connect_timeout": 5,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
    "application_name": "veracity",
}
# The same on the server's end, which frees the locks of a client that is gone.
SERVER_KEEPALIVE = (
    "SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3; "
    "SET tcp_user_timeout = 5000"
)
CHANGES = "changes"  # what a transaction has changed, in the connection's `info`
_WRITE_LOCK = "hashtextextended('veracity:write:' || current_schema(), 0)"
_MIGRATION_LOCK = "hashtextextended('veracity:migration:' || current_schema(), 0)"
_REWRITE_LOCK = "hashtextextended('veracity:rewrite:' || current_schema(), 0)"
_BUSY_STATES = ("55P03", "57014", "40001", "40P01", "53300")
_LOST_STATES = ("57P01", "57P02", "57P03", "57P05", "25P03")


_OLDER_TRANSACTIONS = sa.text(
    "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND (age(backend_xid) > age(CAST(:horizon AS xid)) "
    "OR datname = current_database() AND age(backend_xmin) > age(CAST(:horizon AS xid))) LIMIT 1"
)


class PostgresDatabase:
    """Connects on first use, and creates or updates the tables then. `url` names no password: libpq reads PGPASSWORD
    or PGPASSFILE. A database that was moved to another place is refused, unless it `is_moving`."""

    def __init__(self, url: str, *, is_moving: bool = False) -> None:
        self._url = url
        self._is_moving = is_moving
        self._opening = threading.Lock()
        self._pid = os.getpid()
        self._engine: sa.Engine | None = None
        self._sender = ChangeSender(self._open)

    @property
    def exists(self) -> bool:
        return True

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """All reads see the same state."""
        with translate_postgres_errors(self._url):
            engine = self._open().execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with engine.connect() as connection:
                yield connection

    @contextmanager
    def writing(self, *, priority: bool = False, exclusive: bool = False) -> Iterator[sa.Connection]:
        """One transaction. `priority` has no effect: writes wait for each other only at the same rows."""
        lock = "pg_advisory_xact_lock" if exclusive else "pg_advisory_xact_lock_shared"
        changes: list[LedgerChange] = []
        with translate_postgres_errors(self._url), self._open().begin() as connection:
            connection.info[CHANGES] = changes
            connection.exec_driver_sql(f"SELECT {lock}({_WRITE_LOCK})")
            yield connection
        self._sender.send(changes)

    def notify(self, connection: sa.Connection, *changes: LedgerChange) -> None:
        connection.info[CHANGES].extend(changes)

    def scrub(self) -> None:
        """Rewrite the tables without deleted rows. Logs, replicas and backups of the database are not changed. Raises
        `BusyLedgerError` if another process does."""
        self._rewrite([table.name for table in tables.metadata.sorted_tables])

    def erase_checkpoints(self, keep: Collection[str]) -> None:
        with translate_postgres_errors(self._url):
            with self._open().begin() as connection:
                existing = [name for name in CHECKPOINT_TABLES if sa.inspect(connection).has_table(name)]
                for name in existing:
                    table = sa.table(name, sa.column("thread_id", sa.Text))
                    connection.execute(sa.delete(table).where(table.c.thread_id.not_in(list(keep))))
            self._rewrite(existing)

    def close(self) -> None:
        self._sender.close()
        with self._opening:
            if self._engine is not None:
                self._engine.dispose()
            self._engine = None

    def _rewrite(self, names: Collection[str]) -> None:
        if not names:
            return
        with translate_postgres_errors(self._url):
            engine = self._open().execution_options(isolation_level="AUTOCOMMIT")
            with engine.connect() as connection:
                connection.exec_driver_sql("SET statement_timeout = 0")
                try:
                    if not connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({_REWRITE_LOCK})").scalar():
                        raise BusyLedgerError(f'"{self._url}" is being rewritten: try again in a moment.')
                    self._wait_for_transactions(connection)
                    connection.exec_driver_sql(f"VACUUM FULL {', '.join(names)}")
                finally:
                    connection.invalidate()  # it has other settings than the rest of the pool

    def _wait_for_transactions(self, connection: sa.Connection) -> None:
        """Postgres keeps deleted rows that an older transaction of this database may read. A new one, such as the
        rewrite itself, also reads what was there before the oldest transaction that writes in any database."""
        horizon = connection.exec_driver_sql("SELECT pg_snapshot_xmax(pg_current_snapshot())::xid::text").scalar_one()
        deadline = time.monotonic() + database.BUSY_SECONDS
        while connection.execute(_OLDER_TRANSACTIONS, {"horizon": horizon}).first():
            if time.monotonic() > deadline:
                raise BusyLedgerError(f'"{self._url}" is being read: try again in a moment.')
            time.sleep(POLL_SECONDS)

    def _open(self) -> sa.Engine:
        if self._pid != os.getpid():  # after a fork: the connections are the parent's
            self._opening, self._pid, self._sender = threading.Lock(), os.getpid(), ChangeSender(self._open)
            if self._engine is not None:
                self._engine.dispose(close=False)
                self._engine = None
        with self._opening:
            if self._engine is None:
                self._engine = _connect(self._url, is_moving=self._is_moving)
            return self._engine


def connect_alone(url: str) -> psycopg.Connection[Any]:
    """A connection outside the pool, whose transactions are single statements. Raises `psycopg.Error`."""
    connection = psycopg.connect(libpq_url(url), autocommit=True, **KEEPALIVE)  # type: ignore[arg-type]
    connection.execute(SERVER_KEEPALIVE)
    return connection


def _connect(url: str, *, is_moving: bool) -> sa.Engine:
    engine = sa.create_engine(
        sa.make_url(libpq_url(url)).set(drivername="postgresql+psycopg"),
        pool_size=POOL_SIZE,
        max_overflow=MAX_OVERFLOW,
        pool_timeout=database.BUSY_SECONDS,
        connect_args=KEEPALIVE,
        json_serializer=dump_json_without_nul,
    )
    sa.event.listen(engine, "connect", partial(_configure, url))
    sa.event.listen(engine, "checkin", _note_use)
    sa.event.listen(engine, "checkout", partial(_ping_if_idle, engine.dialect))
    try:
        migrate(engine, lock=_lock_migration, is_moving=is_moving)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _configure(url: str, connection: Any, _: Any) -> None:
    version = connection.info.server_version // 10000
    if version < MIN_VERSION:
        raise LedgerError(f'"{url}" runs Postgres {version}: Veracity needs Postgres {MIN_VERSION} or newer.')
    wait = round(database.BUSY_SECONDS * 1000)
    connection.autocommit = True
    connection.execute(
        f"SET lock_timeout = {wait}; SET statement_timeout = {4 * wait}; "
        # Shorter than the wait for a lock: a process that hangs in a transaction must not block the others.
        f"SET idle_in_transaction_session_timeout = {2 * wait // 3}; {SERVER_KEEPALIVE}"
    )
    connection.autocommit = False


def _note_use(_: Any, record: Any) -> None:
    record.info[USED] = time.monotonic()


def _ping_if_idle(dialect: sa.Dialect, connection: Any, record: Any, _: Any) -> None:
    """A restarted server leaves dead connections in the pool. To test each one every time, as SQLAlchemy would, costs a
    quarter of the time that the ledger needs for a run."""
    if time.monotonic() - record.info.get(USED, -math.inf) > PING_SECONDS:
        try:
            dialect.do_ping(connection)
        except psycopg.Error:
            raise sa.exc.DisconnectionError from None


def _lock_migration(connection: sa.Connection) -> None:
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")


def libpq_url(url: str) -> str:
    """`postgres://` is an alias that SQLAlchemy does not know."""
    return "postgresql://" + url.partition("://")[2]


@contextmanager
def translate_postgres_errors(url: str) -> Iterator[None]:
    """Raises errors of the database as `LedgerError`."""
    try:
        yield
    except (SQLAlchemyError, psycopg.Error) as error:
        raise explain_postgres_error(url, error) from error


def explain_postgres_error(url: str, error: BaseException) -> LedgerError:
    # The driver's own message: SQLAlchemy's holds the statement and its values.
    cause = error.orig if isinstance(error, DBAPIError) else error
    state = getattr(cause, "sqlstate", None) or ""
    if state in _BUSY_STATES or isinstance(error, sa.exc.TimeoutError):
        return BusyLedgerError(f'"{url}" is busy: try again in a moment.')
    reason = " ".join(str(cause).split())[:MAX_REASON_LENGTH].strip(" ,.:") or type(cause).__name__
    if state.startswith("28") or "password" in reason:
        host = urlsplit(url).hostname or "the server"
        return LedgerError(f'"{url}" refused the login ({reason}): set PGPASSWORD or PGPASSFILE for {host}.')
    if state.startswith("08") or state in _LOST_STATES or (not state and isinstance(cause, psycopg.OperationalError)):
        return UnreachableLedgerError(f'"{url}" cannot be reached ({reason}): try again when Postgres runs there.')
    return LedgerError(f'"{url}" cannot be used ({reason}): check the database, its owner and its rights.')
