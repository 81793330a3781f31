"""A mark in a ledger that was moved to another place, or that is not yet complete (`veracity move-to`).

Its table is created when it is needed and is not copied along.
"""

from __future__ import annotations

import sqlalchemy as sa

from veracity.errors import ConfigurationError
from veracity.settings.store import MoveState, explain_move

_table = sa.Table(
    "relocation",
    sa.MetaData(),
    sa.Column("state", sa.Text, primary_key=True),
    sa.Column("place", sa.Text, nullable=False),  # where it was moved to, or comes from
)


def require_here(connection: sa.Connection) -> None:
    """Raise `ConfigurationError` if the ledger is marked."""
    mark = read_mark(connection)
    if mark is not None:
        raise ConfigurationError(explain_move("ledger", *mark))


def read_mark(connection: sa.Connection) -> tuple[MoveState, str] | None:
    if not sa.inspect(connection).has_table(_table.name):
        return None
    row = connection.execute(sa.select(_table)).first()
    return None if row is None else (row.state, row.place)


def set_mark(connection: sa.Connection, state: MoveState, place: str) -> None:
    _table.create(connection, checkfirst=True)
    connection.execute(sa.delete(_table))
    connection.execute(sa.insert(_table), {"state": state, "place": place})


def clear_mark(connection: sa.Connection) -> None:
    _table.drop(connection, checkfirst=True)
