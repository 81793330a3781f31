"""Chooses where the ledger is stored: a file in the workspace, or Postgres."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from veracity.errors import ConfigurationError
from veracity.ledger.database import Database
from veracity.ledger.owners import FileOwners, Owners
from veracity.ledger.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from veracity.ledger.jobs import RunJobs


class Backend(NamedTuple):
    """`jobs` is None where no worker can see the ledger."""

    database: Database
    owners: Owners
    jobs: RunJobs | None


def open_backend(folder: Path, url: str) -> Backend:
    """Raises `ConfigurationError` if the packages for Postgres are missing."""
    if not url:
        return Backend(SqliteDatabase(folder), FileOwners(folder), None)
    try:
        from veracity.ledger.jobs import RunJobs  # noqa: PLC0415 - an extra
        from veracity.ledger.postgres import PostgresDatabase  # noqa: PLC0415 - an extra
        from veracity.ledger.sessions import SessionOwners  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigurationError(
            f'store.ledger needs a package that is missing ({error.name}): pip install "veracity[cluster]".'
        ) from None
    return Backend(PostgresDatabase(url), SessionOwners(url), RunJobs(url))
