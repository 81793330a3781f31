"""Jobs for `veracity worker`, in the Postgres database of the ledger (procrastinate).

A job is deferred in the transaction that makes it necessary: a question that is stored is also queued, and one that
is not stored leaves no job. A job may be executed twice; the lease on its run lets one of them work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import procrastinate
import psycopg
import sqlalchemy as sa
from procrastinate.exceptions import AlreadyEnqueued

from veracity.ledger.leases import count_waiting
from veracity.ledger.postgres import KEEPALIVE, connect_alone, libpq_url

Queue = Literal["runs", "decisions", "rejections"]
QUEUES: tuple[Queue, ...] = ("runs", "decisions", "rejections")
FIRST = 1  # priority; those of questions are 0 or less
RESUME_TASK = "veracity.resume"
_JOBS = sa.text(
    "SELECT args->>'run_id', status FROM procrastinate_jobs WHERE task_name = :task AND status IN ('todo', 'doing')"
)
_LOCK = "hashtextextended('veracity:jobs:' || current_schema(), 0)"


def make_app(url: str, pool_size: int = 4) -> procrastinate.App:
    connector = procrastinate.PsycopgConnector(
        conninfo=libpq_url(url), kwargs=dict(KEEPALIVE), min_size=1, max_size=pool_size
    )
    return procrastinate.App(connector=connector)


class RunJobs:
    """Defers the jobs of runs."""

    def __init__(self, url: str) -> None:
        self._app = make_app(url)
        self._url = url
        self._has_tables = False

    def prepare(self) -> None:
        """Create the tables of the queue. Idempotent. Raises `psycopg.Error`."""
        if not self._has_tables:
            create_tables(self._url)
            self._has_tables = True

    def defer(self, connection: sa.Connection, run_id: str, user: str, queue: Queue, *, first: bool = False) -> None:
        """Queue the run when the transaction commits. No-op if it is queued already.

        Users take turns: a question goes behind the other users' questions that have as many before them. One that is
        `first` goes before all of them.
        """
        self.prepare()
        priority = FIRST if first else -count_waiting(connection, user)
        raw = connection.connection.driver_connection
        deferrer = self._app.configure_task(
            RESUME_TASK, queue=queue, priority=priority, queueing_lock=f"{queue}:{run_id}", connection=raw
        )
        savepoint = connection.begin_nested()
        try:
            deferrer.defer(run_id=run_id)
        except AlreadyEnqueued:
            savepoint.rollback()
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
    with connect_alone(url) as connection:
        connection.execute(f"SELECT pg_advisory_lock({_LOCK})")
        if not _has_tables(connection):
            schema = procrastinate.schema.SchemaManager.get_schema()
            with connection.transaction():
                connection.execute(schema.encode())


def _has_tables(connection: psycopg.Connection[Any]) -> bool:
    return connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone() != (None,)
