"""What a team does with drafts that wait.

Decisions that are stored, held and withdrawn, drafts that are assigned or expire, and the announcements of all of it.
"""

from __future__ import annotations

from typing import TypedDict, Unpack

from veracity.assembly import Assembly
from veracity.errors import InputError
from veracity.inputs import check_edit, check_text, require_limit, require_text
from veracity.models import LOCAL, Approval, ApprovalStanding, Difference, Verdict
from veracity.secrets import presentable

MAX_HOLD_SECONDS = 60


class DecisionOptions(TypedDict, total=False):
    """The options of `Veracity.decide`."""

    reason: str
    edit: str | None
    by: str
    draft_hash: str | None
    key: str | None


class Inbox:
    """Threads and processes can use it at once: every call is one transaction."""

    def __init__(self, parts: Assembly) -> None:
        self._parts = parts

    def store_decision(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        edit: str | None = None,
        by: str = LOCAL,
        draft_hash: str | None = None,
        key: str | None = None,
        queued: bool = False,
        hold: float = 0.0,
    ) -> Approval:
        """Store a decision, with the options of `Veracity.decide`, and resume nothing: with `queued` a worker does.

        It takes effect after `hold` seconds.
        """
        require_text(by, "The user")
        return self._parts.ledger.decide(
            check_text(approval_id, "The approval id"),
            verdict,
            by=by,
            reason=check_text(reason, "The reason"),
            edit=None if edit is None else check_edit(edit),
            draft_hash=draft_hash,
            key=key,
            queued=queued,
            hold=hold,
        )

    def hold(
        self, approval_id: str, verdict: Verdict, *, seconds: float, **decision: Unpack[DecisionOptions]
    ) -> Approval:
        """Store a decision, with the options of `Veracity.decide`, that takes effect after some seconds.

        Until then `withdraw` undoes it. Then a server, a worker or `Veracity.recover` resumes the run, also after a
        restart.
        """
        if not 0 < seconds <= MAX_HOLD_SECONDS:
            raise InputError(f"A decision can be held for up to {MAX_HOLD_SECONDS} seconds, not {seconds:g}.")
        return self.store_decision(approval_id, verdict, hold=seconds, **decision)

    def withdraw(self, approval_id: str, *, by: str = LOCAL) -> Approval:
        """Undo a held decision. Raises `DecidedError` if it has taken effect, or is another person's."""
        return self._parts.ledger.inbox.withdraw(check_text(approval_id, "The approval id"), check_text(by, "The user"))

    def assign(self, approval_id: str, assignee: str) -> Approval:
        """Name the person who should decide a pending draft; an empty name is nobody. Others may still decide it.

        Raises `InputError` if the workspace has users and none of those who may decide has this name.
        """
        approval_id, assignee = check_text(approval_id, "The approval id"), check_text(assignee, "The person")
        users = self._parts.ledger.users.list()
        if assignee and users and not any(user.name == assignee and user.role != "asker" for user in users):
            message = f'Nobody who may decide is called "{presentable(assignee)}": see "veracity users list".'
            raise InputError(message, "no_approver", name=presentable(assignee))
        return self._parts.ledger.inbox.assign(approval_id, assignee)

    def expire(self) -> int:
        """End the pending approvals whose time (`approval.expires`) has passed. Returns their number."""
        return self._parts.ledger.inbox.expire() if self._parts.has_ledger else 0

    def send_notifications(self) -> int:
        """Send the announcements that are due. Returns how many were delivered; 0 without a `notify` setting."""
        if not self._parts.has_ledger or not self._parts.settings.notify.channels:
            return 0
        return self._parts.notifier.send_due()

    def states(self, limit: int = 200) -> list[ApprovalStanding]:
        """The states of the approvals that were created or decided last, newest first. For polling."""
        require_limit(limit, "approvals")
        return self._parts.ledger.approval_states(limit)

    @staticmethod
    def differences(before: str, after: str) -> list[Difference]:
        """Compare two texts word by word as they read when their Markdown is rendered, such as a draft and its edit.

        Long texts are compared by sentences.
        """
        from veracity.receipt.diff import diff_rendered  # noqa: PLC0415 - loads the word lists of the languages

        for text in (before, after):
            require_text(text, "A text to compare")
        return diff_rendered(before, after)
