"""Chooses where the ledger is stored: a file in the workspace, or Postgres."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from veracity.errors import ConfigurationError
from veracity.ledger.database import Database
from veracity.ledger.owners import FileOwners, Owners
from veracity.ledger.sqlite import SqliteDatabase
from veracity.models import LedgerChange

if TYPE_CHECKING:
    from veracity.ledger.jobs import Jobs
    from veracity.ledger.notifications import ChangeListener

Listen: TypeAlias = "Callable[[Callable[[LedgerChange], None]], ChangeListener]"


class Backend(NamedTuple):
    """`jobs` is None where no worker can see the ledger, `listen` where processes cannot tell each other of changes."""

    database: Database
    owners: Owners
    jobs: Jobs | None
    listen: Listen | None


def open_backend(folder: Path, url: str, *, is_moving: bool = False) -> Backend:
    """Raises `ConfigurationError` if the packages for Postgres are missing. A ledger that was moved to another place is
    refused when it is opened, unless it `is_moving`."""
    if not url:
        return Backend(SqliteDatabase(folder, is_moving=is_moving), FileOwners(folder), None, None)
    try:
        from veracity.ledger.jobs import Jobs  # noqa: PLC0415 - an extra
        from veracity.ledger.notifications import ChangeListener  # noqa: PLC0415 - an extra
        from veracity.ledger.postgres import PostgresDatabase, connect_alone  # noqa: PLC0415 - an extra
        from veracity.ledger.sessions import SessionOwners  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ConfigurationError(
            f'store.ledger needs a package that is missing ({error.name}): pip install "veracity[cluster]".'
        ) from None
    listen = partial(ChangeListener, partial(connect_alone, url))
    return Backend(PostgresDatabase(url, is_moving=is_moving), SessionOwners(url), Jobs(url), listen)
