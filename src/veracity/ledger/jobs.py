"""Jobs for `veracity worker`, in the Postgres database of the ledger (procrastinate).

A job is deferred in the transaction that makes it necessary: a question that is stored is also queued, and one that
is not stored leaves no job. A job may be executed twice; the lease on its run lets one of them work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal

import procrastinate
import psycopg
import sqlalchemy as sa
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException

from veracity.ledger.leases import count_waiting
from veracity.ledger.postgres import KEEPALIVE, connect_alone, libpq_url, translate_postgres_errors

Queue = Literal["runs", "decisions", "rejections"]
QUEUES: tuple[Queue, ...] = ("runs", "decisions", "rejections")
FIRST = 1  # priority; those of questions are 0 or less
RECONNECT_SECONDS = 1.0
RESUME_TASK = "veracity.resume"
_JOBS = sa.text(
    "SELECT args->>'run_id', status FROM procrastinate_jobs WHERE task_name = :task AND status IN ('todo', 'doing')"
)
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
    connector = ReconnectingConnector(conninfo=libpq_url(url), kwargs=dict(KEEPALIVE), min_size=1, max_size=pool_size)
    return procrastinate.App(connector=connector)


class RunJobs:
    """Defers the jobs of runs."""

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
        self, connection: sa.Connection, run_id: str, user: str, queue: Queue, *, first: bool = False, delay: int = 0
    ) -> None:
        """Queue the run when the transaction commits. No-op if it is queued already.

        Users take turns: a question goes behind the other users' questions that have as many before them. One that is
        `first` goes before all of them. `delay` is in seconds.
        """
        self.prepare()
        priority = FIRST if first else -count_waiting(connection, user)
        raw = connection.connection.driver_connection
        deferrer = self._app.configure_task(
            RESUME_TASK,
            queue=queue,
            priority=priority,
            queueing_lock=f"{queue}:{run_id}",
            schedule_in={"seconds": delay} if delay else None,
            connection=raw,
        )
        savepoint = connection.begin_nested()
        try:
            deferrer.defer(run_id=run_id)
        except AlreadyEnqueued:
            savepoint.rollback()
        except ConnectorException as error:
            raise error.__cause__ or error from None  # the driver's own, which the ledger explains
        else:
            savepoint.commit()

    def without_job(self, connection: sa.Connection, free: Mapping[str, bool]) -> list[str]:
        """Those of the `free` runs that no worker will see. The job of a run with a dead owner died with it."""
        self.prepare()
        rows = connection.execute(_JOBS, {"task": RESUME_TASK}).all()
        waiting = {run_id for run_id, status in rows if status == "todo"}
        known = {run_id for run_id, _ in rows}
        return [run_id for run_id, is_orphan in free.items() if run_id not in (waiting if is_orphan else known)]


def create_tables(url: str) -> None:
    """Raises `LedgerError`."""
    with translate_postgres_errors(url), connect_alone(url) as connection:
        connection.execute(f"SELECT pg_advisory_lock({_LOCK})")
        if not _has_tables(connection):
            schema = procrastinate.schema.SchemaManager.get_schema()
            with connection.transaction():
                connection.execute(schema.encode())


def _has_tables(connection: psycopg.Connection[Any]) -> bool:
    return connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() != (None,)
