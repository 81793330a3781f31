"""How a stretch of a run ends: with an answer, with a draft that waits for a person, or given up. Each is one
transaction of the ledger; what follows it (progress removed, observations delivered) may be done later as well.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime

from langgraph.checkpoint.sqlite import SqliteSaver

from veracity.errors import LedgerError, LeftError, SupersededError, VeracityError
from veracity.graph.state import RunState
from veracity.ledger import Ledger, Observations
from veracity.ledger.observations import observation
from veracity.ledger.rows.approvals import draft_hash
from veracity.models import Answer, Approval, RunParameters, Usage
from veracity.runs.driver import Drive, threads
from veracity.runs.outcome import conclude, decided_answer, recallable, waiting_answer, weak_point
from veracity.settings import Settings

log = logging.getLogger("veracity")

Embed = Callable[[str], bytes | None]
EMBEDDED = 1000  # characters of the question, by whose meaning an answer is found again


class Endings:
    def __init__(
        self,
        ledger: Ledger,
        observations: Observations,
        checkpoints: SqliteSaver,
        settings: Settings,
        models: dict[str, str],
        embed: Embed,
    ) -> None:
        self._ledger = ledger
        self._observations = observations
        self._checkpoints = checkpoints
        self._settings = settings
        self._models = models
        self._embed = embed

    def answered(self, drive: Drive, state: RunState) -> Answer:
        threshold = self._settings.approval.threshold if self._settings.approval.policy == "never" else 0.0
        answer = conclude(state, drive.budget.spent, drive.seconds, threshold)
        self._finish(answer, drive.token)
        return answer

    def decided(self, approval: Approval, run: RunParameters, token: int) -> Answer | None:
        """By the decision alone, for a run whose progress is lost. None where there is none."""
        if approval.decision is None:
            return None
        known = {"usage": run.usage, "seconds": run.seconds}
        answer = decided_answer(approval, approval.decision).model_copy(update=known)
        self._finish(answer, token)
        return answer

    def suspended(self, drive: Drive, state: RunState, waits: dict[str, str]) -> Answer:
        run = drive.run
        draft = conclude(state, drive.budget.spent, drive.seconds, threshold=0.0)
        approval = Approval.model_validate(
            {
                "approval_id": f"{run.run_id}.{draft.attempt}",
                "run_id": run.run_id,
                "attempt": draft.attempt,
                "user": run.user,
                "conversation": run.conversation,
                "question": run.question,
                "draft": draft,
                "draft_hash": draft_hash(draft),
                "created": datetime.now(UTC),
                **waits,
            }
        )
        kept = self._ledger.suspend(run.run_id, drive.token, approval, drive.budget.spent, drive.seconds)
        if kept.state == "superseded":
            raise SupersededError("A document that the draft rests on was forgotten meanwhile: ask again.")
        return waiting_answer(kept)

    def given_up(self, drive: Drive, problem: BaseException) -> None:
        """A run that a person decided on is left to be taken up again: no decision is lost. So is one that was taken up
        for somebody else, when we are only told to stop, and any when the program ends. Any other has failed."""
        run_id = drive.run.run_id
        was_stopped = drive.token > 1 and not isinstance(problem, Exception)
        if was_stopped or isinstance(problem, LeftError) or not self._has_failed(drive, problem):
            with contextlib.suppress(VeracityError):  # what went wrong first is what is told
                self._ledger.release(run_id, drive.token)
        if isinstance(problem, SupersededError):
            self.left(run_id)

    def left(self, run_id: str) -> None:
        """What was forgotten while the run was under way was read before, and is in its progress."""
        with contextlib.suppress(VeracityError):
            if run_id not in self._ledger.unfinished():
                self._ledger.scrub_progress()

    def failed(self, run: RunParameters, token: int, problem: str, usage: Usage, seconds: float) -> None:
        self._ledger.finish(
            run.run_id, "failed", token=token, answer=None, usage=usage, seconds=seconds, problem=problem
        )
        self.forget_progress(run.run_id)

    def tidy(self) -> None:
        """Remove the progress of runs that have ended: a kill may have come between the two."""
        kept = threads(self._checkpoints)  # first, or one that begins meanwhile would be taken for ended
        for run_id in set(kept).difference(self._ledger.unfinished()):
            self.forget_progress(run_id)

    def forget_progress(self, run_id: str) -> None:
        with contextlib.suppress(sqlite3.Error):  # what is left behind is removed at the next start
            self._checkpoints.delete_thread(run_id)

    def deliver(self) -> None:
        """The ledger holds what could not be written to the file, until it can be: no reason to lose the answer."""
        try:
            self._ledger.deliver(self._observations)
        except LedgerError as problem:
            log.warning("%s", problem)

    def _has_failed(self, drive: Drive, problem: BaseException) -> bool:
        """Not one that was decided on, nor one whose end cannot be written now (a full disk, say)."""
        try:
            if self._ledger.approvals_of(drive.run.run_id):
                return False
            told = str(problem) if isinstance(problem, VeracityError) else f"stopped ({type(problem).__name__})"
            self.failed(drive.run, drive.token, told, drive.budget.spent, drive.seconds)
        except LedgerError:
            return False
        return True

    def _finish(self, answer: Answer, token: int) -> None:
        may_recall = recallable(answer)
        wanted = may_recall and (answer.conversation or self._settings.conversation.history == "user")
        self._ledger.finish(
            answer.run_id,
            answer.status,
            token=token,
            answer=answer,
            usage=answer.usage,
            seconds=answer.seconds,
            weak_point=weak_point(answer, self._settings.approval.threshold),
            observation=observation(answer, self._models),
            attempt=answer.attempt,
            recallable=may_recall,
            vector=self._vector(answer.standalone) if wanted else None,
        )

    def _vector(self, question: str) -> bytes | None:
        """Without one the answer is found again by its words: no reason to lose it."""
        try:
            return self._embed(question[:EMBEDDED])
        except VeracityError as problem:
            log.warning("%s", problem)
            return None
