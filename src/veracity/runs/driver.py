"""Lets the graph take its steps, tells of them, and hands over the state in which it ends or waits for a person."""

from __future__ import annotations

import contextvars
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from filelock import FileLock
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langsmith.run_helpers import tracing_context

from veracity import telemetry
from veracity import telemetry as telemetry_module
from veracity.deadlines import Deadline
from veracity.errors import LedgerError, LeftError
from veracity.graph.build import build_graph
from veracity.graph.context import Limits, Parts
from veracity.graph.state import RunState
from veracity.ledger import Ledger
from veracity.ledger.database import explained
from veracity.ledger.forget import FILE, PATIENCE, REMEDY
from veracity.llm import Budget, Piece
from veracity.models import RunEvent, RunParameters, Step
from veracity.settings import BudgetSettings, Settings

T = TypeVar("T")


def untraced(begin: Callable[[], Iterator[T]], span: telemetry.Span | None = None) -> Iterator[T]:
    """What the iterator yields. It runs in a context of its own, so that the tracing of whoever asks is left alone.
    What is traced of it, which holds no text, belongs to the span, where there is one."""
    context = contextvars.copy_context()
    context.run(tracing_context(enabled=False).__enter__)
    if span:
        context.run(telemetry.stay, span.here)
    steps = context.run(begin)
    nothing = object()
    try:
        while (told := context.run(next, steps, nothing)) is not nothing:
            yield told  # type: ignore[misc]
    finally:
        if close := getattr(steps, "close", None):
            context.run(close)


def open_checkpoints(folder: Path) -> SqliteSaver:
    """Strict: nothing but plain values and messages comes back, whatever a manipulated file may hold."""
    path = folder / FILE
    with explained(path, REMEDY):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".checkpoints.lock", timeout=PATIENCE):  # switching to WAL is not safe for two at once
            connection = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
                connection.execute(f"PRAGMA {pragma}")
            saver = SqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
            saver.setup()
    return saver


def threads(saver: SqliteSaver) -> list[str]:
    """The runs that progress is kept of."""
    with explained(Path(FILE), REMEDY), saver.cursor(transaction=False) as cursor:
        return [run_id for (run_id,) in cursor.execute("SELECT DISTINCT thread_id FROM checkpoints").fetchall()]


log = logging.getLogger("veracity")

# Before these, what was done is written down, unless that was done just now.
SLOW = frozenset(("rewrite_query", "generate_answer", "eval_answer", "evaluate", "web_search", "human_approval"))
JUST_NOW = 0.25  # seconds
COSTLY = 0.1  # seconds; what such a step did, and used, is written down at once
WAITS = "__interrupt__"


class Drive:
    """One stretch of a run in this process: what it may take, and what it took. Time in which a person decides lies
    between two stretches, and does not count."""

    def __init__(
        self,
        run: RunParameters,
        token: int,
        ceiling: BudgetSettings,
        is_leaving: threading.Event | None = None,
        drafts: bool = False,
    ) -> None:
        """Who sets `is_leaving` lets it end after the step it is at. `drafts`: somebody reads them as they come."""
        self.run = run
        self.token = token
        self.is_leaving = is_leaving or threading.Event()
        self.drafts = drafts
        self.budget = Budget(ceiling.tokens, ceiling.cost_usd, run.usage)
        self.deadline = Deadline.within(max(0.0, run.deadline - run.seconds))
        self._begun = time.monotonic()

    @property
    def seconds(self) -> float:
        """Of active time, earlier stretches included."""
        return self.run.seconds + time.monotonic() - self._begun


@dataclass(frozen=True, slots=True)
class Ended:
    """`waits` says why a person is asked, and what a rejection leads to; empty where the run is done."""

    state: RunState
    waits: dict[str, str]


class Driver:
    def __init__(
        self, checkpoints: SqliteSaver, make_parts: Callable[[Limits], Parts], settings: Settings, ledger: Ledger
    ) -> None:
        self._graph = build_graph(checkpoints)
        self._checkpoints = checkpoints
        self._make_parts = make_parts
        self._settings = settings
        self._ledger = ledger

    def has_progress(self, run_id: str) -> bool:
        """What cannot be read any more is none."""
        try:
            with _told_as_ours():
                return self._checkpoints.get_tuple(_thread(run_id)) is not None
        except LedgerError:
            raise
        except Exception as problem:  # noqa: BLE001 - whatever damaged bytes are made of
            log.warning("The progress of run %s cannot be read (%s): it is left.", run_id, type(problem).__name__)
            self._checkpoints.delete_thread(run_id)
            return False

    def steps(self, drive: Drive, start: RunState | None) -> Generator[RunEvent, None, Ended]:
        """Yields what the nodes tell. Without a `start`, goes on where the run was left."""
        run_id, settings = drive.run.run_id, self._settings
        parts = self._make_parts(Limits(drive.deadline, settings.quality.loop_deadline, drive.budget, drive.drafts))
        # LangGraph counts steps to end what goes in circles; ours end by themselves.
        most = 40 + 6 * (drive.run.max_rewrites + 1) + 6 * (settings.answering.gener_epoch + 1)
        config: RunnableConfig = {**_thread(run_id), "recursion_limit": most}
        span = telemetry.run(run_id, drive.token)
        told = untraced(
            lambda: self._graph.stream(
                start, config, context=parts, durability="sync", stream_mode=["custom", "values"]
            ),
            span,
        )
        state: Any = start
        notes = _Notes(self._ledger, drive)
        try:
            with _told_as_ours(), _ending(span):
                for mode, what in told:
                    if mode == "values":
                        state = what
                        if drive.is_leaving.is_set():  # what was done so far is kept
                            raise LeftError("The program is ending: the question is taken up again when it runs.")
                    elif isinstance(what, Piece):
                        yield RunEvent(
                            kind="draft", run_id=run_id, name="generate_answer", text=what.text, begins=what.begins
                        )
                    elif isinstance(what, Step):
                        notes.add(what)
                        if what.seconds > COSTLY:
                            notes.write_down(at_once=True)
                        yield RunEvent(kind="finished", run_id=run_id, name=what.name, step=what)
                    else:
                        if what in SLOW:
                            notes.write_down()
                        yield RunEvent(kind="started", run_id=run_id, name=str(what))
                span.tell(telemetry_module.RUN_OUTCOME, "waits" if state.get(WAITS) else "ended")
        finally:
            notes.write_down(at_once=True)
        waits = state.pop(WAITS, ())
        return Ended(cast(RunState, state), waits[0].value if waits else {})


class _Notes:
    """Steps on their way into the ledger."""

    def __init__(self, ledger: Ledger, drive: Drive) -> None:
        self._ledger = ledger
        self._drive = drive
        self._steps: list[Step] = []
        self._written = -JUST_NOW  # so that the first slow step finds those before it written down

    def add(self, step: Step) -> None:
        self._steps.append(step)

    def write_down(self, *, at_once: bool = False) -> None:
        if not self._steps or not (at_once or time.monotonic() - self._written > JUST_NOW):
            return
        drive = self._drive
        spent, seconds = drive.budget.spent, drive.seconds
        self._ledger.record(drive.run.run_id, *self._steps, token=drive.token, usage=spent, seconds=seconds)
        self._steps.clear()
        self._written = time.monotonic()


@contextmanager
def _ending(span: telemetry.Span) -> Iterator[None]:
    """Between two of its steps others do other things, so it is nobody's current one, and is ended by hand."""
    try:
        yield
    except (GeneratorExit, LeftError):  # whoever watched has gone, or the program ends
        span.tell(telemetry_module.RUN_OUTCOME, "left")
        span.end()
        raise
    except BaseException as problem:
        span.end(problem)
        raise
    span.end()


@contextmanager
def _told_as_ours() -> Iterator[None]:
    """What the checkpoints complain about, as one sentence."""
    try:
        yield
    except sqlite3.Error as problem:
        raise LedgerError(f"The progress of the run cannot be kept ({problem}): ask again.") from None


def _thread(run_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": run_id}}
