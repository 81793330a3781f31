"""Brings the tables of a ledger to the version of this program. Knows nothing about what they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, Engine, Table, func, insert, inspect, select, text, update
from sqlalchemy.schema import CreateColumn, CreateIndex

from veracity.errors import LedgerError
from veracity.ledger.schema import (
    approvals,
    conversations,
    feedback,
    leases,
    ledger_version,
    recall_terms,
    recall_vectors,
    runs,
    tables,
    users,
)

ENDED = "The process that worked on it ended."


def _to_conversations(connection: Connection) -> None:
    """Version 2: conversations, approvals and leases. No run of version 1 can be taken up again. (Who changes one of
    these tables later writes down here what it was.)"""
    _add_columns(connection, runs, "conversation", "turn", "max_rewrites", "deadline")
    for index in runs.indexes:
        if index.name in ("runs_of_user", "runs_of_conversation", "runs_by_status"):
            index.create(connection, checkfirst=True)
    tables.create_all(connection, tables=[leases, approvals, conversations, recall_terms, recall_vectors])
    connection.execute(update(runs).where(runs.c.status == "running").values(status="failed", problem=ENDED))


def _to_users(connection: Connection) -> None:
    """Version 3: who may use the workspace, what they say of answers, how approvals stand at a glance, and questions
    that are sent again."""
    _add_columns(connection, runs, "request_key")
    tables.create_all(connection, tables=[users, feedback])
    # Some are there, and those of expressions cannot be looked up beforehand.
    for index in (*approvals.indexes, *runs.indexes):
        connection.execute(CreateIndex(index, if_not_exists=True))


def _add_columns(connection: Connection, table: Table, *names: str) -> None:
    for name in names:
        column = CreateColumn(table.c[name]).compile(dialect=connection.dialect)
        connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {column}"))


# Each leads from one version to the next. A ledger that is new gets the tables as schema.py has them.
CHANGES: Sequence[Callable[[Connection], None]] = (_to_conversations, _to_users)
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
