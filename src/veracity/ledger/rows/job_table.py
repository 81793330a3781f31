"""A table whose rows wait for jobs of workers. Only a ledger in Postgres has workers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from veracity.errors import ConfigurationError
from veracity.ledger.database import Database

if TYPE_CHECKING:
    from veracity.ledger.jobs import Jobs


class JobTable:
    """Threads can share it. Raises `ConfigurationError` if the ledger is not in Postgres."""

    def __init__(self, database: Database, jobs: Jobs | None) -> None:
        self._database = database
        self._optional_jobs = jobs

    @property
    def _jobs(self) -> Jobs:
        if self._optional_jobs is None:
            raise ConfigurationError("Only a ledger in Postgres has workers: set store.ledger.")
        return self._optional_jobs

    def _reading(self) -> AbstractContextManager[Connection]:
        self._jobs.prepare()
        return self._database.reading()

    def _writing(self) -> AbstractContextManager[Connection]:
        self._jobs.prepare()
        return self._database.writing()
