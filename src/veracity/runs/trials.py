"""Tries a question with the local parts alone: retrieval, extractive writer, local review and gate.

No model is called, nothing is stored, and nobody is asked: only whether the answer would be released is found out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from veracity.errors import VeracityError
from veracity.graph.build import build_graph
from veracity.graph.context import RunContext
from veracity.graph.state import RunState, fresh_turn
from veracity.ledger import WeakPoint
from veracity.models import Answer, Decision, Evidence, PastTurn, Remembered, RunParameters, Usage
from veracity.runs.driver import isolated
from veracity.runs.outcome import build_answer

MAX_SECONDS = 10.0
MAX_STEPS = 60
TRIAL = "trial"  # as run id and user


class _WaitsError(VeracityError):
    """The answer would wait for a person."""


class NoMemory:
    """The memory of a trial: it has no earlier turns, and every write is a no-op."""

    def weak_points(self, user: str, question: str) -> Sequence[WeakPoint]:
        return ()

    def keep_evidence(self, run_id: str, evidence: Sequence[Evidence], *, given: bool) -> None:
        """No-op."""

    def remembered(self, user: str, conversation: str, before_run: str | None = None) -> Remembered:
        return Remembered()

    def keep_summary(self, user: str, conversation: str, summary: str, folded: int) -> None:
        """No-op."""

    def past_turns(
        self, user: str, conversation: str | None, query: str, vector: bytes | None, limit: int, exclude_run: str = ""
    ) -> Sequence[PastTurn]:
        return ()

    def turns(self, user: str, conversation: str, limit: int = 50) -> Sequence[PastTurn]:
        return ()

    def decision(self, run_id: str, attempt: int) -> Decision | None:
        raise _WaitsError("A trial waits for nobody.")


def try_question(context: RunContext, question: str, only: Sequence[str] = ()) -> Answer | None:
    """The answer that would be released, or None. `context` is that of `make_local_context`."""
    run = RunParameters(
        run_id=TRIAL, question=question, user=TRIAL, max_rewrites=0, deadline=MAX_SECONDS, only=tuple(only)
    )
    state: Any = fresh_turn(run)
    stream = build_graph().stream(
        state, {"recursion_limit": MAX_STEPS}, context=context.for_run(run), stream_mode="values"
    )
    try:
        with isolated(stream) as states:
            for state in states:  # noqa: B007 - the last one counts
                pass
    except VeracityError:  # it waits, or could not be searched in time
        return None
    answer = build_answer(cast(RunState, state), Usage(), 0.0)
    return answer if answer.status == "answered" and answer.form == "extractive" else None
