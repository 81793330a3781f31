"""A job in its own process: ask, decide, recover, or settle all pending approvals.

Logs what the engine returned, line by line and unbuffered, so that the log survives a kill.
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

from benchmarks.campaigns import scenario
from benchmarks.campaigns.boundaries import Boundaries
from veracity.engine import Veracity
from veracity.errors import DecidedError, InputError, VeracityError
from veracity.models import RunEvent, Verdict

JobKind = Literal["ask", "decide", "recover", "settle"]
Log = Callable[..., None]

SEND_BACKS = 3


@dataclass(frozen=True)
class Job:
    """The process kills itself when it reaches the boundary `die_at` for the `nth` time; never if it is empty."""

    kind: JobKind
    root: str
    log: str
    die_at: str = ""
    nth: int = 1
    ticket: int = 0
    conversation: str = ""
    approval_id: str = ""
    verdict: Verdict = "approve"
    edit: str | None = None
    reason: str = ""
    hold: float = 0.0  # seconds until the decision takes effect
    expires: float = 0.0  # seconds until the drafts that the job leaves expire
    webhook: str = ""
    by: str = ""


def run(options: dict[str, Any]) -> None:
    job = Job(**options)
    started = time.monotonic()
    with open_log(job.log) as log:
        boundaries = Boundaries(job.die_at, job.nth, lambda name: log("at", name, time.monotonic()))
        boundaries.install()
        with _open_engine(job) as engine, log_errors(log):
            _JOBS[job.kind](job, engine, log, boundaries)
        log("took", time.monotonic() - started)


def _open_engine(job: Job) -> Veracity:
    approval = {"expires": job.expires / 3600, "send_backs": SEND_BACKS}
    return scenario.open_engine(Path(job.root), approval=approval, notify={"webhook_url": job.webhook})


@contextmanager
def open_log(path: str) -> Iterator[Log]:
    """Yields a function that appends a line. Warnings of the engine are logged too; "done" is the last line."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def log(*values: Any) -> None:
        os.write(file, json.dumps(values).encode() + b"\n")

    logger = logging.getLogger("veracity")
    logger.propagate = False
    logger.addHandler(_LogHandler(log))
    log("started")
    try:
        yield log
    except BaseException:  # noqa: BLE001 - the campaign reads it as a violation
        log("error", "crash", traceback.format_exc())
    log("done")


@contextmanager
def log_errors(log: Log) -> Iterator[None]:
    """Logs errors of the engine. A decision that came too late is not an error, nor is one that is not possible."""
    try:
        yield
    except (DecidedError, InputError) as error:
        log("refused", str(error))
    except VeracityError as error:
        log("error", type(error).__name__, str(error))


class _LogHandler(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log("logged", record.getMessage())


def _ask(job: Job, engine: Veracity, log: Log, boundaries: Boundaries) -> None:
    log("asks", job.ticket)
    _follow(engine.stream(scenario.question(job.ticket), conversation=job.conversation), log, boundaries)


def decide(job: Job, engine: Veracity, log: Log, boundaries: Boundaries) -> None:
    log("tries", job.approval_id, job.by, job.verdict, job.edit)
    decision: dict[str, Any] = {"by": job.by, "edit": job.edit, "reason": job.reason, "key": f"key of {job.by}"}
    if job.hold:
        engine.inbox.hold(job.approval_id, job.verdict, seconds=job.hold, **decision)
        log("decided", job.approval_id, job.by, job.verdict, job.edit)
        return
    events = engine.stream_decision(job.approval_id, job.verdict, **decision)
    log("decided", job.approval_id, job.by, job.verdict, job.edit)
    _follow(events, log, boundaries)


def _recover(job: Job, engine: Veracity, log: Log, boundaries: Boundaries) -> None:
    started = time.monotonic()
    answers = engine.recover()
    for answer in answers:
        log("answer", answer.run_id, answer.status, answer.text, answer.approval_id)
    log("recovered", len(answers), time.monotonic() - started)


def _settle(job: Job, engine: Veracity, log: Log, boundaries: Boundaries) -> None:
    """Decides until nothing is pending, every third time with a rejection."""
    count = 0
    while pending := engine.approvals(limit=100):
        for approval in pending:
            count += 1
            verdict: Verdict = "approve" if count % 3 else "reject"
            decision = replace(job, approval_id=approval.approval_id, verdict=verdict, by=f"{job.by}-{count}")
            decide(decision, engine, log, boundaries)


def _follow(events: Iterable[RunEvent], log: Log, boundaries: Boundaries) -> None:
    is_first = True
    for event in events:
        if is_first:
            log("begun", event.run_id)
        is_first = False
        if event.step is not None:
            log("shown", event.run_id, event.name, event.step.started.isoformat())
        if event.answer is not None:
            answer = event.answer
            log("answer", event.run_id, answer.status, answer.text, answer.approval_id)
        boundaries.reach(" ".join(("event", event.kind, event.name)).strip())


_JOBS = {"ask": _ask, "decide": decide, "recover": _recover, "settle": _settle}
