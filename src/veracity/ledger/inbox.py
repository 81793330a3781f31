"""What people do with drafts that wait, besides deciding: assign them and withdraw a decision. Drafts that nobody
decides expire, and all of it is announced."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, get_args

from sqlalchemy import Connection

from veracity.errors import DecidedError, DecisionError, InputError, NotFoundError
from veracity.ledger.database import Database
from veracity.ledger.leases import read_clock
from veracity.ledger.rows import approvals, deliveries, runs
from veracity.ledger.run_queue import RunQueue
from veracity.ledger.tables import normalize_name, require_short_reason
from veracity.models import Approval, Channel, Decision, Delivery, DeliveryEvent, LedgerChange, Verdict
from veracity.secrets import presentable

if TYPE_CHECKING:
    from veracity.ledger.jobs import Jobs


def make_decision(verdict: Verdict, by: str, reason: str, edit: str | None) -> Decision:
    """A decision of now. Raises `InputError` if it makes no sense, such as an edit of a rejected draft."""
    if verdict not in get_args(Verdict):
        known = " or ".join(f'"{name}"' for name in get_args(Verdict))
        raise InputError(f'The decision must be {known}, not "{presentable(str(verdict))}".')
    if verdict == "send_back" and not reason.strip():
        raise InputError("A draft is sent back with a note: write what the next draft has to change.", "empty")
    if edit is not None and verdict != "approve":
        raise InputError("Only an approved draft can be edited: reject it without an edit.")
    if edit is not None and not edit.strip():
        raise InputError("The edited answer is empty: write the answer to release.", "empty")
    require_short_reason(reason)
    by = normalize_name(by, "the approver")
    return Decision(verdict=verdict, by=by, at=datetime.now(UTC), reason=reason, edit=edit)


class Inbox:
    """`channels` are those on which approvals are announced."""

    def __init__(self, database: Database, jobs: Jobs | None) -> None:
        self._database = database
        self._run_queue = RunQueue(database, jobs)
        self._has_workers = jobs is not None
        self.channels: Sequence[Channel] = ()

    def decide(
        self,
        connection: Connection,
        approval: Approval,
        decision: Decision,
        draft_hash: str | None,
        key: str,
        hold: float = 0.0,
    ) -> Approval:
        """Store a decision that takes effect after `hold` seconds, and announce it then."""
        now = read_clock(connection)
        effective = now + timedelta(seconds=hold) if hold else None
        decided = approvals.decide(connection, approval, decision, draft_hash, key, effective)
        if approval.state == "pending":
            self.announce(connection, decided, "approval.decided", effective or now)
        self.notify(connection, decided.run_id)
        return decided

    def withdraw(self, approval_id: str, by: str) -> Approval:
        """Make a draft pending again. Raises `DecidedError` if its decision has taken effect or is another person's."""
        by = normalize_name(by, "the approver")
        with self._database.writing(priority=True) as connection:
            approval = approvals.find(connection, approval_id)
            run = runs.lock(connection, approval.run_id)  # a process that resumes it has to wait, or was first
            if approval.why != "audit" and run.status != "awaiting_approval":
                name = presentable(approval.approval_id)
                raise DecidedError(f'The decision on "{name}" can no longer be withdrawn: it has taken effect.')
            pending = approvals.withdraw(connection, approval, by, read_clock(connection))
            deliveries.drop(connection, pending.approval_id, "approval.decided")
            self.notify(connection, pending.run_id)
            return pending

    def assign(self, approval_id: str, assignee: str) -> Approval:
        """Name the person who should decide; an empty name is nobody. Raises `DecisionError` if it was decided."""
        assignee = normalize_name(assignee, "the assignee")
        with self._database.writing() as connection:
            approval = approvals.find(connection, approval_id)
            assigned = approvals.assign(connection, approval, assignee)
            if assignee and assignee != approval.assignee:
                self.announce(connection, assigned, "approval.assigned")
            self.notify(connection, assigned.run_id)
            return assigned

    def expire(self) -> int:
        """End the pending approvals whose time has passed. Returns their number."""
        if not self._database.exists:
            return 0
        with self._database.reading() as connection:
            overdue = approvals.list_overdue(connection, read_clock(connection))
        return sum(map(self._expire, overdue))

    def _expire(self, approval_id: str) -> bool:
        """False if somebody decided it meanwhile."""
        with self._database.writing() as connection:
            decision = Decision(verdict="expire", by="", at=datetime.now(UTC))
            try:
                expired = approvals.decide(connection, approvals.get(connection, approval_id), decision, None, "")
            except (DecisionError, NotFoundError):
                return False
            self.announce(connection, expired, "approval.expired")
            self.notify(connection, expired.run_id)
            if self._has_workers and expired.why != "audit":
                self._run_queue.add_decided(connection, expired)
            return True

    def announce(
        self, connection: Connection, approval: Approval, event: DeliveryEvent, due: datetime | None = None
    ) -> None:
        """Queue an announcement on every channel when the transaction commits."""
        if self.channels:
            deliveries.add(connection, approval, event, self.channels, due or read_clock(connection))

    def notify(self, connection: Connection, run_id: str) -> None:
        changes = (LedgerChange(kind="run", run_id=run_id), LedgerChange(kind="approvals"))
        self._database.notify(connection, *changes)

    def claim_delivery(self) -> Delivery | None:
        """An announcement to send now. No other process gets it for two minutes."""
        if not self._database.exists:
            return None
        with self._database.reading() as connection:  # most often nothing is due
            if not deliveries.is_due(connection, read_clock(connection)):
                return None
        with self._database.writing() as connection:
            return deliveries.claim(connection, read_clock(connection))

    def finish_delivery(self, delivery_id: str) -> None:
        with self._database.writing() as connection:
            deliveries.finish(connection, delivery_id, read_clock(connection))

    def retry_delivery(self, delivery: Delivery, problem: str) -> bool:
        """False if that was the last attempt."""
        with self._database.writing() as connection:
            return deliveries.retry(connection, delivery, problem, read_clock(connection))

    def count_deliveries(self) -> dict[str, int]:
        with self._database.reading() as connection:
            return deliveries.count(connection)
