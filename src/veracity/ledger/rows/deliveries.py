"""Rows of deliveries: announcements of approvals that a webhook or a mail server has to get.

A delivery is claimed for a while before it is sent. If its process dies, another one sends it again with the same id.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, func, insert, select, update

from veracity.ledger.tables import deliveries
from veracity.models import Approval, Channel, Delivery, DeliveryEvent

CLAIM_SECONDS = 120
MAX_ATTEMPTS = 12  # over about 11 hours
FIRST_DELAY, MAX_DELAY = 10, 6 * 3600  # seconds until the next attempt
KEPT_DAYS = 30
_OPEN = deliveries.c.state == "pending"


def add(
    connection: Connection, approval: Approval, event: DeliveryEvent, channels: Sequence[Channel], due: datetime
) -> None:
    """Queue one delivery per channel when the transaction commits."""
    rows = [
        {
            "delivery_id": f"msg_{secrets.token_hex(16)}",
            "approval_id": approval.approval_id,
            "event": event,
            "channel": channel,
            "state": "pending",
            "attempts": 0,
            "due": due,
            "created": due,
            "problem": "",
        }
        for channel in channels
    ]
    if rows:
        connection.execute(insert(deliveries), rows)


def drop(connection: Connection, approval_id: str, event: DeliveryEvent) -> None:
    """Remove what was not sent yet."""
    unsent = _OPEN & (deliveries.c.approval_id == approval_id) & (deliveries.c.event == event)
    connection.execute(delete(deliveries).where(unsent))


def is_due(connection: Connection, now: datetime) -> bool:
    return (
        connection.execute(select(deliveries.c.number).where(_OPEN & (deliveries.c.due <= now)).limit(1)).first()
        is not None
    )


def claim(connection: Connection, now: datetime) -> Delivery | None:
    """The first delivery that is due, or None. No other process gets it for a while."""
    query = select(deliveries).where(_OPEN & (deliveries.c.due <= now)).order_by(deliveries.c.due).limit(1)
    row = connection.execute(query.with_for_update(skip_locked=True)).one_or_none()
    if row is None:
        return None
    claimed = {"due": now + timedelta(seconds=CLAIM_SECONDS), "attempts": row.attempts + 1}
    connection.execute(update(deliveries).where(deliveries.c.number == row.number).values(claimed))
    return Delivery.model_validate({**row._mapping, **claimed})


def finish(connection: Connection, delivery_id: str, now: datetime) -> None:
    """It was sent, or cannot be any more. Old ones are removed."""
    connection.execute(
        update(deliveries).where(deliveries.c.delivery_id == delivery_id).values(state="sent", problem="")
    )
    expired = ~_OPEN & (deliveries.c.due < now - timedelta(days=KEPT_DAYS))
    connection.execute(delete(deliveries).where(expired))


def retry(connection: Connection, delivery: Delivery, problem: str, now: datetime) -> bool:
    """Queue it again, later each time. False if that was the last attempt."""
    is_last = delivery.attempts >= MAX_ATTEMPTS
    delay = min(MAX_DELAY, FIRST_DELAY * 2 ** (delivery.attempts - 1))
    values = {"state": "failed" if is_last else "pending", "due": now + timedelta(seconds=delay), "problem": problem}
    own = _OPEN & (deliveries.c.delivery_id == delivery.delivery_id)
    connection.execute(update(deliveries).where(own).values(values))
    return not is_last


def count(connection: Connection) -> dict[str, int]:
    """How many there are, by state."""
    query = select(deliveries.c.state, func.count().label("number")).group_by(deliveries.c.state)
    return {row.state: row.number for row in connection.execute(query)}
