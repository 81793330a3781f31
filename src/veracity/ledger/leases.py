"""Who may write to a run: the one who holds the token of its present lease (DESIGN 2).

A lease ends when its owner dies. An owner on this machine is dead when its lock is free, however long its lease; one on
another machine when the lease has expired. What an owner left and could not write down is free for that owner alone.
Knows nothing about what is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
import threading
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Row, Select, insert, select, update

from veracity.errors import LostLeaseError
from veracity.ledger.tables import approvals, leases, runs
from veracity.secrets import presentable

PATIENCE = 15.0  # seconds to wait for another who looks
_inherited: list[FileLock] = []  # of a parent: to drop them could unlock what the parent holds


class Owners:
    """Those who share a folder. The one that this object stands for comes into being when its name is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "owners"
        self.host = socket.gethostname()
        self._prefix = hashlib.sha256(self.host.encode()).hexdigest()[:8]  # other machines may share the folder
        self._making = threading.Lock()
        self._name = ""
        self._pid = os.getpid()
        self._lock: FileLock | None = None

    def me(self) -> str:
        """A name that lives until close() or the end of this process. After a fork, the child gets one of its own."""
        if self._pid != os.getpid():
            self._leave_to_parent()
        with self._making:
            if self._lock is None:
                name = f"{self._prefix}-{secrets.token_hex(8)}"
                self._locked(lambda: self._take(name))
                self._name = name
            return self._name

    def lives(self, name: str) -> bool:
        """For an owner on this machine."""
        if name == self._name and self._pid == os.getpid():
            return True
        return self._path(name).exists() and self._locked(lambda: not self._buried(self._path(name)))

    def close(self) -> None:
        if self._pid != os.getpid():
            self._leave_to_parent()
        with self._making:
            if self._lock is not None:
                self._lock.release()
                with contextlib.suppress(OSError):
                    self._path(self._name).unlink()
            self._lock, self._name = None, ""

    def _take(self, name: str) -> bool:
        for path in self._folder.glob(f"{self._prefix}-*.lock"):
            self._buried(path)
        lock = FileLock(self._path(name), thread_local=False)  # whichever thread closes the ledger frees it
        lock.acquire(blocking=False)
        self._lock = lock
        return True

    def _buried(self, path: Path) -> bool:
        """True if nobody holds it any more; then it is removed."""
        lock = FileLock(path)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return False
        with contextlib.suppress(OSError):
            path.unlink()
        lock.release()
        return True

    def _locked(self, look: Callable[[], bool]) -> bool:
        """One at a time: who looks holds the other's lock for a moment, and would be taken for its owner."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self._folder / ".looking.lock", timeout=PATIENCE, poll_interval=0.005):
            return look()

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.lock"

    def _leave_to_parent(self) -> None:
        self._making = threading.Lock()  # a thread of the parent may have held it
        if self._lock is not None:
            _inherited.append(self._lock)
        self._lock, self._name, self._pid = None, "", os.getpid()


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
