"""The ledger: what was asked, what was done about it, and what came of it.

One door to the rows: each call is one transaction, so a kill leaves a call done or not done. What is committed survives
the end of the process; a loss of power may lose the last milliseconds. Can be shared by threads, and a workspace by
processes. Knows nothing about how a question is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from veracity.errors import LedgerError, LostLeaseError, NotFoundError
from veracity.ledger import (
    approvals,
    conversations,
    forgetting,
    leases,
    outbox,
    passages,
    progress,
    recalling,
    runs,
    stripping,
    typed,
    weakpoints,
)
from veracity.ledger.approving import Approving
from veracity.ledger.complaints import explained
from veracity.ledger.conversing import Conversing
from veracity.ledger.database import Database
from veracity.ledger.names import conversation_name, decider_name, storable, user_name
from veracity.ledger.observations import Observations
from veracity.ledger.owners import Owners
from veracity.ledger.rating import Rating
from veracity.ledger.showing import Showing
from veracity.ledger.users import Users
from veracity.ledger.weakpoints import WeakPoint
from veracity.models import Answer, Evidence, RunParameters, RunStatus, RunSummary, Step, Usage
from veracity.secrets import presentable

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
            runs.add_steps(connection, run_id, [stripping.step_as_kept(step, run.forgotten) for step in steps])
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
            whole = run.forgotten == stripping.ALL
            forgotten = documents if whole else forgetting.among(connection, documents, run.number)
            passages.keep(connection, run_id, evidence, given, forgotten, nameless=whole)
            if forgotten and not whole:
                forgetting.strip_late(connection, run_id, forgotten, given)

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
            recalling.require_vector(vector)
        with self._database.writing() as connection:
            run = runs.held(connection, run_id)
            leases.require(connection, run_id, token)
            if run.status != "running":
                return
            emptied = passages.emptied_ids(connection, run_id)
            touched = stripping.extent(answer, run.forgotten, emptied)
            if touched > run.forgotten:
                stripping.strip(connection, run_id, touched)
            if answer is not None and touched:
                answer = stripping.as_kept(answer, touched, emptied, told=True)
            told = stripping.problem_as_kept(problem, touched)
            runs.end(connection, run_id, status, answer, usage, seconds, told)
            leases.release(connection, run_id)
            approvals.supersede(connection, run_id)
            if run.conversation:
                conversations.unfold(connection, run.user, run.conversation, run.turn)
            if weak_point is not None:
                weakpoints.add(connection, run_id, run.user, run.question, weak_point)
            if observation is not None and not touched:
                outbox.put(connection, run_id, attempt, observation)
            if recallable and answer is not None and not touched and status in conversations.USABLE:
                recalling.add(connection, run, answer.text, vector)

    def weak_points(self, user: str, question: str, limit: int = 5) -> list[WeakPoint]:
        """Earlier questions of this user that failed and ask the same as this one; the most similar first."""
        asking = user_name(user)
        with self._database.reading() as connection:
            return weakpoints.matching(connection, asking, question, limit)

    def deliver(self, observations: Observations) -> int:
        """Bring the file of observations up to date, also after a kill. How many records were written."""
        if not self._database.is_there:
            return 0
        written = outbox.deliver(self._database, observations)
        with self._database.reading() as connection:
            left = forgetting.not_scrubbed(connection)
        if left:
            self._scrub(left)
        return written

    def forget_documents(self, document_ids: Sequence[str], observations: Observations | None = None) -> None:
        """Nothing they say is left in the files afterwards. Without `observations`, their records go with the next
        delivery; and so does what a kill kept from being done here."""
        if not document_ids or not self._database.is_there:
            return
        with self._database.writing() as connection:
            forgetting.forget(connection, document_ids)
        self._clean_up(document_ids, observations)

    def forget_conversation(self, user: str, conversation: str, observations: Observations | None = None) -> int:
        """How many turns it had. Nothing of them is left in the files afterwards, but when they ran and what they used;
        who still works on one of them loses it."""
        asking, named = user_name(user), conversation_name(conversation)
        turns = self.turns(asking, named, ALL_TURNS)
        if not turns:
            raise NotFoundError(f'There is no conversation "{presentable(conversation)}".')
        try:  # first: what is gone from the rows cannot be named again after a kill
            typed.forget(self._folder, (turn.question for turn in turns))
        finally:
            with self._database.writing() as connection:
                theirs = forgetting.forget_conversation(connection, asking, named)
            self._clean_up([forgetting.as_document(run_id) for run_id in theirs], observations)
        return len(theirs)

    def scrub_progress(self) -> None:
        """Of all runs but those that wait for a person: it may hold what was forgotten."""
        progress.scrub(self._folder, self.waiting())

    def close(self) -> None:
        """What is still under way can be taken over by others."""
        self._database.close()
        self._owners.close()

    def _me(self) -> str:
        with explained(self._folder):
            return self._owners.me()

    def _clean_up(self, document_ids: Sequence[str], observations: Observations | None) -> None:
        if observations is not None:
            outbox.deliver(self._database, observations)
        self._scrub(document_ids)

    def _scrub(self, document_ids: Sequence[str]) -> None:
        self._database.scrub()
        self.scrub_progress()
        with self._database.writing() as connection:
            forgetting.mark_scrubbed(connection, document_ids)
