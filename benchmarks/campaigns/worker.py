"""One job in a process of its own: to ask, to decide, to recover, or to settle all that waits.

Writes down what the engine told it, line by line and at once, so that it is known after a kill. Judges nothing.
"""

from __future__ import annotations

import json
import logging
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from benchmarks.campaigns import stage
from benchmarks.campaigns.boundaries import Boundaries
from veracity.engine import Veracity
from veracity.errors import DecidedError, VeracityError
from veracity.models import RunEvent, Verdict

JobKind = Literal["ask", "decide", "recover", "settle"]
Note = Callable[..., None]


@dataclass(frozen=True)
class Job:
    """The process kills itself when it reaches the boundary `die_at` for the `time`-th time; without one it lives."""

    kind: JobKind
    root: str
    log: str
    die_at: str = ""
    time: int = 1
    ticket: int = 0
    conversation: str = ""
    approval_id: str = ""
    verdict: Verdict = "approve"
    edit: str | None = None
    by: str = ""


def do(given: dict[str, Any]) -> None:
    job = Job(**given)
    began = time.monotonic()
    with noting(job.log) as note:
        boundaries = Boundaries(job.die_at, job.time, lambda name: note("at", name, time.monotonic()))
        boundaries.watch()
        with stage.open_engine(Path(job.root)) as engine, told(note):
            _JOBS[job.kind](job, engine, note, boundaries)
        note("took", time.monotonic() - began)


@contextmanager
def noting(log: str) -> Iterator[Note]:
    """What is noted is in the file at once, and so is what the engine logs; "done" is the last of it."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(*facts: Any) -> None:
        os.write(file, json.dumps(facts).encode() + b"\n")

    logger = logging.getLogger("veracity")
    logger.propagate = False
    logger.addHandler(_Noted(note))
    note("started")
    try:
        yield note
    except BaseException:  # noqa: BLE001 - whoever drives is told, and calls it a violation
        note("error", "crash", traceback.format_exc())
    note("done")


@contextmanager
def told(note: Note) -> Iterator[None]:
    """An error of the engine is told, and a decision that came too late is none."""
    try:
        yield
    except DecidedError as problem:
        note("refused", str(problem))
    except VeracityError as problem:
        note("error", type(problem).__name__, str(problem))


class _Noted(logging.Handler):
    def __init__(self, note: Note) -> None:
        super().__init__(logging.WARNING)
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        self._note("logged", record.getMessage())


def _ask(job: Job, engine: Veracity, note: Note, boundaries: Boundaries) -> None:
    note("asks", job.ticket)
    _follow(engine.stream(stage.question(job.ticket), conversation=job.conversation), note, boundaries)


def decide(job: Job, engine: Veracity, note: Note, boundaries: Boundaries) -> None:
    note("tries", job.approval_id, job.by, job.verdict, job.edit)
    events = engine.stream_decision(job.approval_id, job.verdict, by=job.by, edit=job.edit, key=f"key of {job.by}")
    note("decided", job.approval_id, job.by, job.verdict, job.edit)
    _follow(events, note, boundaries)


def _recover(job: Job, engine: Veracity, note: Note, boundaries: Boundaries) -> None:
    began = time.monotonic()
    answers = engine.recover()
    for answer in answers:
        note("answer", answer.run_id, answer.status, answer.text, answer.approval_id)
    note("recovered", len(answers), time.monotonic() - began)


def _settle(job: Job, engine: Veracity, note: Note, boundaries: Boundaries) -> None:
    """By turns, until nothing waits any more."""
    count = 0
    while pending := engine.approvals(limit=100):
        for approval in pending:
            count += 1
            verdict: Verdict = "approve" if count % 3 else "reject"
            by = f"{job.by}-{count}"
            one = replace(job, approval_id=approval.approval_id, verdict=verdict, by=by)
            decide(one, engine, note, boundaries)


def _follow(events: Iterable[RunEvent], note: Note, boundaries: Boundaries) -> None:
    is_first = True
    for event in events:
        if is_first:
            note("begun", event.run_id)
        is_first = False
        if event.answer is not None:
            answer = event.answer
            note("answer", event.run_id, answer.status, answer.text, answer.approval_id)
        boundaries.reach(" ".join(("event", event.kind, event.name)).strip())


_JOBS = {"ask": _ask, "decide": decide, "recover": _recover, "settle": _settle}
