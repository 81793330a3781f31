"""Who may write to a run: the one who holds the token of its present lease (DESIGN 2).

A lease ends when its owner dies. An owner on this machine is dead when its lock is free, however long its lease; one on
another machine when the lease has expired. Knows nothing about what is written.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Row, Select, insert, select, update

from veracity.errors import LostLeaseError
from veracity.ledger.owners import Owners
from veracity.ledger.schema import approvals, leases, runs
from veracity.secrets import presentable

FIRST = 1
DECIDED = ("approved", "rejected")
_OWNED: Select[tuple[str, str, str | None, str | None, datetime | None]] = select(
    runs.c.run_id, runs.c.status, leases.c.owner, leases.c.host, leases.c.expires
).join_from(runs, leases, runs.c.run_id == leases.c.run_id)
IsDead = Callable[[Row[tuple[str, str, str | None, str | None, datetime | None]]], bool]


def grant(connection: Connection, run_id: str, owner: str, host: str, seconds: float) -> int:
    """The first lease of a run that was just begun."""
    connection.execute(insert(leases), {"run_id": run_id, "token": FIRST, **_held_by(owner, host, seconds)})
    return FIRST


def take_over(connection: Connection, run_id: str, owners: Owners, me: str, seconds: float) -> int | None:
    """Nobody else writes meanwhile, so of many who try one finds it without a living owner."""
    row = connection.execute(_OWNED.where(runs.c.run_id == run_id).with_for_update()).one_or_none()
    if row is None or not _is_free(connection, row, _dead(owners)):
        return None
    before = int(connection.execute(select(leases.c.token).where(leases.c.run_id == run_id)).scalar_one())
    same = (leases.c.run_id == run_id) & (leases.c.token == before)
    taken = {"token": before + 1, **_held_by(me, owners.host, seconds)}
    connection.execute(update(leases).where(same).values(taken))
    connection.execute(update(runs).where(runs.c.run_id == run_id).values(status="running"))
    return before + 1


def interrupted(connection: Connection, owners: Owners) -> list[str]:
    """The oldest first."""
    unfinished = _OWNED.where(runs.c.status.in_(("running", "awaiting_approval"))).order_by(runs.c.number)
    is_dead = _dead(owners)
    return [row.run_id for row in connection.execute(unfinished).all() if _is_free(connection, row, is_dead)]


def require(connection: Connection, run_id: str, token: int) -> None:
    """The run is held already: nobody can take it over before the transaction ends."""
    present = connection.execute(select(leases.c.token).where(leases.c.run_id == run_id)).scalar()
    if present != token:
        raise LostLeaseError(
            f'The run "{presentable(run_id)}" was taken over or ended by someone else: what is done here is not kept.'
        )


def release(connection: Connection, run_id: str) -> None:
    nobody = {"owner": None, "host": None, "expires": None}
    connection.execute(update(leases).where(leases.c.run_id == run_id).values(nobody))


def revoke(connection: Connection, run_id: str) -> None:
    """Whoever works on it loses it."""
    release(connection, run_id)
    connection.execute(update(leases).where(leases.c.run_id == run_id).values(token=leases.c.token + 1))


def _held_by(owner: str, host: str, seconds: float) -> dict[str, object]:
    return {"owner": owner, "host": host, "expires": datetime.now(UTC) + timedelta(seconds=seconds)}


def _is_free(
    connection: Connection, row: Row[tuple[str, str, str | None, str | None, datetime | None]], is_dead: IsDead
) -> bool:
    if row.status == "awaiting_approval":
        theirs = select(approvals.c.state).where(approvals.c.run_id == row.run_id)
        return connection.execute(theirs.order_by(approvals.c.number.desc()).limit(1)).scalar() in DECIDED
    return bool(row.status == "running" and is_dead(row))


def _dead(owners: Owners) -> IsDead:
    """Each owner is looked at once."""
    known: dict[str, bool] = {}
    now = datetime.now(UTC)

    def is_dead(row: Row[tuple[str, str, str | None, str | None, datetime | None]]) -> bool:
        if row.owner is None:
            return True
        if row.host != owners.host:
            return row.expires is None or row.expires < now
        if row.owner not in known:
            known[row.owner] = not owners.lives(row.owner)
        return known[row.owner]

    return is_dead
