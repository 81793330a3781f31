"""Drafts that wait for a person, and decisions on them (SPEC D6)."""

from __future__ import annotations

from collections.abc import Iterator

from veracity.assembly import Assembly
from veracity.engine.asking import answer_of
from veracity.inputs import (
    MOST_RUNS,
    checked_edit,
    require_number,
    require_text,
)
from veracity.models import (
    LOCAL,
    Answer,
    Approval,
    ApprovalStanding,
    RunEvent,
    Verdict,
)
from veracity.providers.texts import encodable


class Approving(Assembly):
    """A part of Veracity."""

    def approvals(
        self, *, user: str | None = None, limit: int = 100, state: str = "pending", after: str = ""
    ) -> list[Approval]:
        """The drafts that wait for a person, the longest waiting first. `user` is who asked. Of another `state`, or of
        "any": the newest first. `after` is the last one that is known: those that follow it."""
        require_number(limit, MOST_RUNS, "approvals")
        require_text(after, "An approval")
        return self._ledger.approvals(limit, user, state, encodable(after))

    def approval_states(self, limit: int = 200) -> list[ApprovalStanding]:
        """How the approvals stand that were made or decided last, the latest first: for who looks every second."""
        require_number(limit, MOST_RUNS, "approvals")
        return self._ledger.approval_states(limit)

    def pending(self, *, user: str | None = None) -> int:
        """How many drafts wait for a person. `user` is who asked."""
        return self._ledger.pending(user)

    def approval(self, name: str) -> Approval:
        """By its id, the beginning of it, its run's id, or "last": the newest that waits."""
        require_text(name, "An approval")
        return self._ledger.approval(encodable(name))

    def decide(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        edit: str | None = None,
        by: str = LOCAL,
        draft_hash: str | None = None,
        key: str | None = None,
    ) -> Answer:
        """Approve a draft, as it is or with `edit` in its place, or reject it: then the web is searched, once.

        The first decision counts, any other raises `DecidedError`; the same one again under the same `key` gives the
        same answer. With `draft_hash`, only the draft that was seen is decided on.
        """
        events = self.stream_decision(
            approval_id, verdict, reason=reason, edit=edit, by=by, draft_hash=draft_hash, key=key
        )
        return answer_of(events)

    def stream_decision(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        edit: str | None = None,
        by: str = LOCAL,
        draft_hash: str | None = None,
        key: str | None = None,
        drafts: bool = False,
    ) -> Iterator[RunEvent]:
        """The same, telling of the steps that follow, and with `drafts` of drafts. It counts when this returns."""
        for text, what in ((approval_id, "An approval"), (reason, "A reason"), (by, "Whoever decides")):
            require_text(text, what)
        runs = self._runs  # what is needed to go on must be there before anything is decided
        decided = self._ledger.decide(
            encodable(approval_id),
            verdict,
            by=by,
            reason=encodable(reason),
            edit=None if edit is None else checked_edit(edit),
            draft_hash=draft_hash,
            key=key,
        )
        return runs.carry_out(decided, drafts)
