"""The runs that are left to workers: new questions, decided drafts, and what a process left behind."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from veracity.errors import NotFoundError
from veracity.ledger import leases
from veracity.ledger.owners import Owners
from veracity.ledger.rows import approvals, runs
from veracity.ledger.rows.job_table import JobTable
from veracity.models import Approval

if TYPE_CHECKING:
    from veracity.ledger.jobs import Queue

MAX_RETRY_SECONDS = 300


class RunQueue(JobTable):
    def add(self, connection: Connection, run_id: str, user: str) -> None:
        """Queue a new run when the transaction commits."""
        self._jobs.defer_run(connection, run_id, user, "runs")

    def add_decided(self, connection: Connection, approval: Approval, delay: float = 0.0) -> None:
        """Queue the run of a decided draft when the transaction commits, to be resumed after `delay` seconds."""
        queue, seconds = _queue_of(approval), math.ceil(delay)
        self._jobs.defer_run(connection, approval.run_id, approval.user, queue, delay=seconds)

    def add_interrupted(self, owners: Owners) -> int:
        """Queue the runs whose lease is free, unless they are queued. Returns their number; 0 without workers."""
        if self._optional_jobs is None:
            return 0
        with self._database.reading() as connection:
            free = leases.list_free(connection, owners)
            lost = self._jobs.without_job(connection, free) if free else []
        for run_id in lost:
            with suppress(NotFoundError), self._database.writing() as connection:
                self._add_again(connection, run_id, is_orphan=free[run_id])
        return len(lost)

    def _add_again(self, connection: Connection, run_id: str, *, is_orphan: bool) -> None:
        """Unless it has ended. A run that was left with an error, instead of by a process that died, waits longer each
        time."""
        run = runs.lock(connection, run_id)
        if run.status not in ("running", "awaiting_approval"):
            return
        drafts = approvals.list_of_run(connection, run_id)
        queue: Queue = _queue_of(drafts[-1]) if drafts else "runs"
        token = leases.get_token(connection, run_id)
        delay = 0 if is_orphan or token <= leases.FIRST_TOKEN else min(MAX_RETRY_SECONDS, 2**token)
        self._jobs.defer_run(connection, run_id, run.user, queue, first=True, delay=delay)


def _queue_of(decided: Approval) -> Queue:
    """What searches the web or writes another draft takes as long as a question, and must not delay approvals."""
    return "rejections" if decided.takes_long else "decisions"
