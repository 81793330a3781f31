"""Runs questions: begins a run, resumes it after a decision, a shutdown or a crash, and streams its events."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from veracity.deadlines import Deadline, Stop
from veracity.errors import LedgerError, LostLeaseError, ShutdownError, VeracityError
from veracity.graph.context import RunContext
from veracity.graph.state import RunState, fresh_turn
from veracity.language import guess_language
from veracity.ledger import Ledger, Observations
from veracity.models import Answer, Approval, RunEvent, RunParameters, RunProgress, RunSummary
from veracity.runs.driver import Driver
from veracity.runs.endings import Endings
from veracity.runs.factory import open_checkpoints
from veracity.runs.outcome import pending_answer
from veracity.workspace import Workspace

log = logging.getLogger("veracity")

WAIT_GRACE_SECONDS = 60.0  # to wait for another process, beyond the deadline of the run
MAX_LEASES = 8  # a run that was interrupted this often is failed instead of resumed
POLL_SECONDS = 0.1


class Runner:
    def __init__(self, context: RunContext, ledger: Ledger, workspace: Workspace) -> None:
        self._context = context
        self._ledger = ledger
        checkpoints = open_checkpoints(workspace.ledger_folder, context.settings.store.ledger)
        self._driver = Driver(checkpoints, ledger)
        self._endings = Endings(context, ledger, Observations(workspace.observations_file), self._driver)
        self._begun: dict[str, tuple[RunParameters, int]] = {}
        self._stops: dict[str, Stop] = {}  # of the runs under way
        self._is_stopping = threading.Event()
        self._endings.delete_stale_progress()

    def stream(self, run: RunParameters, *, drafts: bool = False) -> Iterator[RunEvent]:
        """Run a question. The last event holds the answer."""
        yield from self._drive(run, self._lease(run), fresh_turn(run), drafts)

    def begin(self, run: RunParameters, key: str = "", *, queued: bool = False) -> str:
        """Store a run without starting it. If this process dies, another one can resume it. A `queued` run is left to
        a worker."""
        token = self._lease(run, key, queued=queued)
        if not queued:
            self._begun[run.run_id] = (run, token)
        return run.run_id

    def discard(self, run_id: str) -> None:
        """Drop a run that the ledger has stopped: it does not start, or what it waits for ends."""
        self._begun.pop(run_id, None)
        if stop := self._stops.get(run_id):
            stop.set()

    def resume(self, run_id: str, *, drafts: bool = False) -> Iterator[RunEvent]:
        """Continue a run that was begun, decided or interrupted. Yields nothing while another process runs it."""
        if begun := self._begun.pop(run_id, None):
            yield from self._drive(*begun, fresh_turn(begun[0]), drafts)
            return
        token = self._ledger.acquire_lease(run_id)
        if token is None:
            return
        try:
            run = self._ledger.parameters(run_id)
            has_progress = self._driver.has_progress(run_id)
            max_token = MAX_LEASES + len(self._ledger.approvals_of(run_id))  # every decision is followed by a lease
            can_continue = has_progress and token <= max_token
            answer = None if can_continue else self._end_without_progress(run, token, max_token)
        except BaseException:
            with contextlib.suppress(VeracityError):  # the first error is reported
                self._ledger.release(run_id, token)
            raise
        if answer:
            yield from self._deliver(answer)
        elif token <= max_token:
            yield from self._drive(run, token, None if has_progress else fresh_turn(run), drafts)

    def carry_out(self, approval: Approval, *, drafts: bool = False) -> Iterator[RunEvent]:
        """Continue a run after its decision. If another process runs it, wait for the answer.

        Raises `LedgerError` if the run fails or the other process does not finish in time.
        """
        run_id = approval.run_id
        deadline = Deadline.within(self._ledger.parameters(run_id).deadline + WAIT_GRACE_SECONDS)
        while not deadline.has_passed:
            if self._is_stopping.is_set():
                raise ShutdownError("Shutting down: the decision is recorded, and the run resumes on the next start.")
            for event in self.resume(run_id, drafts=drafts):
                yield event
                if event.answer:
                    return
            run = self._ledger.summary(run_id)
            if run.status == "failed":
                raise LedgerError(f'The run "{run_id}" failed: {run.problem}')
            if answer := self._answer(run):
                yield RunEvent(kind="answer", run_id=run_id, answer=answer)
                return
            time.sleep(POLL_SECONDS)  # another process runs it; if that dies, the next `resume` gets the lease
        raise LedgerError(f'Another process is resuming the run "{run_id}": look at it later.')

    def progress(self, run_id: str) -> RunProgress:
        """The stored data of a run, whichever process runs it."""
        run = self._ledger.summary(run_id)  # first: if the run has ended here, all its steps are stored
        return RunProgress(run=run, steps=self._ledger.steps(run_id), answer=self._answer(run))

    def recover(self) -> list[Answer]:
        """Resume all interrupted and decided runs."""
        answers: list[Answer] = []
        for run_id in self._ledger.interrupted():
            try:
                answers += [event.answer for event in self.resume(run_id) if event.answer]
            except Exception as error:  # noqa: BLE001 - one bad run must not block the others
                reason = str(error) if isinstance(error, VeracityError) else type(error).__name__
                log.warning("The interrupted run %s could not be resumed: %s", run_id, reason)
        self._endings.deliver()
        return answers

    def stop_all(self) -> None:
        """Stop every run and release the runs that were only begun. All can be resumed.

        What a run waits for ends, such as a model's reply; other steps finish first.
        """
        self._is_stopping.set()
        for stop in list(self._stops.values()):
            stop.set()
        for run_id in list(self._begun):
            if begun := self._begun.pop(run_id, None):  # None: another thread has just started it
                with contextlib.suppress(VeracityError):  # the lease also ends with this process
                    self._ledger.release(run_id, begun[1])

    def close(self) -> None:
        self.stop_all()
        self._driver.close()

    def _lease(self, run: RunParameters, key: str = "", *, queued: bool = False) -> int:
        """Store the run in the ledger and return the token of its lease."""
        return self._ledger.begin(run, guess_language(run.question), self._context.models, key=key, queued=queued)

    def _drive(self, run: RunParameters, token: int, start: RunState | None, drafts: bool) -> Iterator[RunEvent]:
        sent_back = [approval for approval in self._ledger.approvals_of(run.run_id) if approval.state == "sent_back"]
        context = self._context.for_run(run, token, drafts=drafts, send_backs=len(sent_back))
        self._stops[run.run_id] = context.limits.stop
        if self._is_stopping.is_set():  # `stop_all` may not have seen it
            context.limits.stop.set()
        try:
            state, interrupt = yield from self._driver.steps(context, start, self._is_stopping)
            if interrupt:
                answer = self._endings.suspend(context, state, interrupt)
                self._driver.compact_progress(run.run_id)
            else:
                answer = self._endings.complete(context, state)
        except LostLeaseError:  # another process resumed the run, or it was forgotten
            self._endings.scrub_progress(run.run_id)
            raise
        except BaseException as error:
            # During shutdown any error may be a consequence of it, so the run is not failed.
            self._endings.abandon(context, ShutdownError(str(error)) if self._is_stopping.is_set() else error)
            raise
        finally:
            self._stops.pop(run.run_id, None)
        yield from self._deliver(answer)

    def _deliver(self, answer: Answer) -> Iterator[RunEvent]:
        if answer.status != "awaiting_approval":
            self._driver.delete_progress(answer.run_id)
        try:
            yield RunEvent(kind="answer", run_id=answer.run_id, answer=answer)
        finally:
            self._endings.deliver()  # after the answer: it may wait for a lock

    def _end_without_progress(self, run: RunParameters, token: int, max_token: int) -> Answer | None:
        """Finish by the decision if there is one. None: the run starts again, or failed after too many leases."""
        approvals = self._ledger.approvals_of(run.run_id)
        answer = self._endings.complete_by_decision(approvals[-1], run, token) if approvals else None
        if answer is None and token > max_token:
            self._endings.fail(run, token, f"It was interrupted {MAX_LEASES} times: ask again.")
        return answer

    def _answer(self, run: RunSummary) -> Answer | None:
        """None while the run is running, and if it failed."""
        if run.status == "awaiting_approval":
            newest = self._ledger.approvals_of(run.run_id)[-1]
            return pending_answer(newest) if newest.is_open(datetime.now(UTC)) else None
        return None if run.status in ("running", "failed") else self._ledger.answer(run.run_id)
