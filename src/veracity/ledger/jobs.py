"""Jobs for `veracity worker`, in the Postgres database of the ledger (procrastinate).

A job is deferred in the transaction that makes it necessary: a question that is stored is also queued, and one that
is not stored leaves no job. A job may be executed twice, or be lost with its worker: the rows it serves decide what is
left to do. The lease on a run lets one of two workers drive it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal, get_args

import procrastinate
import psycopg
import sqlalchemy as sa
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable, DDLElement

from veracity.ledger import queue_tables
from veracity.ledger.leases import count_waiting
from veracity.ledger.postgres import KEEPALIVE, connect_alone, libpq_url, translate_postgres_errors

Queue = Literal["runs", "decisions", "rejections", "documents", "commits", "evaluations"]
QUEUES: tuple[Queue, ...] = get_args(Queue)
RECONNECT_SECONDS = 1.0
POOL_SECONDS = 10.0  # to wait for a connection
LOCK_MILLISECONDS = 200
RESUME_TASK = "veracity.resume"
_JOBS = sa.text(
    "SELECT args->>:argument, status FROM procrastinate_jobs WHERE task_name = :task AND status IN ('todo', 'doing')"
)
_DIALECT: sa.Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
_LOCK = "hashtextextended('veracity:jobs:' || current_schema(), 0)"


class ReconnectingConnector(procrastinate.PsycopgConnector):
    """Listens again after Postgres was restarted. procrastinate's worker would poll only, and say nothing."""

    async def listen_notify(self, on_notification: Any, channels: Iterable[str]) -> None:
        names = list(channels)
        while True:
            with suppress(ConnectorException, psycopg.Error):
                await super().listen_notify(on_notification, names)
            await asyncio.sleep(RECONNECT_SECONDS)


def make_app(url: str, pool_size: int = 4) -> procrastinate.App:
    connector = ReconnectingConnector(
        conninfo=libpq_url(url),
        kwargs=dict(KEEPALIVE),
        min_size=1,
        max_size=pool_size,
        timeout=POOL_SECONDS,
        reconnect_timeout=RECONNECT_SECONDS,  # the pool would wait longer each time, and its users with it
    )
    return procrastinate.App(connector=connector)


class Jobs:
    """Defers jobs."""

    FIRST = 1  # priority; those of users' jobs are 0 or less

    def __init__(self, url: str) -> None:
        self._app = make_app(url)
        self._url = url
        self._has_tables = False

    def prepare(self) -> None:
        """Create the tables of the queue. Idempotent. Raises `LedgerError`."""
        if not self._has_tables:
            create_tables(self._url)
            self._has_tables = True

    def defer(
        self,
        connection: sa.Connection,
        task: str,
        queue: Queue,
        arguments: dict[str, str],
        *,
        key: str,
        priority: int = 0,
        lock: str | None = None,
        delay: int = 0,
    ) -> None:
        """Queue a job when the transaction commits. No-op if one with this key is queued already.

        Of the jobs with the same `lock` one is executed at a time. `delay` is in seconds.
        """
        self.prepare()
        deferrer = self._app.configure_task(
            task,
            queue=queue,
            priority=priority,
            lock=lock,
            queueing_lock=f"{queue}:{key}",
            schedule_in={"seconds": delay} if delay else None,
            connection=connection.connection.driver_connection,
        )
        savepoint = connection.begin_nested()
        try:
            deferrer.defer(**arguments)
        except AlreadyEnqueued:
            savepoint.rollback()
        except ConnectorException as error:
            raise error.__cause__ or error from None  # the driver's own, which the ledger explains
        else:
            savepoint.commit()

    def defer_run(
        self, connection: sa.Connection, run_id: str, user: str, queue: Queue, *, first: bool = False, delay: int = 0
    ) -> None:
        """Queue the run when the transaction commits.

        Users take turns: a question goes behind the other users' questions that have as many before them. One that is
        `first` goes before all of them.
        """
        priority = self.FIRST if first else -count_waiting(connection, user)
        self.defer(connection, RESUME_TASK, queue, {"run_id": run_id}, key=run_id, priority=priority, delay=delay)

    def list_open(self, connection: sa.Connection, task: str, argument: str) -> dict[str, str]:
        """The jobs that are queued or being executed: the value of their argument, and "todo" or "doing"."""
        self.prepare()
        rows = connection.execute(_JOBS, {"task": task, "argument": argument}).all()
        return dict(sorted(tuple(row) for row in rows))

    def without_job(self, connection: sa.Connection, free: Mapping[str, bool]) -> list[str]:
        """Those of the `free` runs that no worker will see. The job of a run with a dead owner died with it."""
        known = self.list_open(connection, RESUME_TASK, "run_id")
        waiting = {run_id for run_id, status in known.items() if status == "todo"}
        return [run_id for run_id, is_orphan in free.items() if run_id not in (waiting if is_orphan else known)]

    def erase_empty_tables(self) -> None:
        """Give the pages of `queue_tables` without rows back to the file system: they may hold deleted texts."""
        with translate_postgres_errors(self._url), connect_alone(self._url) as connection:
            for table in queue_tables.metadata.sorted_tables:
                size = connection.execute(f"SELECT pg_relation_size('{table.name}')").fetchone()
                if size != (0,):
                    with suppress(psycopg.errors.LockNotAvailable), connection.transaction():
                        connection.execute(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}")
                        connection.execute(f"LOCK TABLE {table.name} IN ACCESS EXCLUSIVE MODE")
                        if connection.execute(f"SELECT 1 FROM {table.name} LIMIT 1").fetchone() is None:
                            connection.execute(f"TRUNCATE {table.name}")


def create_tables(url: str) -> None:
    """Raises `LedgerError`."""
    with translate_postgres_errors(url), connect_alone(url) as connection:
        connection.execute(f"SELECT pg_advisory_lock({_LOCK})")
        with connection.transaction():
            if not _has_table(connection, "procrastinate_jobs"):
                connection.execute(procrastinate.schema.SchemaManager.get_schema().encode())
            for table in queue_tables.metadata.sorted_tables:
                if not _has_table(connection, table.name):
                    statements: list[DDLElement] = [CreateTable(table), *map(CreateIndex, table.indexes)]
                    for statement in statements:
                        connection.execute(str(statement.compile(dialect=_DIALECT)).encode())


def _has_table(connection: psycopg.Connection[Any], name: str) -> bool:
    return connection.execute("SELECT to_regclass(%s)", (name,)).fetchone() != (None,)
