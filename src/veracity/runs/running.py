"""Drives the graph from a question to its answer, and writes down in the ledger what happens on the way.

A run stops where a person is to decide, and is taken up again by whoever learns of the decision, in this process or in
another. What a process was at when it died is taken up by the next one.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from langgraph.checkpoint.sqlite import SqliteSaver

from veracity.deadlines import Deadline
from veracity.errors import LedgerError, LostLeaseError, SupersededError, VeracityError
from veracity.graph.parts import Limits, Parts, Web
from veracity.graph.state import RunState, fresh_turn
from veracity.language import guess_language
from veracity.ledger import Ledger, Observations
from veracity.ledger.approvals import draft_hash
from veracity.models import Answer, Approval, RunEvent, RunParameters, Usage
from veracity.runs.checkpoints import threads
from veracity.runs.concluding import (
    conclude,
    decided_answer,
    observation,
    recallable,
    waiting_answer,
    weak_point,
)
from veracity.runs.driving import Drive, Driver
from veracity.settings import Settings
from veracity.workers import NATIVE_PATIENCE, Workers

log = logging.getLogger("veracity")

MakeParts = Callable[[Limits], Parts]
Embed = Callable[[str], bytes | None]
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that could be taken for something else
GRACE = 60.0  # seconds that a lease lasts beyond what the run may take
MOST_TOKENS = 8  # a run that was taken up so often would be interrupted for ever
EMBEDDED = 1000  # characters of the question, by whose meaning an answer is found again


class Runs:
    def __init__(
        self,
        ledger: Ledger,
        observations: Observations,
        checkpoints: SqliteSaver,
        make_parts: MakeParts,
        settings: Settings,
        models: dict[str, str],
        workers: Workers,
        embed: Embed,
        web: Web | None,
    ) -> None:
        """`models` tells which model does what, for the receipts. `workers` are those on which searches run."""
        self._ledger = ledger
        self._observations = observations
        self._checkpoints = checkpoints
        self._driver = Driver(checkpoints, make_parts, settings, ledger)
        self._settings = settings
        self._models = models
        self._workers = workers
        self._embed = embed
        self._web = web

    def stream(
        self, question: str, user: str, max_rewrites: int, deadline: float, conversation: str = ""
    ) -> Iterator[RunEvent]:
        """What happens, as it happens; the last event holds the answer."""
        run = RunParameters(
            run_id=new_run_id(),
            question=question,
            user=user,
            conversation=conversation,
            max_rewrites=max_rewrites,
            deadline=deadline,
        )
        token = self._ledger.begin(
            run.run_id,
            question,
            user,
            guess_language(question),
            self._models,
            conversation=conversation,
            max_rewrites=max_rewrites,
            deadline=deadline,
            lease=deadline + GRACE,
        )
        yield from self._drive(run, token, _start_of(run))

    def resume(self, run_id: str) -> Iterator[RunEvent]:
        """Take up a run that was decided or interrupted. Nothing happens where another process is at it."""
        left = self._ledger.parameters(run_id)
        token = self._ledger.take_over(run_id, left.deadline + GRACE)
        if token is None:
            return
        run, approvals = self._ledger.parameters(run_id), self._ledger.approvals_of(run_id)
        has_progress = self._driver.has_progress(run_id)
        if approvals and (token > MOST_TOKENS or not has_progress):
            yield from self._told(self._end_with(approvals[-1], run, token))
        elif token > MOST_TOKENS:
            problem = f"It was interrupted {MOST_TOKENS} times: ask again."
            self._fail(run, token, problem, run.usage, run.seconds)
        else:
            yield from self._drive(run, token, None if has_progress else _start_of(run))

    def carry_out(self, approval: Approval) -> Iterator[RunEvent]:
        """What follows from a decision that is in the ledger. Where another process is at it, its outcome."""
        has_ended = False
        for event in self.resume(approval.run_id):
            has_ended = event.answer is not None
            yield event
        if not has_ended:
            yield RunEvent(kind="answer", run_id=approval.run_id, answer=self._outcome(approval))

    def recover(self) -> list[Answer]:
        """Take up what a process left that died, and what was decided and not carried out."""
        answers: list[Answer] = []
        for run_id in self._ledger.interrupted():
            try:
                answers += [event.answer for event in self.resume(run_id) if event.answer]
            except VeracityError as problem:
                log.warning("Run %s was interrupted and could not be taken up: %s", run_id, problem)
        self._deliver()
        return answers

    def tidy(self) -> None:
        """Remove the progress of runs that have ended: a kill may have come between the two."""
        kept = threads(self._checkpoints)  # first, or one that begins meanwhile would be taken for ended
        for run_id in set(kept).difference(self._ledger.unfinished()):
            self._forget_progress(run_id)

    def close(self) -> None:
        if self._web:
            self._web.close()
        self._workers.close(NATIVE_PATIENCE)
        self._checkpoints.conn.close()

    def _outcome(self, approval: Approval) -> Answer:
        end = Deadline.within(self._ledger.parameters(approval.run_id).deadline + GRACE)
        while not end.has_passed:
            run = self._ledger.summary(approval.run_id)
            newest = self._ledger.approvals_of(approval.run_id)[-1]
            if run.status == "failed":
                raise LedgerError(f'The run "{run.run_id}" failed: {run.problem}')
            if run.status == "awaiting_approval" and newest.state == "pending":
                return waiting_answer(newest)
            if answer := self._ledger.answer(run.run_id):
                return answer
            time.sleep(0.1)
        raise LedgerError(f'The run "{approval.run_id}" is being taken up by another process: look at it later.')

    def _drive(self, run: RunParameters, token: int, start: RunState | None) -> Iterator[RunEvent]:
        drive = Drive(run, token, self._settings.budget)
        try:
            ended = yield from self._driver.steps(drive, start)
            if ended.waits:
                answer = self._suspend(drive, ended.state, ended.waits)
            else:
                threshold = self._settings.approval.threshold if self._settings.approval.policy == "never" else 0.0
                answer = conclude(ended.state, drive.budget.spent, drive.seconds, threshold)
                self._finish(answer, token)
        except LostLeaseError:  # another process goes on with it
            raise
        except BaseException as problem:
            self._give_up(drive, problem)
            raise
        yield from self._told(answer)

    def _told(self, answer: Answer) -> Iterator[RunEvent]:
        if answer.status != "awaiting_approval":
            self._forget_progress(answer.run_id)
        try:
            yield RunEvent(kind="answer", run_id=answer.run_id, answer=answer)
        finally:
            self._deliver()  # which may have to wait for others

    def _suspend(self, drive: Drive, state: RunState, waits: dict[str, str]) -> Answer:
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

    def _end_with(self, approval: Approval, run: RunParameters, token: int) -> Answer:
        """Where the progress of the run is lost, the decision counts all the same."""
        if approval.decision is None:
            raise AssertionError("a run is taken up when its approval is decided")
        answer = decided_answer(approval, approval.decision)
        self._finish(answer.model_copy(update={"usage": run.usage, "seconds": run.seconds}), token)
        return answer

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
            vector=self._embed(answer.standalone[:EMBEDDED]) if wanted else None,
        )

    def _give_up(self, drive: Drive, problem: BaseException) -> None:
        """A run that a person decided on is left to be taken up again: no decision is lost. Any other has failed."""
        with contextlib.suppress(VeracityError):  # what went wrong first is what is told
            if self._ledger.approvals_of(drive.run.run_id):
                self._ledger.release(drive.run.run_id, drive.token)
                return
            told = str(problem) if isinstance(problem, VeracityError) else f"stopped ({type(problem).__name__})"
            self._fail(drive.run, drive.token, told, drive.budget.spent, drive.seconds)

    def _fail(self, run: RunParameters, token: int, problem: str, usage: Usage, seconds: float) -> None:
        self._ledger.finish(
            run.run_id, "failed", token=token, answer=None, usage=usage, seconds=seconds, problem=problem
        )
        self._forget_progress(run.run_id)

    def _forget_progress(self, run_id: str) -> None:
        with contextlib.suppress(sqlite3.Error):  # what is left behind is removed with the next document forgotten
            self._checkpoints.delete_thread(run_id)

    def _deliver(self) -> None:
        """The ledger holds what could not be written to the file, until it can be: no reason to lose the answer."""
        try:
            self._ledger.deliver(self._observations)
        except LedgerError as problem:
            log.warning("%s", problem)


def new_run_id() -> str:
    """Tells when the run began, so that ids sort by it."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{moment}-{''.join(secrets.choice(ALPHABET) for _ in range(6))}"


def _start_of(run: RunParameters) -> RunState:
    return fresh_turn(run.run_id, run.question, run.user, run.max_rewrites, run.conversation)
