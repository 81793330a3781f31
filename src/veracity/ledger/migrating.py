"""Brings the tables of a ledger to the version of this program. Knows nothing about what they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, Engine, func, insert, inspect, select

from veracity.errors import LedgerError
from veracity.ledger.schema import ledger_version, tables

# Each leads from one version to the next. A ledger that is new gets the tables as schema.py has them.
CHANGES: Sequence[Callable[[Connection], None]] = ()
CURRENT = 1 + len(CHANGES)


def migrate(reader: Engine, writer: Engine) -> None:
    """All in one transaction: who is killed in the midst of it has changed nothing."""
    with reader.connect() as connection:
        if _require_known(connection) == CURRENT:
            return
    with writer.begin() as connection:
        found = _require_known(connection)  # another process may have been faster
        if found == 0:
            tables.create_all(connection)
        for change in CHANGES[max(found - 1, 0) :] if found else ():
            change(connection)
        if found < CURRENT:
            connection.execute(insert(ledger_version), {"version": CURRENT})


def _require_known(connection: Connection) -> int:
    if not inspect(connection).has_table(ledger_version.name):
        return 0
    found = int(connection.execute(select(func.max(ledger_version.c.version))).scalar() or 0)
    if found > CURRENT:
        raise LedgerError(
            f"The ledger of this workspace was written by a newer Veracity (its version is {found}, this program knows "
            f"{CURRENT}): update Veracity."
        )
    return found
