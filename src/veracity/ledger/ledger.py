"""The ledger: what was asked, what was done about it, and what came of it.

One door to the rows: each call is one transaction, so a kill leaves a call done or not done. What is committed survives
the end of the process; a loss of power may lose the last milliseconds. Can be shared by threads, and a workspace by
processes. Knows nothing about how a question is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from sqlalchemy import Connection

from veracity.errors import InputError, LedgerError, LostLeaseError, NotFoundError
from veracity.ledger import forget, leases, observations
from veracity.ledger import observations as observations_module
from veracity.ledger.database import Database, explained
from veracity.ledger.leases import Owners
from veracity.ledger.observations import Observations, observation
from veracity.ledger.rows import approvals, conversations, feedback, recall, runs, weak_points
from veracity.ledger.rows import evidence as evidence_rows
from veracity.ledger.rows import runs as runs_rows
from veracity.ledger.rows import weak_points as weak_points_rows
from veracity.ledger.rows.users import Users, conversation_name, decider_name, rater_name, storable, user_name
from veracity.ledger.rows.weak_points import WeakPoint
from veracity.models import (
    Answer,
    Approval,
    ApprovalStanding,
    ApprovalState,
    ConversationSummary,
    Decision,
    Evidence,
    Feedback,
    PastTurn,
    Remembered,
    RunParameters,
    RunStanding,
    RunStatus,
    RunSummary,
    Step,
    Thumb,
    Usage,
    Verdict,
)
from veracity.secrets import presentable


class Showing:
    """A part of Ledger. Each call reads what is committed."""

    _database: Database

    def parameters(self, run_id: str) -> RunParameters:
        with self._database.reading() as connection:
            return runs.parameters(connection, run_id)

    def runs(self, limit: int = 20, user: str | None = None, after: str = "") -> list[RunSummary]:
        """The newest first; those that follow the run `after`, where one is named."""
        asking = None if user is None else user_name(user)
        with self._database.reading() as connection:
            return runs.latest(connection, limit, asking, after)

    def runs_asking(self, user: str, question: str, limit: int) -> list[RunSummary]:
        """Those of this user that ask exactly this, the newest first."""
        asking = user_name(user)
        with self._database.reading() as connection:
            return runs_rows.runs_asking(connection, asking, question, limit)

    def run_under(self, user: str, key: str) -> RunSummary | None:
        """The one that this user asked under the key."""
        asking = user_name(user)
        with self._database.reading() as connection:
            return runs_rows.run_under(connection, asking, key)

    def statuses(self, run_ids: Sequence[str]) -> dict[str, RunStatus]:
        with self._database.reading() as connection:
            return runs_rows.of_runs(connection, run_ids)

    def find(self, name: str) -> str:
        """The full id of the run that is named by its id, by the beginning of it, or as "last"."""
        with self._database.reading() as connection:
            return runs.full_id(connection, name)

    def summary(self, run_id: str) -> RunSummary:
        with self._database.reading() as connection:
            return runs.summary(connection, run_id)

    def standing(self, run_id: str) -> RunStanding | None:
        with self._database.reading() as connection:
            return runs_rows.of_run(connection, run_id)

    def steps(self, run_id: str) -> list[Step]:
        with self._database.reading() as connection:
            return runs.steps_of(connection, run_id)

    def evidence(self, run_id: str) -> dict[str, Evidence]:
        with self._database.reading() as connection:
            return evidence_rows.of_run(connection, run_id)

    def unfinished(self) -> list[str]:
        """The runs that are under way or wait for a person."""
        with self._database.reading() as connection:
            return runs.unfinished(connection)

    def answer(self, run_id: str) -> Answer | None:
        with self._database.reading() as connection:
            return runs.answer_of(connection, run_id)

    def models(self, run_id: str) -> dict[str, str]:
        with self._database.reading() as connection:
            return runs.models_of(connection, run_id)

    def usage(self, run_id: str) -> Usage:
        with self._database.reading() as connection:
            return runs.usage_of(connection, run_id)


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
                forget.strip(connection, run_id, run.forgotten)
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
            return runs_rows.latest_standings(connection, limit)

    def pending(self, user: str | None = None) -> int:
        """How many wait: of those that this user asked for, or of all."""
        with self._database.reading() as connection:
            return runs_rows.pending(connection, user)

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


class Conversing:
    """A part of Ledger. Each call is one transaction."""

    _database: Database

    def remembered(self, user: str, conversation: str, before_run: str | None = None) -> Remembered:
        """The summary, and the turns that it does not hold; of those only the ones before this run's own."""
        asking, named = user_name(user), conversation_name(conversation)
        with self._database.reading() as connection:
            return conversations.remembered(connection, asking, named, before_run)

    def keep_summary(self, user: str, conversation: str, summary: str, folded: int) -> None:
        """It sums up the turns up to number `folded`. One that sums up no more than what is there changes nothing."""
        asking, named = user_name(user), conversation_name(conversation)
        with self._database.writing() as connection:
            conversations.keep_summary(connection, asking, named, summary, folded)

    def past_turns(
        self,
        user: str,
        conversation: str | None,
        query: str,
        vector: bytes | None,
        limit: int,
        leave_out: str = "",
    ) -> list[PastTurn]:
        """Earlier answers to this user that bear on the query, the best first. Without a conversation: of all of his,
        and of single questions. `vector` is the query's, float32; `leave_out` is a run."""
        asking = user_name(user)
        named = None if conversation is None else conversation_name(conversation)
        if vector is not None:
            recall.require_vector(vector)
        with self._database.reading() as connection:
            return recall.matching(connection, asking, named, query, vector, limit, leave_out)

    def conversations(self, user: str, limit: int = 20, query: str = "", after: str = "") -> list[ConversationSummary]:
        """That with the newest turn first. With a query, those in which a turn holds all its words. Those that follow
        the conversation `after`, where one is named."""
        asking = user_name(user)
        with self._database.reading() as connection:
            if not query.strip():
                return conversations.listed(connection, asking, limit, after)
            fitting = runs.conversations_with(connection, asking, query)
            known = conversations.listed(connection, asking, None, after) if fitting else []
            return [one for one in known if one.conversation in fitting][:limit]

    def turns(
        self, user: str, conversation: str, limit: int = 50, *, to_show: bool = False, before: int | None = None
    ) -> list[PastTurn]:
        """The newest, or those just before the turn of this number, in the order in which they were asked. An answer
        that may not be used again is left out; with `to_show`, for people, only one that never went out."""
        asking, named = user_name(user), conversation_name(conversation)
        with self._database.reading() as connection:
            return conversations.turns(connection, asking, named, limit, to_show=to_show, before=before)


LONGEST_WHY = 2000  # characters
DISLIKED = "disliked"
_UNFIT = {
    "running": "is still under way",
    "awaiting_approval": "still waits for a person",
    "failed": "has no answer",
}


class Rating:
    """A part of Ledger. Each call is one transaction."""

    _database: Database

    def rate(self, run_id: str, thumb: Thumb, *, by: str, why: str = "") -> Feedback:
        """What this person said of the answer before is replaced, and what followed from it undone."""
        if thumb not in get_args(Thumb):
            raise InputError(f'An answer is rated "up" or "down", not "{presentable(str(thumb))}".')
        if len(why) > LONGEST_WHY:
            raise InputError(f"The reason has {len(why):,} characters: at most {LONGEST_WHY:,} are kept.")
        given = Feedback(run_id=run_id, by=rater_name(by), thumb=thumb, why=why.strip(), at=datetime.now(UTC))
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            _require_answer(run, run_id)
            was_disliked = feedback.disliked(connection, run_id)
            kept = feedback.put(connection, given)
            if feedback.disliked(connection, run_id) != was_disliked:
                _turn(connection, run_id, run, is_disliked=not was_disliked)
            return kept

    def feedback(self, run_id: str) -> list[Feedback]:
        """Of everyone who said something, the latest last."""
        with self._database.reading() as connection:
            return feedback.of_run(connection, run_id)


def _require_answer(run: runs.HeldRun, run_id: str) -> None:
    if run.status in _UNFIT:
        raise InputError(f'The run "{presentable(run_id)}" {_UNFIT[run.status]}: only an answer can be rated.')
    if run.forgotten >= forget.GIVEN:
        raise InputError(f'The answer of the run "{presentable(run_id)}" was forgotten: it cannot be rated any more.')


def _turn(connection: Connection, run_id: str, run: runs.HeldRun, *, is_disliked: bool) -> None:
    """What a first thumb down leads to, and the last one that is taken back. A summary may hold the answer, or lack
    it, and is made anew."""
    if run.status in conversations.USABLE and is_disliked:
        weak_points.add_once(connection, run_id, run.user, run.question, DISLIKED)
    if is_disliked:
        observations.withdraw(connection, run_id)
    else:
        weak_points.remove(connection, run_id, DISLIKED)
        _observe_again(connection, run_id, run)
    if run.conversation:
        conversations.unfold(connection, run.user, run.conversation, run.turn)


def _observe_again(connection: Connection, run_id: str, run: runs.HeldRun) -> None:
    answer = runs.answer_of(connection, run_id)
    if answer is None or run.forgotten:
        return
    if record := observation(answer, runs.models_of(connection, run_id)):
        observations.put_back(connection, run_id, answer.attempt, record)


ALL_TURNS = 1_000_000
WeakReason = Literal["failed_review", "low_score", "rejected", "disliked"]


class Ledger(Showing, Approving, Conversing, Rating):
    """`folder` is made with the first write. A `token` is what begin() or take_over() gave: who has lost the run
    meanwhile is refused (LostLeaseError), and changes nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._database = Database(folder)
        self._owners = Owners(folder)
        self._left: set[tuple[str, int]] = set()  # what we released, where that could not be written
        self.users = Users(self._database)

    def begin(
        self,
        run_id: str,
        question: str,
        user: str,
        language: str,
        models: dict[str, str],
        *,
        conversation: str = "",
        max_rewrites: int = 0,
        deadline: float = 120.0,
        lease: float = 180.0,
        key: str = "",
    ) -> int:
        """The run is ours: by the token that is returned, until it ends, waits for a person, or we die. Under one `key`
        a user asks once."""
        asked = RunParameters(
            run_id=storable(run_id, "A run", 1),
            question=question,
            user=user_name(user),
            conversation=conversation_name(conversation) if conversation else "",
            max_rewrites=max_rewrites,
            deadline=deadline,
        )
        me = self._me()
        with self._database.writing() as connection:
            turn = conversations.next_turn(connection, asked.user, asked.conversation) if conversation else 0
            runs.add(connection, asked, turn, language, models, key)
            return leases.grant(connection, asked.run_id, me, self._owners.host, lease)

    def take_over(self, run_id: str, lease: float) -> int | None:
        """Of a run whose owner died, or whose draft was decided on. None if it is neither, or someone was faster."""
        if not self._database.is_there:
            return None
        me = self._me()
        with self._database.writing() as connection:
            return leases.take_over(connection, run_id, self._owners, me, lease, self._left)

    def release(self, run_id: str, token: int) -> None:
        """Leave the run to whoever takes it over. Where that cannot be written, we may take it over ourselves."""
        try:
            with self._database.writing() as connection:
                runs.held(connection, run_id)
                leases.require(connection, run_id, token)
                leases.release(connection, run_id)
        except LostLeaseError:
            raise
        except LedgerError:
            self._left.add((run_id, token))
            raise

    def stop(self, run_id: str, by: str) -> RunSummary:
        """What is under way has failed, and whoever works on it loses it. What has ended, waits for a person or follows
        from a decision stays as it is."""
        who = presentable(decider_name(by))
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            if run.status == "running" and not approvals.of_run(connection, run_id):
                runs.set_status(connection, run_id, "failed", f"Stopped by {who}.")
                leases.revoke(connection, run_id)
            return runs.summary(connection, run_id)

    def interrupted(self) -> list[str]:
        """The runs that take_over() would grant now, the oldest first."""
        with self._database.reading() as connection:
            return leases.interrupted(connection, self._owners, self._left)

    def record(
        self, run_id: str, *steps: Step, token: int, usage: Usage | None = None, seconds: float | None = None
    ) -> None:
        """What was done, and what was used so far."""
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            leases.require(connection, run_id, token)
            runs.add_steps(connection, run_id, [forget.step_as_kept(step, run.forgotten) for step in steps])
            runs.set_used(connection, run_id, usage, seconds)

    def keep_evidence(
        self, run_id: str, evidence: Sequence[Evidence], *, given: bool, token: int | None = None
    ) -> None:
        """`given`: it was handed to the writer. What is kept already is replaced, and stays given if it was."""
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            if token is not None:
                leases.require(connection, run_id, token)
            documents = {item.document_id for item in evidence}
            whole = run.forgotten == forget.ALL
            forgotten = documents if whole else forget.among(connection, documents, run.number)
            evidence_rows.keep(connection, run_id, evidence, given, forgotten, nameless=whole)
            if forgotten and not whole:
                forget.strip_late(connection, run_id, forgotten, given)

    def finish(
        self,
        run_id: str,
        status: RunStatus,
        *,
        token: int,
        answer: Answer | None,
        usage: Usage,
        seconds: float,
        problem: str = "",
        weak_point: WeakReason | None = None,
        observation: dict[str, Any] | None = None,
        attempt: int = 1,
        recallable: bool = False,
        vector: bytes | None = None,
    ) -> None:
        """The end of a run with all that follows from it. Finishing it again changes nothing. `recallable`: the answer
        may be found again as an earlier one; `vector` is its embedding, float32."""
        if vector is not None:
            recall.require_vector(vector)
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            leases.require(connection, run_id, token)
            if run.status != "running":
                return
            emptied = evidence_rows.emptied_ids(connection, run_id)
            touched = forget.extent(answer, run.forgotten, emptied)
            if touched > run.forgotten:
                forget.strip(connection, run_id, touched)
            if answer is not None and touched:
                answer = forget.as_kept(answer, touched, emptied, told=True)
            told = forget.problem_as_kept(problem, touched)
            runs.end(connection, run_id, status, answer, usage, seconds, told)
            leases.release(connection, run_id)
            approvals.supersede(connection, run_id)
            if run.conversation:
                conversations.unfold(connection, run.user, run.conversation, run.turn)
            if weak_point is not None:
                weak_points_rows.add(connection, run_id, run.user, run.question, weak_point)
            if observation is not None and not touched:
                observations_module.put(connection, run_id, attempt, observation)
            if recallable and answer is not None and not touched and status in conversations.USABLE:
                recall.add(connection, run, answer.text, vector)

    def weak_points(self, user: str, question: str, limit: int = 5) -> list[WeakPoint]:
        """Earlier questions of this user that failed and ask the same as this one; the most similar first."""
        asking = user_name(user)
        with self._database.reading() as connection:
            return weak_points_rows.matching(connection, asking, question, limit)

    def deliver(self, observations: Observations) -> int:
        """Bring the file of observations up to date, also after a kill. How many records were written."""
        if not self._database.is_there:
            return 0
        written = observations_module.deliver(self._database, observations)
        with self._database.reading() as connection:
            left = forget.not_scrubbed(connection)
        if left:
            self._scrub(left)
        return written

    def forget_documents(self, document_ids: Sequence[str], observations: Observations | None = None) -> None:
        """Nothing they say is left in the files afterwards. Without `observations`, their records go with the next
        delivery; and so does what a kill kept from being done here."""
        if not document_ids or not self._database.is_there:
            return
        with self._database.writing() as connection:
            forget.forget(connection, document_ids)
        self._clean_up(document_ids, observations)

    def forget_conversation(self, user: str, conversation: str, observations: Observations | None = None) -> int:
        """How many turns it had. Nothing of them is left in the files afterwards, but when they ran and what they used;
        who still works on one of them loses it."""
        asking, named = user_name(user), conversation_name(conversation)
        turns = self.turns(asking, named, ALL_TURNS)
        if not turns:
            raise NotFoundError(f'There is no conversation "{presentable(conversation)}".')
        try:  # first: what is gone from the rows cannot be named again after a kill
            forget.forget_typed(self._folder, (turn.question for turn in turns))
        finally:
            with self._database.writing() as connection:
                theirs = forget.forget_conversation(connection, asking, named)
            self._clean_up([forget.as_document(run_id) for run_id in theirs], observations)
        return len(theirs)

    def scrub_progress(self) -> None:
        """Of all runs but those that wait for a person: it may hold what was forgotten."""
        forget.scrub(self._folder, self.waiting())

    def close(self) -> None:
        """What is still under way can be taken over by others."""
        self._database.close()
        self._owners.close()

    def _me(self) -> str:
        with explained(self._folder):
            return self._owners.me()

    def _clean_up(self, document_ids: Sequence[str], observations: Observations | None) -> None:
        if observations is not None:
            observations_module.deliver(self._database, observations)
        self._scrub(document_ids)

    def _scrub(self, document_ids: Sequence[str]) -> None:
        self._database.scrub()
        self.scrub_progress()
        with self._database.writing() as connection:
            forget.mark_scrubbed(connection, document_ids)
