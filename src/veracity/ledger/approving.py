"""The ledger's methods for drafts that wait for a person (SPEC D6). Knows nothing about what a decision leads to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

from veracity.errors import InputError
from veracity.ledger import approvals, leases, runs, standings, stripping
from veracity.ledger.database import Database
from veracity.ledger.names import decider_name, storable, user_name
from veracity.models import Approval, ApprovalStanding, ApprovalState, Decision, Usage, Verdict
from veracity.secrets import presentable

LONGEST_REASON = 2000  # characters
ANY = "any"
STATES = (*get_args(ApprovalState), ANY)


class Approving:
    """A part of Ledger. Each call is one transaction."""

    _database: Database

    def suspend(self, run_id: str, token: int, approval: Approval, usage: Usage, seconds: float) -> Approval:
        """The run waits for a person, and nobody owns it meanwhile. What is there already is left as it is."""
        named = storable(approval.approval_id, "An approval", 1)
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            leases.require(connection, run_id, token)
            if approval.run_id != run_id:
                raise InputError("An approval is suspended with the run it belongs to.")
            if run.status != "running":
                return approvals.one(connection, named)
            kept = approvals.add(connection, approval, run.user, run.conversation)
            if kept.run_id != run_id:
                raise InputError("An approval of another run has this id already.")
            runs.set_used(connection, run_id, usage, seconds)
            runs.set_status(connection, run_id, "awaiting_approval")
            leases.release(connection, run_id)
            if run.forgotten:  # a document was forgotten while it was under way
                stripping.strip(connection, run_id, run.forgotten)
                kept = approvals.one(connection, named)
            return kept

    def decide(
        self,
        approval_id: str,
        verdict: Verdict,
        *,
        by: str,
        reason: str = "",
        edit: str | None = None,
        draft_hash: str | None = None,
        key: str | None = None,
    ) -> Approval:
        """The first decision on the draft counts; the same by the same person under the same `key` is that one again.

        The approval is named as for `approval`, but a run that has several is not enough: whoever names it may have
        seen another draft than the one that waits."""
        if verdict not in get_args(Verdict):
            raise InputError(
                f'A draft is decided on with "approve" or "reject", not with "{presentable(str(verdict))}".'
            )
        if edit is not None and verdict != "approve":
            raise InputError("Only a draft that is approved can be edited: reject it without an edit.")
        if edit is not None and not edit.strip():
            raise InputError("The edited answer is empty: write what is to go out.")
        if len(reason) > LONGEST_REASON:
            raise InputError(f"The reason has {len(reason):,} characters: at most {LONGEST_REASON:,} are kept.")
        if not all(one is None or isinstance(one, str) for one in (draft_hash, key)):
            raise InputError("The hash of a draft and the key of a decision are text.")
        decision = Decision(verdict=verdict, by=decider_name(by), at=datetime.now(UTC), reason=reason, edit=edit)
        with self._database.writing(first=True) as connection:
            named = approvals.named_to_decide(connection, approval_id)
            return approvals.decide(connection, named, decision, draft_hash, key or "")

    def decision(self, run_id: str, attempt: int) -> Decision | None:
        """What counts for this attempt of the run."""
        decided = [one.decision for one in self.approvals_of(run_id) if one.attempt == attempt and one.decision]
        return decided[-1] if decided else None

    def approvals(
        self, limit: int = 100, user: str | None = None, state: str = "pending", after: str = ""
    ) -> list[Approval]:
        """Those that wait: the longest waiting first. Of another state, or of "any": the newest first. With `after`,
        those that follow this approval."""
        if state not in STATES:
            raise InputError(f'The state of an approval is {", ".join(STATES)}, not "{presentable(str(state))}".')
        asking = None if user is None else user_name(user)
        with self._database.reading() as connection:
            return approvals.listed(connection, limit, asking, None if state == ANY else state, after)

    def approval_states(self, limit: int = 200) -> list[ApprovalStanding]:
        """How those stand that were made or decided last, the latest first: for whoever looks every second."""
        if not self._database.is_there:
            return []
        with self._database.reading() as connection:
            return standings.latest(connection, limit)

    def pending(self, user: str | None = None) -> int:
        """How many wait: of those that this user asked for, or of all."""
        with self._database.reading() as connection:
            return standings.pending(connection, user)

    def approval(self, name: str) -> Approval:
        """Named by its id, by that of its run (then the newest), by the beginning of them, or as "last" that waits."""
        with self._database.reading() as connection:
            return approvals.named(connection, name)

    def approvals_of(self, run_id: str) -> list[Approval]:
        with self._database.reading() as connection:
            return approvals.of_run(connection, run_id)

    def waiting(self) -> list[str]:
        """The runs that wait for a person and whose progress may be kept, since they have read nothing that was
        forgotten; the oldest first."""
        with self._database.reading() as connection:
            return runs.waiting(connection)
