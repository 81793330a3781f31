"""Ends a run in the ledger: with an answer, pending approval, failed, or released for another process to resume.

Each ending is one transaction of the ledger. What follows (deleting progress, delivering observations) can also happen
later, after a crash.
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from veracity.errors import (
    BusyLedgerError,
    LedgerError,
    ShutdownError,
    SupersededError,
    UnreachableLedgerError,
    VeracityError,
)
from veracity.graph.context import RunContext
from veracity.graph.state import RunState
from veracity.ledger import Ledger, Observations, RunRecords, draft_hash
from veracity.ledger.observations import make_observation
from veracity.models import Answer, Approval, ModelCall, RunParameters
from veracity.models.people import is_experiment
from veracity.runs.driver import Driver
from veracity.runs.outcome import build_answer, decided_answer, doubt_about, is_recallable, pending_answer, weak_point
from veracity.settings import ApprovalSettings

log = logging.getLogger("veracity")

MAX_EMBEDDED_LENGTH = 1000  # characters of a question that its vector covers


class Endings:
    def __init__(self, context: RunContext, ledger: Ledger, observations: Observations, driver: Driver) -> None:
        self._context = context
        self._settings = context.settings
        self._ledger = ledger
        self._observations = observations
        self._driver = driver

    def complete(self, context: RunContext, state: RunState) -> Answer:
        limits = context.limits
        approval = context.settings.approval.for_language(state["language"])
        answer = build_answer(state, limits.budget.spent, limits.seconds, approval)
        audit = self._draw_audit(answer, context.run, approval)
        self._finish(answer, context.run.user, context.token, approval.threshold, audit)
        return answer

    def _draw_audit(self, answer: Answer, run: RunParameters, settings: ApprovalSettings) -> Approval | None:
        """An approval for a random share of the answers that the gate released, so that people see those, too."""
        is_eligible = answer.status == "answered" and answer.score is not None and not answer.decisions
        if not is_eligible or is_experiment(run.user) or doubt_about(answer, settings):
            return None
        if random.random() >= settings.audit:
            return None
        return _make_approval(answer, run, why="audit", on_reject="record", inclusion=settings.audit)

    def complete_by_decision(self, approval: Approval, run: RunParameters, token: int) -> Answer | None:
        """Finish a run whose progress is lost by its decision alone. None if it is pending or was sent back."""
        if approval.decision is None or approval.decision.verdict == "send_back":
            return None
        used = {"usage": run.usage, "seconds": run.seconds}
        answer = decided_answer(approval, approval.decision).model_copy(update=used)
        threshold = self._context.approval_in_force().for_language(answer.language).threshold
        self._finish(answer, run.user, token, threshold)
        return answer

    def suspend(self, context: RunContext, state: RunState, interrupt: dict[str, Any]) -> Answer:
        """Store the draft as a pending approval. Raises `SupersededError` if one of its documents was forgotten."""
        run, usage, seconds = context.run, context.limits.budget.spent, context.limits.seconds
        draft = build_answer(state, usage, seconds)
        hours = self._settings.approval.expires
        expires = datetime.now(UTC) + timedelta(hours=hours) if hours else None
        approval = _make_approval(draft, run, **interrupt, expires=expires)
        stored = self._ledger.suspend(run.run_id, context.token, approval, usage, seconds)
        if stored.state == "superseded":
            raise SupersededError("A document that the draft uses was forgotten in the meantime: ask again.")
        return pending_answer(stored)

    def abandon(self, context: RunContext, error: BaseException) -> None:
        """Fail the run, or release it so that it can be resumed.

        Runs with a decision are always released, so that no decision is lost; so are all runs on shutdown or while
        Postgres cannot be used, and resumed runs on Ctrl-C.
        """
        run_id, token = context.run.run_id, context.token
        is_resumed_and_cancelled = token > 1 and not isinstance(error, Exception)
        is_temporary = isinstance(error, ShutdownError | UnreachableLedgerError) or (
            isinstance(error, BusyLedgerError) and bool(context.settings.store.ledger)
        )
        if is_resumed_and_cancelled or is_temporary or not self._try_to_fail(context, error):
            with contextlib.suppress(VeracityError):  # the first error is reported
                self._ledger.release(run_id, token)
        if isinstance(error, SupersededError):
            self.scrub_progress(run_id)

    def scrub_progress(self, run_id: str) -> None:
        """Scrub the progress of a run that ended elsewhere: it may contain forgotten text."""
        with contextlib.suppress(VeracityError):
            if run_id not in self._ledger.unfinished():
                self._ledger.scrub_progress()

    def fail(self, run: RunParameters, token: int, problem: str, calls: Sequence[ModelCall] = ()) -> None:
        self._ledger.fail(
            run.run_id,
            problem,
            token=token,
            usage=run.usage,
            seconds=run.seconds,
            usage_by_role=run.usage_by_role,
            model_calls=calls,
        )
        self._driver.delete_progress(run.run_id)

    def delete_stale_progress(self) -> None:
        """Delete the progress of finished runs, which a crash may have left behind."""
        run_ids = self._driver.runs_with_progress()  # before `unfinished`: a run that starts in between is not finished
        for run_id in set(run_ids).difference(self._ledger.unfinished()):
            self._driver.delete_progress(run_id)

    def deliver(self) -> None:
        """Write pending observations to their file. On failure they stay in the ledger until the next delivery."""
        try:
            self._ledger.deliver(self._observations)
        except LedgerError as error:
            log.warning("%s", error)

    def _try_to_fail(self, context: RunContext, error: BaseException) -> bool:
        """False for a run with a decision, and if the ledger cannot be written now, e.g. on a full disk."""
        limits = context.limits
        budget = limits.budget
        used = {"usage": budget.spent, "usage_by_role": budget.by_role, "seconds": limits.seconds}
        run = context.run.model_copy(update=used)
        try:
            if self._ledger.approvals_of(run.run_id):
                return False
            problem = str(error) if isinstance(error, VeracityError) else f"stopped ({type(error).__name__})"
            self.fail(run, context.token, problem, budget.take_calls())
        except LedgerError:
            return False
        return True

    def _finish(self, answer: Answer, user: str, token: int, threshold: float, audit: Approval | None = None) -> None:
        """The case of an experiment is recalled in its own conversation, and nothing else is learned from it."""
        recallable, is_case = is_recallable(answer), is_experiment(user)
        needs_vector = recallable and (answer.conversation or self._settings.conversation.history == "user")
        records = RunRecords(
            weak_point=None if is_case else weak_point(answer, threshold),
            observation=None if is_case else make_observation(answer, self._context.models),
            recallable=recallable,
            vector=self._embed(answer.standalone) if needs_vector else None,
            audit=audit,
        )
        self._ledger.finish(answer, records, token=token)

    def _embed(self, question: str) -> bytes | None:
        """None on failure: without a vector the answer is still found by its words."""
        try:
            return self._context.embed(question[:MAX_EMBEDDED_LENGTH])
        except VeracityError as error:
            log.warning("%s", error)
            return None


def _make_approval(draft: Answer, run: RunParameters, **why: object) -> Approval:
    return Approval.model_validate(
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
            **why,
        }
    )
