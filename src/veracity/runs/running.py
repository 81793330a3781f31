"""Drives the graph from a question to its answer, and writes down in the ledger what happens on the way."""

from __future__ import annotations

import contextlib
import logging
import secrets
import sqlite3
import time
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from typing import cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver

from veracity.deadlines import Deadline
from veracity.errors import LedgerError, VeracityError
from veracity.graph.build import build_graph
from veracity.graph.parts import Limits, Parts
from veracity.graph.state import RunState, fresh_turn
from veracity.language import guess_language
from veracity.ledger import Ledger, Observations
from veracity.llm import Budget
from veracity.models import Answer, RunEvent, Step
from veracity.runs.concluding import conclude, observation, weak_point
from veracity.runs.tracing import untraced
from veracity.settings import Settings
from veracity.workers import NATIVE_PATIENCE, Workers

log = logging.getLogger("veracity")

MakeParts = Callable[[Limits], Parts]
SLOW = frozenset(("rewrite_query", "generate_answer", "eval_answer"))  # before these, what was done is written down
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that could be taken for something else


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
    ) -> None:
        """`models` tells which model does what, for the receipts. `workers` are those on which searches run."""
        self._ledger = ledger
        self._observations = observations
        self._checkpoints = checkpoints
        self._graph = build_graph(checkpoints)
        self._make_parts = make_parts
        self._settings = settings
        self._models = models
        self._workers = workers

    def stream(self, question: str, user: str, max_rewrites: int, deadline: float) -> Iterator[RunEvent]:
        """What happens, as it happens; the last event holds the answer."""
        run_id, begun = new_run_id(), time.monotonic()
        ceiling = self._settings.budget
        budget = Budget(ceiling.tokens, ceiling.cost_usd)
        limits = Limits(Deadline.within(deadline), self._settings.quality.loop_deadline, budget)
        parts = self._make_parts(limits)
        self._ledger.begin(run_id, question, user, guess_language(question), self._models)
        try:
            state = yield from self._steps(fresh_turn(run_id, question, user, max_rewrites), parts)
            answer = conclude(state, budget.spent, time.monotonic() - begun)
            self._finish(answer)
        except BaseException as problem:
            told = str(problem) if isinstance(problem, VeracityError) else f"stopped ({type(problem).__name__})"
            seconds = time.monotonic() - begun
            with contextlib.suppress(LedgerError):  # what went wrong first is what is told
                self._ledger.finish(run_id, "failed", answer=None, usage=budget.spent, seconds=seconds, problem=told)
            raise
        finally:
            with contextlib.suppress(sqlite3.Error):  # what is left behind is removed with the next document forgotten
                self._checkpoints.delete_thread(run_id)
        try:
            yield RunEvent(kind="answer", run_id=run_id, answer=answer)
        finally:
            self._deliver()  # which may have to wait for others

    def close(self) -> None:
        self._workers.close(NATIVE_PATIENCE)
        self._checkpoints.conn.close()

    def _steps(self, start: RunState, parts: Parts) -> Generator[RunEvent, None, RunState]:
        """Yields what the nodes tell, returns the state in which they leave the run."""
        run_id, state = start["run_id"], start
        # LangGraph counts steps to end what goes in circles; ours end by themselves.
        most = 20 + 6 * (start["max_rewrites"] + 1) + 3 * (self._settings.answering.gener_epoch + 1)
        config: RunnableConfig = {"configurable": {"thread_id": run_id}, "recursion_limit": most}
        told = untraced(
            lambda: self._graph.stream(
                start, config, context=parts, durability="sync", stream_mode=["custom", "values"]
            )
        )
        done: list[Step] = []
        try:
            for mode, what in told:
                if mode == "values":
                    state = cast(RunState, what)
                elif isinstance(what, Step):
                    done.append(what)
                    yield RunEvent(kind="finished", run_id=run_id, name=what.name, step=what)
                else:
                    if what in SLOW:
                        self._write_down(run_id, done)
                    yield RunEvent(kind="started", run_id=run_id, name=str(what))
        except sqlite3.Error as problem:
            raise LedgerError(f"The progress of the run cannot be kept ({problem}): ask again.") from None
        finally:
            self._write_down(run_id, done)
        return state

    def _write_down(self, run_id: str, done: list[Step]) -> None:
        if done:
            self._ledger.record(run_id, *done)
            done.clear()

    def _deliver(self) -> None:
        """The ledger holds what could not be written to the file, until it can be: no reason to lose the answer."""
        try:
            self._ledger.deliver(self._observations)
        except LedgerError as problem:
            log.warning("%s", problem)

    def _finish(self, answer: Answer) -> None:
        self._ledger.finish(
            answer.run_id,
            answer.status,
            answer=answer,
            usage=answer.usage,
            seconds=answer.seconds,
            weak_point=weak_point(answer),
            observation=observation(answer, self._models, attempt=1),
        )


def new_run_id() -> str:
    """Tells when the run began, so that ids sort by it."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{moment}-{''.join(secrets.choice(ALPHABET) for _ in range(6))}"
