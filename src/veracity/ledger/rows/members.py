"""Rows of members: the servers and workers that share a ledger, and the configuration of each.

The oldest live member leads: one with another configuration takes no jobs, because it would answer differently.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, delete, insert, select

from veracity.ledger.tables import members
from veracity.models import Member


def put(connection: Connection, member: Member, former_names: Collection[str]) -> None:
    """Replaces what is stored under this name and the names that it had before."""
    remove(connection, [member.name, *former_names])
    connection.execute(insert(members), member.model_dump())


def remove(connection: Connection, names: Collection[str]) -> None:
    connection.execute(delete(members).where(members.c.name.in_(names)))


def list_members(connection: Connection) -> list[Member]:
    """Oldest first."""
    rows = connection.execute(select(members).order_by(members.c.started, members.c.name)).mappings()
    return [Member.model_validate(dict(row)) for row in rows]
