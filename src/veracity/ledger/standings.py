"""How approvals stand, for whoever looks every second: without their drafts, and by an index that spares reading them.

Knows nothing about decisions.
"""

from __future__ import annotations

from pydantic import TypeAdapter
from sqlalchemy import Connection, func, select

from veracity.ledger.schema import approval_changed, approvals
from veracity.models import ApprovalStanding

_NAMES = tuple(ApprovalStanding.model_fields)
_STANDINGS = TypeAdapter(list[ApprovalStanding])
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


def pending(connection: Connection, user: str | None) -> int:
    """How many wait: of those that this user asked for, or of all."""
    wanted = select(func.count()).select_from(approvals).where(approvals.c.state == "pending")
    if user is not None:
        wanted = wanted.where(approvals.c.user_name == user)
    return connection.execute(wanted).scalar_one()
