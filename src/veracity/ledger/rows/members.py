"""Rows of members: the servers and workers that share a ledger, and the configuration of each.

The oldest live member leads: one with another configuration takes no jobs, because it would answer differently.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from veracity.ledger.tables import members
from veracity.models import Member


def add(connection: Connection, member: Member) -> None:
    """Replaces an earlier registration under the same name."""
    connection.execute(delete(members).where(members.c.name == member.name))
    connection.execute(insert(members), member.model_dump())


def renew(connection: Connection, name: str, previous: str, now: datetime) -> None:
    connection.execute(update(members).where(members.c.name.in_((name, previous))).values(name=name, seen=now))


def remove(connection: Connection, names: list[str]) -> None:
    connection.execute(delete(members).where(members.c.name.in_(names)))


def list_members(connection: Connection) -> list[Member]:
    """Oldest first."""
    rows = connection.execute(select(members).order_by(members.c.started, members.c.name)).mappings()
    return [Member.model_validate(dict(row)) for row in rows]
