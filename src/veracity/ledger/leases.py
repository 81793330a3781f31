"""Leases on runs (DESIGN 2): only the process that holds the current token of a run may write to it.

A lease ends when its owner dies, which `owners` knows at once, or when it expires. A process renews its leases while it
lives, so those of a process that hangs, or that another machine cannot reach, expire.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import Connection, Row, Select, bindparam, insert, select, update

from veracity.errors import LostLeaseError, VeracityError
from veracity.ledger.owners import Owners
from veracity.ledger.tables import UtcDateTime, approvals, is_case, leases, runs
from veracity.secrets import presentable

log = logging.getLogger("veracity")

LEASE_SECONDS = 30.0
RENEW_SECONDS = 5.0
FIRST_TOKEN = 1
DECIDED_STATES = ("approved", "rejected", "sent_back", "expired")

LeaseRow = tuple[str, str, int, str | None, datetime | None]
_NOW = bindparam("now", type_=UtcDateTime)
_IS_DECIDED = (  # the newest draft. Pending ones are excluded first: their index does not touch the large drafts
    (runs.c.status == "awaiting_approval")
    & runs.c.run_id.not_in(select(approvals.c.run_id).where(approvals.c.state == "pending"))
    & select(sa.case((approvals.c.effective > _NOW, "pending"), else_=approvals.c.state))  # it can still be withdrawn
    .where(approvals.c.run_id == runs.c.run_id)
    .order_by(approvals.c.number.desc())
    .limit(1)
    .scalar_subquery()
    .in_(DECIDED_STATES)
)
_RESUMABLE: Select[LeaseRow] = (
    select(runs.c.run_id, runs.c.status, leases.c.token, leases.c.owner, leases.c.expires)
    .join_from(runs, leases, runs.c.run_id == leases.c.run_id)
    .where((runs.c.status == "running") | _IS_DECIDED)
)
_TOKEN = select(leases.c.token).where(leases.c.run_id == bindparam("of_run"))
_HELD_IN_POSTGRES = _TOKEN.add_columns(sa.func.set_config("synchronous_commit", "off", True)).with_for_update()


class Renewal:
    """Renews the leases of this process on a thread of its own, from start() to close()."""

    def __init__(self, renew: Callable[[], None]) -> None:
        self._renew = renew
        self._starting = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Idempotent. After a fork, the child starts a thread of its own."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._closed.clear()
                self._thread = threading.Thread(target=self._run, name="veracity-leases", daemon=True)
                self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(RENEW_SECONDS)
        self._thread = None

    def _run(self) -> None:
        while not self._closed.wait(RENEW_SECONDS):
            try:
                self._renew()
            except VeracityError as error:  # the next attempt may succeed before the leases expire
                log.debug("The leases could not be renewed: %s", error)


def grant_first(connection: Connection, run_id: str, owner: str, host: str) -> int:
    connection.execute(insert(leases), {"run_id": run_id, "token": FIRST_TOKEN, **_held_by(connection, owner, host)})
    return FIRST_TOKEN


def acquire(connection: Connection, run_id: str, owners: Owners, owner: str) -> int | None:
    """A new token for a run that can be resumed, else None. The row is locked: of many callers, one succeeds."""
    now = read_clock(connection)
    query = _RESUMABLE.where(runs.c.run_id == run_id).with_for_update()
    row = connection.execute(query, {"now": now}).one_or_none()
    if row is None or not _free_leases(owners, now)(row):
        return None
    if row.owner is not None:
        owners.evict(row.owner)
    token: int = row.token + 1
    same = (leases.c.run_id == run_id) & (leases.c.token == row.token)
    connection.execute(update(leases).where(same).values(token=token, **_held_by(connection, owner, owners.host)))
    connection.execute(update(runs).where(runs.c.run_id == run_id).values(status="running"))
    return token


def renew(connection: Connection, owner: str, former_names: Collection[str]) -> None:
    """Extend the leases of this process. Those under a name that it had before, and that nobody acquired, move over."""
    expires = read_clock(connection) + timedelta(seconds=LEASE_SECONDS)
    own = leases.c.owner.in_((owner, *former_names))
    connection.execute(update(leases).where(own).values(owner=owner, expires=expires))


def count_waiting(connection: Connection, user: str | None) -> int:
    """The runs that are not done and that no process works on, of one user or of all."""
    joined = sa.join(runs, leases, runs.c.run_id == leases.c.run_id)
    query = select(sa.func.count()).select_from(joined).where(runs.c.status == "running", leases.c.owner.is_(None))
    query = query.where(~is_case)
    if user is not None:
        query = query.where(runs.c.user_name == user)
    return connection.execute(query).scalar_one()


def list_free(connection: Connection, owners: Owners) -> dict[str, bool]:
    """The runs that acquire() would grant now, oldest first, and whether each has a dead owner. Without cases of
    experiments: those are resumed with the settings of their experiment."""
    now = read_clock(connection)
    is_free = _free_leases(owners, now)
    rows = connection.execute(_RESUMABLE.where(~is_case).order_by(runs.c.number), {"now": now}).all()
    return {row.run_id: row.owner is not None for row in rows if is_free(row)}


def get_token(connection: Connection, run_id: str) -> int:
    return int(connection.execute(_TOKEN, {"of_run": run_id}).scalar() or 0)


def require(connection: Connection, run_id: str, token: int) -> None:
    """Raises `LostLeaseError` unless the token is current. The run must be locked by this transaction."""
    _require(connection.execute(_TOKEN, {"of_run": run_id}).scalar(), run_id, token)


def hold(connection: Connection, run_id: str, token: int) -> None:
    """Like require(), but locks the lease itself, and does not wait until the disk has the transaction: for progress,
    which can be done again. One statement, because there are dozens of these transactions in a run."""
    is_postgres = connection.dialect.name == "postgresql"
    row = connection.execute(_HELD_IN_POSTGRES if is_postgres else _TOKEN, {"of_run": run_id}).first()
    _require(None if row is None else row.token, run_id, token)


def _require(current: int | None, run_id: str, token: int) -> None:
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


def _held_by(connection: Connection, owner: str, host: str) -> dict[str, object]:
    return {"owner": owner, "host": host, "expires": read_clock(connection) + timedelta(seconds=LEASE_SECONDS)}


def read_clock(connection: Connection) -> datetime:
    """The time of the database's machine: the clocks of its clients may differ."""
    if connection.dialect.name != "postgresql":
        return datetime.now(UTC)
    now: datetime = connection.execute(select(sa.func.clock_timestamp())).scalar_one()
    return now.astimezone(UTC)


def _free_leases(owners: Owners, now: datetime) -> Callable[[Row[LeaseRow]], bool]:
    """A test whether a lease is free. It probes each owner once."""
    is_alive = functools.cache(owners.is_alive)

    def is_free(row: Row[LeaseRow]) -> bool:
        if row.status == "awaiting_approval" or row.owner is None or (row.run_id, row.token) in owners.abandoned:
            return True
        if row.owner == owners.name or row.owner in owners.former_names:
            return False
        return row.expires is None or row.expires < now or not is_alive(row.owner)

    return is_free
