"""Who may write to a run: the one who holds the token of its present lease (DESIGN 2).

A lease ends when its owner dies. An owner on this machine is dead when its lock is free, however long its lease; one on
another machine when the lease has expired. What an owner left and could not write down is free for that owner alone.
Knows nothing about what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Row, Select, insert, select, update

from veracity.errors import LostLeaseError
from veracity.ledger.owners import Owners
from veracity.ledger.schema import approvals, leases, runs
from veracity.secrets import presentable

FIRST = 1
DECIDED = ("approved", "rejected")
_WAITED_FOR = (  # whose newest draft was decided on. Those that are pending come first: their index spares the drafts
    (runs.c.status == "awaiting_approval")
    & runs.c.run_id.not_in(select(approvals.c.run_id).where(approvals.c.state == "pending"))
    & select(approvals.c.state)
    .where(approvals.c.run_id == runs.c.run_id)
    .order_by(approvals.c.number.desc())
    .limit(1)
    .scalar_subquery()
    .in_(DECIDED)
)
Owned = tuple[str, str, int, str | None, str | None, datetime | None]
_TO_TAKE_UP: Select[Owned] = (
    select(runs.c.run_id, runs.c.status, leases.c.token, leases.c.owner, leases.c.host, leases.c.expires)
    .join_from(runs, leases, runs.c.run_id == leases.c.run_id)
    .where((runs.c.status == "running") | _WAITED_FOR)
)
IsDead = Callable[[Row[Owned]], bool]
Left = Collection[tuple[str, int]]  # runs, by the tokens of those who left them


def grant(connection: Connection, run_id: str, owner: str, host: str, seconds: float) -> int:
    """The first lease of a run that was just begun."""
    connection.execute(insert(leases), {"run_id": run_id, "token": FIRST, **_held_by(owner, host, seconds)})
    return FIRST


def take_over(
    connection: Connection, run_id: str, owners: Owners, me: str, seconds: float, left: Left = ()
) -> int | None:
    """Nobody else writes meanwhile, so of many who try one finds it without a living owner."""
    row = connection.execute(_TO_TAKE_UP.where(runs.c.run_id == run_id).with_for_update()).one_or_none()
    if row is None or not _is_free(row, _dead(owners, left)):
        return None
    token: int = row.token + 1
    same = (leases.c.run_id == run_id) & (leases.c.token == row.token)
    taken = {"token": token, **_held_by(me, owners.host, seconds)}
    connection.execute(update(leases).where(same).values(taken))
    connection.execute(update(runs).where(runs.c.run_id == run_id).values(status="running"))
    return token


def interrupted(connection: Connection, owners: Owners, left: Left = ()) -> list[str]:
    """The oldest first."""
    rows, is_dead = connection.execute(_TO_TAKE_UP.order_by(runs.c.number)).all(), _dead(owners, left)
    return [row.run_id for row in rows if _is_free(row, is_dead)]


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


def _is_free(row: Row[Owned], is_dead: IsDead) -> bool:
    return row.status == "awaiting_approval" or is_dead(row)


def _dead(owners: Owners, left: Left) -> IsDead:
    """Each owner is looked at once."""
    known: dict[str, bool] = {}
    now = datetime.now(UTC)

    def is_dead(row: Row[Owned]) -> bool:
        if row.owner is None or (row.run_id, row.token) in left:
            return True
        if row.host != owners.host:
            return row.expires is None or row.expires < now
        if row.owner not in known:
            known[row.owner] = not owners.lives(row.owner)
        return known[row.owner]

    return is_dead
