"""Copies all rows of a ledger to another database, and compares both.

Rows are compared by what they mean: the hash of a table is the sum of the hashes of its rows, whose values have a form
that does not depend on the database. So the order of rows does not count either.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from veracity.errors import LedgerError
from veracity.ledger.database import without_nul
from veracity.ledger.tables import leases, ledger_version, members, metadata, outbox

BATCH_SIZE = 200
HASH_BITS = 256
# The version belongs to the program, and members to processes.
TABLES = [table for table in metadata.sorted_tables if table not in (ledger_version, members)]


class TableHash(NamedTuple):
    rows: int
    digest: int

    def __add__(self, other: Any) -> TableHash:
        return TableHash(self.rows + other.rows, (self.digest + other.digest) % 2**HASH_BITS)


NO_ROWS = TableHash(0, 0)


def lift_limits(connection: sa.Connection) -> None:
    """A transaction that copies everything waits for the other database, and its statements take long."""
    if connection.dialect.name == "postgresql":
        for name in ("idle_in_transaction_session_timeout", "statement_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {name} = 0")


def is_empty(connection: sa.Connection) -> bool:
    return all(
        connection.execute(sa.select(sa.literal(1)).select_from(table).limit(1)).first() is None for table in TABLES
    )


def remove_all(connection: sa.Connection) -> None:
    for table in reversed(TABLES):
        connection.execute(sa.delete(table))


def copy_tables(source: sa.Connection, target: sa.Connection, observations_place: str | None) -> dict[str, TableHash]:
    """Copy all rows to empty tables, and compare them there. Raises `LedgerError` if they differ. Returns what each
    table has. `observations_place` names the file that has the records of a ledger which was not shared."""
    copied: dict[str, TableHash] = {}
    for table in TABLES:
        before = NO_ROWS
        for batch in _read(source, table, observations_place):
            target.execute(sa.insert(table), batch)
            before = sum((hash_row(row) for row in batch), before)
        after = hash_table(target, table)
        if after != before:
            raise LedgerError(
                f'The copy of the table "{table.name}" differs ({before.rows:,} rows before, {after.rows:,} after): '
                "nothing was changed; report this as a defect."
            )
        copied[table.name] = after
        _continue_numbers(source, target, table)
    return copied


def hash_table(connection: sa.Connection, table: sa.Table) -> TableHash:
    return sum((hash_row(row) for batch in _read(connection, table, None) for row in batch), NO_ROWS)


def hash_row(row: dict[str, Any]) -> TableHash:
    """Of the values in a form that is the same for both databases. Postgres stores no NUL."""
    text = json.dumps(row, sort_keys=True, ensure_ascii=False, default=_encode)
    return TableHash(1, int.from_bytes(hashlib.sha256(without_nul(text).encode(errors="surrogatepass")).digest()))


def _read(connection: sa.Connection, table: sa.Table, observations_place: str | None) -> Iterator[list[dict[str, Any]]]:
    rows = connection.execute(sa.select(table), execution_options={"yield_per": BATCH_SIZE})
    for partition in rows.mappings().partitions():
        yield [_portable(table, dict(row), observations_place) for row in partition]


def _portable(table: sa.Table, row: dict[str, Any], observations_place: str | None) -> dict[str, Any]:
    """Nobody owns a run of a ledger that is being moved."""
    if table is leases:
        return {**row, "owner": None, "host": None, "expires": None}
    if table is outbox and observations_place and row["place"] is None and row["state"] != "pending":
        return {**row, "place": observations_place}
    return row


def _encode(value: datetime | bytes) -> str:
    return value.isoformat() if isinstance(value, datetime) else hashlib.sha256(value).hexdigest()


def _continue_numbers(source: sa.Connection, target: sa.Connection, table: sa.Table) -> None:
    """Numbers that were given to rows which are removed now are not given again."""
    column = table.autoincrement_column
    if column is None or not table.kwargs.get("sqlite_autoincrement"):
        return
    highest = max(_last_number(source, table, column), _last_number(target, table, column))
    if not highest:
        return
    if target.dialect.name == "postgresql":
        sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
        target.execute(sa.select(sa.func.setval(sequence, highest)))
        return
    sequences = sa.table("sqlite_sequence", sa.column("name"), sa.column("seq"))
    target.execute(sa.delete(sequences).where(sequences.c.name == table.name))
    target.execute(sa.insert(sequences), {"name": table.name, "seq": highest})


def _last_number(connection: sa.Connection, table: sa.Table, column: sa.Column[Any]) -> int:
    highest = int(connection.execute(sa.select(sa.func.max(column))).scalar() or 0)
    if connection.dialect.name == "postgresql":
        last = "SELECT last_value FROM pg_sequences WHERE schemaname = current_schema() AND sequencename = :name"
        name = connection.execute(sa.select(sa.func.pg_get_serial_sequence(table.name, column.name))).scalar_one()
        given = connection.execute(sa.text(last), {"name": str(name).rpartition(".")[2].strip('"')}).scalar()
    else:
        given = None
        with suppress(sa.exc.OperationalError):  # the table is created with the first number
            query = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :name")
            given = connection.execute(query, {"name": table.name}).scalar()
    return max(highest, int(given or 0))
