"""Evaluations that a server leaves to workers. The texts are in the ledger while the client waits, and no longer."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

from veracity.deadlines import NEVER, Stop
from veracity.errors import BusyLedgerError, LedgerError, OutOfTimeError, Stopped, VeracityError
from veracity.ledger.rows.evaluations import Evaluations
from veracity.models import EvaluationResult

log = logging.getLogger("veracity.worker")

POLL_SECONDS = 0.2
INTERNAL_ERROR = "Internal error. See the worker's log for details."
GRACE_SECONDS = 30.0  # for the worker, which keeps the deadline itself, to report


class EvaluationQueue:
    """Threads can share it. `deadline` is the setting of the evaluator."""

    def __init__(self, evaluations: Evaluations, deadline: float) -> None:
        self._rows = evaluations
        self._deadline = deadline
        self._stops: dict[str, Stop] = {}  # of the evaluations of this process, by id
        self._lock = threading.Lock()

    def evaluate(
        self,
        question: str,
        answer: str,
        context: Sequence[str] = (),
        *,
        metrics: Sequence[str] | None = None,
        user: str,
        stop: Stop = NEVER,
    ) -> EvaluationResult:
        """Like `Veracity.evaluate`, by a worker. Raises what the worker raised, and `OutOfTimeError` if none is free
        within `evaluator.deadline`."""
        evaluation_id = secrets.token_hex(8)
        request = {"question": question, "answer": answer, "context": list(context), "metrics": metrics, "user": user}
        self._rows.add(evaluation_id, user, request)
        try:
            result = self._wait(evaluation_id, stop)
        finally:
            with suppress(LedgerError):  # `clean_up` removes it
                self._rows.remove(evaluation_id)
        if isinstance(result, VeracityError):
            raise result
        return result

    def execute(self, evaluation_id: str, evaluate: Callable[..., EvaluationResult]) -> None:
        """On a worker. `evaluate` is `Veracity.evaluate`."""
        request: dict[str, Any] | None = self._rows.start(evaluation_id)
        if request is None:
            return
        stop = Stop()
        with self._lock:
            self._stops[evaluation_id] = stop
        try:
            result: EvaluationResult | VeracityError = evaluate(**request, stop=stop)
        except Stopped:
            return
        except VeracityError as error:
            result = error
        except Exception:
            log.exception("An evaluation failed")
            result = VeracityError(INTERNAL_ERROR)
        finally:
            with self._lock:
                del self._stops[evaluation_id]
        self._rows.finish(evaluation_id, result)

    def end_removed(self) -> None:
        """On a worker: stop the evaluations whose client is gone."""
        with self._lock:
            stops = dict(self._stops)
        for evaluation_id in self._rows.list_removed(list(stops)) if stops else ():
            stops[evaluation_id].set()

    def stop_all(self) -> None:
        """On a worker that ends: another one begins them again."""
        with self._lock:
            stops = list(self._stops.values())
        for stop in stops:
            stop.set()

    def queue_lost(self) -> None:
        self._rows.queue_lost()

    def clean_up(self) -> None:
        """Remove those whose server ended."""
        self._rows.remove_unread(2 * self._deadline + 2 * GRACE_SECONDS)

    def _wait(self, evaluation_id: str, stop: Stop) -> EvaluationResult | VeracityError:
        """The worker keeps the deadline from its start. Until then, and if it does not report, the server does."""
        state: Literal["queued", "started"] = "queued"
        end = time.monotonic() + self._deadline
        while True:
            found = self._rows.look(evaluation_id)
            if found is None:
                raise BusyLedgerError("The evaluation was lost when Postgres was restarted: try again.")
            if found.result:
                return found.result
            if found.has_started and state == "queued":
                state, end = "started", time.monotonic() + self._deadline + GRACE_SECONDS
            if time.monotonic() > end:
                raise _out_of_time(state)
            stop.sleep(POLL_SECONDS)


def _out_of_time(state: str) -> OutOfTimeError:
    if state == "queued":
        return OutOfTimeError("No worker was free within evaluator.deadline: start more workers, or try again later.")
    return OutOfTimeError("It took longer than evaluator.deadline allows: shorten the text or raise the limit.")
