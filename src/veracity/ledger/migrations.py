"""Creates the tables of the ledger and updates those of older versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import sqlalchemy as sa
from sqlalchemy.schema import CreateColumn, CreateIndex

from veracity.errors import LedgerError
from veracity.ledger import tables
from veracity.ledger.relocation import require_here


def _add_conversations(connection: sa.Connection) -> None:
    """Version 2: conversations, approvals and leases. Runs of version 1 cannot be resumed.

    Uses today's tables: copy their old definition here before changing any of them."""
    _add_columns(connection, tables.runs, "conversation", "turn", "max_rewrites", "deadline")
    for index in tables.runs.indexes:
        if index.name in ("runs_of_user", "runs_of_conversation", "runs_by_status"):
            index.create(connection, checkfirst=True)
    new = [tables.leases, tables.approvals, tables.conversations, tables.recall_terms, tables.recall_vectors]
    tables.metadata.create_all(connection, tables=new)
    failed = {"status": "failed", "problem": "The process that worked on this run ended."}
    connection.execute(sa.update(tables.runs).where(tables.runs.c.status == "running").values(failed))


def _add_users(connection: sa.Connection) -> None:
    """Version 3: users, feedback, idempotency keys and indexes for polling approvals."""
    _add_columns(connection, tables.runs, "request_key")
    tables.metadata.create_all(connection, tables=[tables.users, tables.feedback])
    # IF NOT EXISTS, because SQLAlchemy's checkfirst does not find indexes on expressions.
    for index in (*tables.approvals.indexes, *tables.runs.indexes):
        if index.name not in ("approvals_by_expiry", "approvals_by_latest"):  # their columns come with version 8
            connection.execute(CreateIndex(index, if_not_exists=True))


def _add_document_limits(connection: sa.Connection) -> None:
    """Version 4: the documents that a run is limited to."""
    _add_columns(connection, tables.runs, "only")


def _add_model_calls(connection: sa.Connection) -> None:
    """Version 5: usage by role, and calls to models with their texts."""
    _add_columns(connection, tables.runs, "usage_by_role")
    tables.metadata.create_all(connection, tables=[tables.model_calls])


def _add_members(connection: sa.Connection) -> None:
    """Version 6: the servers and workers that share the ledger, and which file got an observation."""
    _add_columns(connection, tables.outbox, "place")
    tables.metadata.create_all(connection, tables=[tables.members])
    for index in tables.leases.indexes:
        connection.execute(CreateIndex(index, if_not_exists=True))


def _add_audits(connection: sa.Connection) -> None:
    """Version 7: the probability with which an answer was chosen for an audit."""
    _add_columns(connection, tables.approvals, "inclusion")


def _add_inbox(connection: sa.Connection) -> None:
    """Version 8: drafts that are sent back, assigned, expire or are announced, and decisions that can be withdrawn."""
    _add_columns(connection, tables.approvals, "send_backs", "assignee", "expires", "effective")
    tables.metadata.create_all(connection, tables=[tables.deliveries])
    connection.execute(sa.text("DROP INDEX IF EXISTS approvals_by_change"))
    for index in tables.approvals.indexes:
        connection.execute(CreateIndex(index, if_not_exists=True))


def _add_upload_lists(connection: sa.Connection) -> None:
    """Version 9: the files of each person's last upload."""
    tables.metadata.create_all(connection, tables=[tables.upload_files])


def _add_titles(connection: sa.Connection) -> None:
    """Version 10: titles and pins of conversations, and example questions."""
    _add_columns(connection, tables.conversations, "title", "pinned")
    tables.metadata.create_all(connection, tables=[tables.example_questions, tables.example_search])


def _add_columns(connection: sa.Connection, table: sa.Table, *names: str) -> None:
    """Skips those that exist: an earlier migration may have created the table as it is today."""
    known = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
    for name in names:
        if name in known:
            continue
        column = CreateColumn(table.c[name]).compile(dialect=connection.dialect)
        connection.execute(sa.text(f"ALTER TABLE {table.name} ADD COLUMN {column}"))


# The first leads to version 2.
MIGRATIONS: Sequence[Callable[[sa.Connection], None]] = (
    _add_conversations,
    _add_users,
    _add_document_limits,
    _add_model_calls,
    _add_members,
    _add_audits,
    _add_inbox,
    _add_upload_lists,
    _add_titles,
)
SCHEMA_VERSION = 1 + len(MIGRATIONS)


def migrate(engine: sa.Engine, lock: Callable[[sa.Connection], None] | None = None, *, is_moving: bool = False) -> None:
    """Create or update the tables, in one transaction. Raises `LedgerError` if a newer program wrote them. `lock` keeps
    other processes from doing the same, where the transaction does not. Unless it `is_moving`, a ledger that was moved
    to another place is refused."""
    with engine.connect() as connection:
        if not is_moving:
            require_here(connection)
        if _read_version(connection) == SCHEMA_VERSION:
            return
    with engine.execution_options(writes=True).begin() as connection:
        if lock is not None:
            lock(connection)
        version = _read_version(connection)  # another process may have migrated it meanwhile
        if version == 0:
            for statement in _definitions(connection.dialect.name, connection.dialect.driver):
                connection.exec_driver_sql(statement)
        for change in MIGRATIONS[version - 1 :] if version else ():
            change(connection)
        if version < SCHEMA_VERSION:
            connection.execute(sa.insert(tables.ledger_version), {"version": SCHEMA_VERSION})


@cache
def _definitions(name: str, driver: str) -> Sequence[str]:
    """The statements that create the tables in an empty database. Kept, because making them takes longer than executing
    them, and a program may open many workspaces."""
    url = sa.make_url(f"{name}+{driver}://")
    dialect = url.get_dialect()()
    statements: list[str] = []
    engine = sa.create_mock_engine(url, lambda ddl, *_: statements.append(str(ddl.compile(dialect=dialect))))
    tables.metadata.create_all(engine, checkfirst=False)
    return tuple(statements)


def _read_version(connection: sa.Connection) -> int:
    """0 for a new database."""
    versions = tables.ledger_version
    if not sa.inspect(connection).has_table(versions.name):
        return 0
    version = int(connection.execute(sa.select(sa.func.max(versions.c.version))).scalar() or 0)
    if version > SCHEMA_VERSION:
        raise LedgerError(
            f"The ledger of this workspace was written by a newer Veracity (schema version {version}, this program "
            f"supports {SCHEMA_VERSION}): update Veracity."
        )
    return version
