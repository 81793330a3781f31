"""How approvals and runs stand, for whoever looks every second: without drafts and steps, which take long to read.

Knows nothing about decisions.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter
from sqlalchemy import Connection, case, exists, func, select

from veracity.ledger.schema import approval_changed, approvals, runs, steps
from veracity.models import ApprovalStanding, RunStanding, RunStatus

_NAMES = tuple(ApprovalStanding.model_fields)
_STANDINGS = TypeAdapter(list[ApprovalStanding])
_STEPS = select(func.count()).select_from(steps).where(steps.c.run_id == runs.c.run_id).scalar_subquery()
_IS_PENDING = exists().where((approvals.c.run_id == runs.c.run_id) & (approvals.c.state == "pending"))
_STATUS = case(((runs.c.status == "awaiting_approval") & ~_IS_PENDING, "running"), else_=runs.c.status)
_FORGOTTEN = (runs.c.forgotten > 0) | (runs.c.question == "")
_LATEST = select(  # in the order of the names: read by name, a row takes three times as long
    approvals.c.approval_id,
    approvals.c.run_id,
    approvals.c.user_name,
    approvals.c.state,
    approvals.c.question,
    func.coalesce(approvals.c.decided_by, ""),
).order_by(approval_changed.desc(), approvals.c.number.desc())


def latest(connection: Connection, limit: int) -> list[ApprovalStanding]:
    """Those that were made, decided or superseded last, the latest first."""
    rows = connection.execute(_LATEST.limit(limit))
    return _STANDINGS.validate_python([dict(zip(_NAMES, row, strict=True)) for row in rows])


def of_run(connection: Connection, run_id: str) -> RunStanding | None:
    """One that was decided on runs, even if nobody has taken it up yet."""
    wanted = select(runs.c.user_name, _STATUS, _STEPS, _FORGOTTEN).where(runs.c.run_id == run_id)
    row = connection.execute(wanted).one_or_none()
    if row is None:
        return None
    return RunStanding(run_id=run_id, user=row[0], status=row[1], steps=row[2], forgotten=row[3])


def pending(connection: Connection, user: str | None) -> int:
    """How many wait: of those that this user asked for, or of all."""
    wanted = select(func.count()).select_from(approvals).where(approvals.c.state == "pending")
    if user is not None:
        wanted = wanted.where(approvals.c.user_name == user)
    return connection.execute(wanted).scalar_one()


def of_runs(connection: Connection, run_ids: Sequence[str]) -> dict[str, RunStatus]:
    wanted = select(runs.c.run_id, runs.c.status).where(runs.c.run_id.in_(run_ids))
    return {row.run_id: row.status for row in connection.execute(wanted)}
