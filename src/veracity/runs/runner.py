"""Runs questions: begins a run, takes one up again, and hands over what happens on the way.

A run stops where a person is to decide, and is taken up again by whoever learns of the decision, in this process or in
another. What a process was at when it died is taken up by the next one.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from veracity.deadlines import Deadline
from veracity.errors import LedgerError, LeftError, LostLeaseError, VeracityError
from veracity.graph.state import RunState, fresh_turn
from veracity.language import guess_language
from veracity.ledger import Ledger
from veracity.models import Answer, Approval, RunEvent, RunParameters, RunProgress, RunSummary
from veracity.runs.driver import Drive, Driver
from veracity.runs.endings import Endings
from veracity.runs.outcome import waiting_answer
from veracity.settings import Settings

log = logging.getLogger("veracity")

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that could be taken for something else
GRACE = 60.0  # seconds that a lease lasts beyond what the run may take
MOST_TOKENS = 8  # a run that was taken up so often would be interrupted for ever


class Runs:
    def __init__(
        self,
        ledger: Ledger,
        driver: Driver,
        endings: Endings,
        settings: Settings,
        models: dict[str, str],
        close: Callable[[], None],
    ) -> None:
        """`models` tells which model does what, for the receipts. `close` ends what all this works with."""
        self._ledger = ledger
        self._driver = driver
        self._endings = endings
        self._settings = settings
        self._models = models
        self._end = close
        self._begun: dict[str, tuple[RunParameters, int]] = {}
        self._is_leaving = threading.Event()
        endings.tidy()

    def leave(self) -> None:
        """Whoever drives a run stops at the next step, and those that were only begun are left: all can be taken up
        again, by this workspace's next process or by another one that is there."""
        self._is_leaving.set()
        for run_id in list(self._begun):
            if begun := self._begun.pop(run_id, None):  # else somebody goes on with it just now
                with contextlib.suppress(VeracityError):  # it is taken up all the same when this process has ended
                    self._ledger.release(run_id, begun[1])

    def let_go(self, run_id: str) -> None:
        """It was begun and will not be driven."""
        self._begun.pop(run_id, None)

    def close(self) -> None:
        self.leave()
        self._end()

    def stream(
        self,
        question: str,
        user: str,
        max_rewrites: int,
        deadline: float,
        conversation: str = "",
        *,
        drafts: bool = False,
    ) -> Iterator[RunEvent]:
        """What happens, as it happens; the last event holds the answer."""
        yield from self.resume(self.begin(question, user, max_rewrites, deadline, conversation), drafts)

    def begin(
        self, question: str, user: str, max_rewrites: int, deadline: float, conversation: str = "", key: str = ""
    ) -> str:
        """It is in the ledger, and ours; nothing is done yet. Should this process die, another one takes it up."""
        asked = {"question": question, "user": user, "conversation": conversation}
        run = RunParameters(run_id=new_run_id(), **asked, max_rewrites=max_rewrites, deadline=deadline)
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
            key=key,
        )
        self._begun[run.run_id] = (run, token)
        return run.run_id

    def resume(self, run_id: str, drafts: bool = False) -> Iterator[RunEvent]:
        """Go on with a run that was begun, decided or interrupted. Nothing happens where another process is at it."""
        if begun := self._begun.pop(run_id, None):
            yield from self._drive(*begun, _start_of(begun[0]), drafts)
            return
        lease = self._ledger.parameters(run_id).deadline + GRACE
        token = self._ledger.take_over(run_id, lease)
        if token is None:
            return
        try:
            run = self._ledger.parameters(run_id)
            has_progress = self._driver.has_progress(run_id)
            may_go_on = has_progress and token <= MOST_TOKENS
            answer = None if may_go_on else self._ended_without_progress(run, token)
        except BaseException:
            with contextlib.suppress(VeracityError):  # what went wrong first is what is told
                self._ledger.release(run_id, token)
            raise
        if answer:
            yield from self._told(answer)
        elif token <= MOST_TOKENS:
            yield from self._drive(run, token, None if has_progress else _start_of(run), drafts)

    def carry_out(self, approval: Approval, drafts: bool = False) -> Iterator[RunEvent]:
        """What follows from a decision that is in the ledger. Where another process is at it, its outcome."""
        end = Deadline.within(self._ledger.parameters(approval.run_id).deadline + GRACE)
        while not end.has_passed:
            if self._is_leaving.is_set():
                raise LeftError("The program is ending: what follows from the decision is done when it runs.")
            for event in self.resume(approval.run_id, drafts):
                yield event
                if event.answer:
                    return
            run = self._ledger.summary(approval.run_id)
            if run.status == "failed":
                raise LedgerError(f'The run "{run.run_id}" failed: {run.problem}')
            if answer := self._outcome(run):
                yield RunEvent(kind="answer", run_id=approval.run_id, answer=answer)
                return
            time.sleep(0.1)  # another process is at it; should it die, the run is ours
        raise LedgerError(f'The run "{approval.run_id}" is being taken up by another process: look at it later.')

    def progress(self, run_id: str) -> RunProgress:
        """What the ledger knows, whoever is at it."""
        run = self._ledger.summary(run_id)  # first: where that has ended, all steps are there
        return RunProgress(run=run, steps=self._ledger.steps(run_id), answer=self._outcome(run))

    def recover(self) -> list[Answer]:
        """Take up what a process left that died, and what was decided and not carried out."""
        answers: list[Answer] = []
        for run_id in self._ledger.interrupted():
            try:
                answers += [event.answer for event in self.resume(run_id) if event.answer]
            except Exception as problem:  # noqa: BLE001 - one bad run must not keep all others from being asked
                told = str(problem) if isinstance(problem, VeracityError) else type(problem).__name__
                log.warning("Run %s was interrupted and could not be taken up: %s", run_id, told)
        self._endings.deliver()
        return answers

    def _drive(self, run: RunParameters, token: int, start: RunState | None, drafts: bool) -> Iterator[RunEvent]:
        drive = Drive(run, token, self._settings.budget, self._is_leaving, drafts)
        try:
            ended = yield from self._driver.steps(drive, start)
            if ended.waits:
                answer = self._endings.suspended(drive, ended.state, ended.waits)
            else:
                answer = self._endings.answered(drive, ended.state)
        except LostLeaseError:  # another process goes on with it, or it was forgotten
            self._endings.left(run.run_id)
            raise
        except BaseException as problem:
            # What fails when the program ends fails for that: the run is taken up again.
            self._endings.given_up(drive, LeftError(str(problem)) if self._is_leaving.is_set() else problem)
            raise
        yield from self._told(answer)

    def _told(self, answer: Answer) -> Iterator[RunEvent]:
        if answer.status != "awaiting_approval":
            self._endings.forget_progress(answer.run_id)
        try:
            yield RunEvent(kind="answer", run_id=answer.run_id, answer=answer)
        finally:
            self._endings.deliver()  # which may have to wait for others

    def _ended_without_progress(self, run: RunParameters, token: int) -> Answer | None:
        """A decision counts though there is no progress, or it goes nowhere. Without one, the run begins anew."""
        approvals = self._ledger.approvals_of(run.run_id)
        answer = self._endings.decided(approvals[-1], run, token) if approvals else None
        if answer is None and token > MOST_TOKENS:
            problem = f"It was interrupted {MOST_TOKENS} times: ask again."
            self._endings.failed(run, token, problem, run.usage, run.seconds)
        return answer

    def _outcome(self, run: RunSummary) -> Answer | None:
        """None while somebody is at it, and where it failed."""
        if run.status == "awaiting_approval":
            newest = self._ledger.approvals_of(run.run_id)[-1]
            return waiting_answer(newest) if newest.state == "pending" else None
        return None if run.status in ("running", "failed") else self._ledger.answer(run.run_id)


def new_run_id() -> str:
    """Tells when the run began, so that ids sort by it."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{moment}-{''.join(secrets.choice(ALPHABET) for _ in range(6))}"


def _start_of(run: RunParameters) -> RunState:
    return fresh_turn(run.run_id, run.question, run.user, run.max_rewrites, run.conversation)
