"""Leases on runs (DESIGN 2): only the process that holds the current token of a run may write to it.

A lease ends when its owner dies. An owner on this machine is dead when its lock file is free, no matter when the lease
expires; an owner on another machine when the lease has expired.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Row, Select, bindparam, insert, select, update

from veracity.errors import LostLeaseError
from veracity.ledger.database import translate_errors
from veracity.ledger.tables import approvals, leases, runs
from veracity.secrets import presentable

LOCK_TIMEOUT_SECONDS = 15.0
FIRST_TOKEN = 1
_inherited: list[FileLock] = []  # after a fork: garbage collecting these could release the parent's locks

LeaseRow = tuple[str, str, int, str | None, str | None, datetime | None]
_IS_DECIDED = (  # the newest draft. Pending ones are excluded first: their index does not touch the large drafts
    (runs.c.status == "awaiting_approval")
    & runs.c.run_id.not_in(select(approvals.c.run_id).where(approvals.c.state == "pending"))
    & select(approvals.c.state)
    .where(approvals.c.run_id == runs.c.run_id)
    .order_by(approvals.c.number.desc())
    .limit(1)
    .scalar_subquery()
    .in_(("approved", "rejected"))
)
_RESUMABLE: Select[LeaseRow] = (
    select(runs.c.run_id, runs.c.status, leases.c.token, leases.c.owner, leases.c.host, leases.c.expires)
    .join_from(runs, leases, runs.c.run_id == leases.c.run_id)
    .where((runs.c.status == "running") | _IS_DECIDED)
)
_TOKEN = select(leases.c.token).where(leases.c.run_id == bindparam("of_run"))


class Owners:
    """The processes that share a ledger folder. Each holds the lock on a file of its own while it lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "owners"
        self.host = socket.gethostname()
        self._prefix = hashlib.sha256(self.host.encode()).hexdigest()[:8]  # other machines may share the folder
        self._registering = threading.Lock()
        self._name = ""
        self._pid = os.getpid()
        self._lock: FileLock | None = None
        self.abandoned: set[tuple[str, int]] = set()  # runs and tokens whose release could not be stored

    def register(self) -> str:
        """The name of this process, which is valid until close(). After a fork, the child gets its own. Idempotent."""
        self._detach_after_fork()
        with self._registering, translate_errors(self._folder.parent):
            if self._lock is None:
                name = f"{self._prefix}-{secrets.token_hex(8)}"
                with self._probing():
                    for path in self._folder.glob(f"{self._prefix}-*.lock"):
                        _remove_if_free(path)
                    lock = FileLock(self._path(name), thread_local=False)  # close() may run on another thread
                    lock.acquire(blocking=False)
                self._lock, self._name = lock, name
            return self._name

    def is_alive(self, name: str) -> bool:
        if name == self._name and self._pid == os.getpid():
            return True
        if not self._path(name).exists():
            return False
        with self._probing():
            return not _remove_if_free(self._path(name))

    def close(self) -> None:
        self._detach_after_fork()
        with self._registering:
            if self._lock is not None:
                self._lock.release()
                with contextlib.suppress(OSError):
                    self._path(self._name).unlink()
            self._lock, self._name = None, ""

    @contextlib.contextmanager
    def _probing(self) -> Iterator[None]:
        """One process at a time: probing a lock holds it for a moment, which another prober takes for a live owner."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self._folder / ".looking.lock", timeout=LOCK_TIMEOUT_SECONDS, poll_interval=0.005):
            yield

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.lock"

    def _detach_after_fork(self) -> None:
        if self._pid == os.getpid():
            return
        self._registering = threading.Lock()  # a thread of the parent may have held it
        if self._lock is not None:
            _inherited.append(self._lock)
        self._lock, self._name, self._pid = None, "", os.getpid()


def _remove_if_free(path: Path) -> bool:
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return False
    with contextlib.suppress(OSError):
        path.unlink()
    lock.release()
    return True


def grant_first(connection: Connection, run_id: str, owner: str, host: str, seconds: float) -> int:
    connection.execute(insert(leases), {"run_id": run_id, "token": FIRST_TOKEN, **_held_by(owner, host, seconds)})
    return FIRST_TOKEN


def acquire(connection: Connection, run_id: str, owners: Owners, owner: str, seconds: float) -> int | None:
    """A new token for a run that can be resumed, else None. The transaction is exclusive: of many, one succeeds."""
    row = connection.execute(_RESUMABLE.where(runs.c.run_id == run_id).with_for_update()).one_or_none()
    if row is None or not _free_leases(owners)(row):
        return None
    token: int = row.token + 1
    same = (leases.c.run_id == run_id) & (leases.c.token == row.token)
    connection.execute(update(leases).where(same).values(token=token, **_held_by(owner, owners.host, seconds)))
    connection.execute(update(runs).where(runs.c.run_id == run_id).values(status="running"))
    return token


def interrupted(connection: Connection, owners: Owners) -> list[str]:
    is_free = _free_leases(owners)
    return [row.run_id for row in connection.execute(_RESUMABLE.order_by(runs.c.number)).all() if is_free(row)]


def require(connection: Connection, run_id: str, token: int) -> None:
    """Raises `LostLeaseError` unless the token is current. The run must be locked by this transaction."""
    current = connection.execute(_TOKEN, {"of_run": run_id}).scalar()
    if current != token:
        raise LostLeaseError(
            f'The lease on run "{presentable(run_id)}" was lost: another process resumed or ended it. '
            "This result is discarded."
        )


def release(connection: Connection, run_id: str) -> None:
    nobody = {"owner": None, "host": None, "expires": None}
    connection.execute(update(leases).where(leases.c.run_id == run_id).values(nobody))


def revoke(connection: Connection, run_id: str) -> None:
    """Release the lease and invalidate its token."""
    release(connection, run_id)
    connection.execute(update(leases).where(leases.c.run_id == run_id).values(token=leases.c.token + 1))


def _held_by(owner: str, host: str, seconds: float) -> dict[str, object]:
    return {"owner": owner, "host": host, "expires": datetime.now(UTC) + timedelta(seconds=seconds)}


def _free_leases(owners: Owners) -> Callable[[Row[LeaseRow]], bool]:
    """A test whether a lease is free. It probes each owner once."""
    is_alive, now = functools.cache(owners.is_alive), datetime.now(UTC)

    def is_free(row: Row[LeaseRow]) -> bool:
        if row.status == "awaiting_approval" or row.owner is None or (row.run_id, row.token) in owners.abandoned:
            return True
        if row.host != owners.host:
            return row.expires is None or row.expires < now
        return not is_alive(row.owner)

    return is_free
