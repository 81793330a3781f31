"""What a team does with drafts that wait, besides deciding at once.

Decisions that can be withdrawn, drafts that are assigned or expire, and the announcements of all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veracity.assembly import Assembly
from veracity.errors import InputError
from veracity.models import LOCAL, Approval, Verdict
from veracity.printable import encodable
from veracity.secrets import presentable

MAX_HOLD_SECONDS = 60


class Inbox:
    """Threads and processes can use it at once: every call is one transaction."""

    def __init__(self, parts: Assembly, store_decision: Callable[..., Approval]) -> None:
        self._parts = parts
        self._store_decision = store_decision

    def hold(self, approval_id: str, verdict: Verdict, *, seconds: float, **decision: Any) -> Approval:
        """Store a decision, with the options of `Veracity.decide`, that takes effect after some seconds.

        Until then `withdraw` undoes it. Then a server, a worker or `Veracity.recover` resumes the run, also after a
        restart.
        """
        if not 0 < seconds <= MAX_HOLD_SECONDS:
            raise InputError(f"A decision can be held for up to {MAX_HOLD_SECONDS} seconds, not {seconds:g}.")
        return self._store_decision(approval_id, verdict, hold=seconds, **decision)

    def withdraw(self, approval_id: str, *, by: str = LOCAL) -> Approval:
        """Undo a held decision. Raises `DecidedError` if it has taken effect, or is another person's."""
        return self._parts.ledger.inbox.withdraw(_text(approval_id, "The approval id"), _text(by, "The user"))

    def assign(self, approval_id: str, assignee: str) -> Approval:
        """Name the person who should decide a pending draft; an empty name is nobody. Others may still decide it.

        Raises `InputError` if the workspace has users and none of those who may decide has this name.
        """
        approval_id, assignee = _text(approval_id, "The approval id"), _text(assignee, "The person")
        users = self._parts.ledger.users.list()
        if assignee and users and not any(user.name == assignee and user.role != "asker" for user in users):
            raise InputError(f'Nobody who may decide is called "{presentable(assignee)}": see "veracity users list".')
        return self._parts.ledger.inbox.assign(approval_id, assignee)

    def expire(self) -> int:
        """End the pending approvals whose time (`approval.expires`) has passed. Returns their number."""
        return self._parts.ledger.inbox.expire() if self._parts.has_ledger else 0

    def send_notifications(self) -> int:
        """Send the announcements that are due. Returns how many were delivered; 0 without a `notify` setting."""
        if not self._parts.has_ledger or not self._parts.settings.notify.channels:
            return 0
        return self._parts.notifier.send_due()


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} must be text, not {type(value).__name__}.")
    return encodable(value)
