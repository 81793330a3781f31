"""Steps the graph: streams its events, checkpoints its state and records its steps in the ledger.

A finished step is shown after it is in a checkpoint and in the ledger. So it is never repeated, and never lost: a
process that ends between the two leaves a checkpoint from which the next one records the step.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langsmith.run_helpers import tracing_context

from veracity import telemetry
from veracity.deadlines import Stop
from veracity.errors import LedgerError, LostLeaseError, ShutdownError, Stopped
from veracity.graph.build import build_graph
from veracity.graph.context import RunContext
from veracity.graph.report import CALLS, STEPS
from veracity.graph.state import RunState
from veracity.ledger import Ledger
from veracity.llm import Piece
from veracity.models import ModelCall, RunEvent, Step, load_step
from veracity.models.steps import BaseStep
from veracity.runs.checkpoints import Checkpoints
from veracity.runs.interrupts import stopping_on_interrupt

log = logging.getLogger("veracity")

INTERRUPT = "__interrupt__"
EXHAUSTED = object()

T = TypeVar("T")


class GraphResult(NamedTuple):
    """`interrupt` says why approval is needed and what decisions lead to; it is empty when the run is done."""

    state: RunState
    interrupt: dict[str, Any]


class Driver:
    def __init__(self, checkpoints: Checkpoints, ledger: Ledger) -> None:
        self._checkpoints = checkpoints
        self._ledger = ledger

    def steps(
        self, context: RunContext, start: RunState | None, is_stopping: threading.Event
    ) -> Generator[RunEvent, None, GraphResult]:
        """Yield the events of the nodes. Without `start`, continue from the last checkpoint.

        Ends what the current step waits for when the caller is interrupted or stops iterating, or when something else
        sets `context.limits.stop`: then raises `ShutdownError` if `is_stopping` is set, else `LostLeaseError`.
        """
        run_id, answering = context.run.run_id, context.settings.answering
        step_log = _StepLog(self._ledger, context, self._ledger.steps(run_id) if start is None else ())
        # LangGraph limits the number of steps to stop endless loops. Ours end by themselves.
        max_steps = 40 + 6 * (context.run.max_rewrites + 1) + 6 * (answering.gener_epoch + 1)
        config: RunnableConfig = {**_thread(run_id), "recursion_limit": max_steps}
        modes: Any = ["custom", "values"]
        graph = build_graph(self._checkpoints.saver(partial(self._ledger.fenced, run_id, context.token)))
        stream = graph.stream(start, config, context=context, durability="sync", stream_mode=modes)
        span = telemetry.run(run_id, context.token)
        langsmith = context.settings.telemetry.langsmith
        state: Any = start
        with (
            self._translate_checkpoint_errors(),
            _end_span(span),
            _translate_stop(run_id, is_stopping),
            isolated(stream, span, langsmith) as events,
            _stopping_step(context.limits.stop),
        ):
            for mode, value in _interruptible(events, context.limits.stop):
                if mode == "custom":
                    yield step_log.event(value)
                    continue
                state = value  # of the checkpoint that was just written, or that the run resumes from
                yield from step_log.record_new(map(load_step, state.get(STEPS, ())), state.get(CALLS, ()))
                context.limits.stop.check()  # after the checkpoint: finished steps are kept
            span.set(telemetry.RUN_OUTCOME, "waits" if state.get(INTERRUPT) else "ended")
        interrupts = state.pop(INTERRUPT, ())
        return GraphResult(cast(RunState, state), interrupts[0].value if interrupts else {})

    def has_progress(self, run_id: str) -> bool:
        """Whether there is a readable checkpoint. An unreadable one is deleted."""
        saver = self._checkpoints.saver()
        try:
            with self._translate_checkpoint_errors():
                return saver.get_tuple(_thread(run_id)) is not None
        except LedgerError:
            raise
        except Exception as error:  # noqa: BLE001 - damaged bytes can raise anything
            log.warning("Deleting the unreadable progress of run %s (%s).", run_id, type(error).__name__)
            saver.delete_thread(run_id)
            return False

    def runs_with_progress(self) -> list[str]:
        return self._checkpoints.run_ids()

    def compact_progress(self, run_id: str) -> None:
        """Keep only what is needed to resume a run that may wait for days."""
        with contextlib.suppress(*self._checkpoints.errors):  # it is only larger then
            self._checkpoints.keep_latest(run_id)

    def delete_progress(self, run_id: str) -> None:
        with contextlib.suppress(*self._checkpoints.errors):  # the next start deletes what is left
            self._checkpoints.saver().delete_thread(run_id)

    def close(self) -> None:
        self._checkpoints.close()

    @contextmanager
    def _translate_checkpoint_errors(self) -> Iterator[None]:
        try:
            yield
        except self._checkpoints.errors as error:
            raise self._checkpoints.explain(error) from None


class _StepLog:
    """Records steps in the ledger, and returns the events to show."""

    def __init__(self, ledger: Ledger, context: RunContext, recorded: Iterable[Step]) -> None:
        self._ledger = ledger
        self._context = context
        self._recorded = {_identity(step) for step in recorded}

    def event(self, value: str | Piece | BaseStep) -> RunEvent:
        """The event of what a node wrote to the stream: its name, a piece of a draft, or the step if it fails."""
        run_id = self._context.run.run_id
        if isinstance(value, Piece):
            name = "generate_answer"
            return RunEvent(kind="draft", run_id=run_id, name=name, text=value.text, begins=value.begins)
        if isinstance(value, BaseStep):
            return self._record([cast(Step, value)], self._context.limits.budget.take_calls())[0]
        return RunEvent(kind="started", run_id=run_id, name=value)

    def record_new(self, steps: Iterable[Step], calls: Iterable[dict[str, Any]]) -> list[RunEvent]:
        """Record the steps and model calls of a checkpoint, unless they are recorded: together or not at all."""
        new = [step for step in steps if _identity(step) not in self._recorded]
        return self._record(new, [ModelCall.model_validate(call) for call in calls]) if new else []

    def _record(self, steps: list[Step], calls: list[ModelCall]) -> list[RunEvent]:
        run_id, token, limits = self._context.run.run_id, self._context.token, self._context.limits
        budget = limits.budget
        self._ledger.record(
            run_id,
            *steps,
            token=token,
            usage=budget.spent,
            seconds=limits.seconds,
            usage_by_role=budget.by_role,
            model_calls=calls,
        )
        self._recorded.update(map(_identity, steps))
        return [RunEvent(kind="finished", run_id=run_id, name=step.name, step=step) for step in steps]


def _identity(step: Step) -> tuple[str, datetime]:
    """Unique in a run, except among searches that start together, and those are recorded together."""
    return step.name, step.started


@contextmanager
def isolated(stream: Iterator[T], span: telemetry.Span | None = None, langsmith: bool = False) -> Iterator[Iterator[T]]:
    """Iterate over a generator in a `contextvars` context of its own: the caller's tracing is unchanged between two
    items. Spans that it starts are children of `span`.
    """
    context = contextvars.copy_context()
    context.run(langsmith_tracing(langsmith).__enter__)
    if span:
        context.run(telemetry.attach, span.context)
    try:
        # iter(callable, sentinel) instead of a generator: one frame less on every stack.
        yield iter(partial(context.run, next, stream, EXHAUSTED), EXHAUSTED)  # type: ignore[arg-type]
    finally:
        context.run(stream.close)  # type: ignore[attr-defined]


def _interruptible(events: Iterator[T], stop: Stop) -> Iterator[T]:
    """Only while the graph runs: between two events the signals are the caller's."""

    def advance() -> Any:
        with stopping_on_interrupt(stop):
            return next(events, EXHAUSTED)

    return iter(advance, EXHAUSTED)


@contextmanager
def _stopping_step(stop: Stop) -> Iterator[None]:
    """Stop the step under way if the block is left early: closing the graph waits for it."""
    try:
        yield
    except BaseException:
        stop.set()
        raise


@contextmanager
def _translate_stop(run_id: str, is_stopping: threading.Event) -> Iterator[None]:
    try:
        yield
    except Stopped:
        pass  # raised below, without this one as the context
    else:
        return
    if is_stopping.is_set():
        raise ShutdownError("Shutting down: the run resumes on the next start.")
    raise LostLeaseError(f'The run "{run_id}" was stopped.')


def langsmith_tracing(is_allowed: bool) -> AbstractContextManager[None]:
    """Unless it is allowed, no run is traced, whatever LangSmith's variables say: a trace holds questions and
    documents."""
    return nullcontext() if is_allowed else tracing_context(enabled=False)


@contextmanager
def _end_span(span: telemetry.Span) -> Iterator[None]:
    """End a span that is never the current one, because other code runs between two steps."""
    try:
        yield
    except (GeneratorExit, ShutdownError):  # the caller stopped iterating, or the program is shutting down
        span.set(telemetry.RUN_OUTCOME, "left")
        span.end()
        raise
    except BaseException as error:
        span.end(error)
        raise
    span.end()


def _thread(run_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": run_id}}
