"""Tasks of the race processes: one asks until enough drafts are pending, two decide on each draft concurrently."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.campaigns import scenario
from benchmarks.campaigns.boundaries import Boundaries
from benchmarks.campaigns.worker import Job, decide, log_errors, open_log
from veracity.engine import Veracity

SIDES = ("left", "right")
JITTER_SECONDS = 0.001
VERDICTS: tuple[dict[str, Any], ...] = (
    {"verdict": "approve"},
    {"verdict": "reject"},
    {"verdict": "approve", "edit": "It seats eleven. [1]"},
)


def prepare(options: dict[str, Any]) -> None:
    """Asks a question for each ticket."""
    with open_log(options["log"]) as log, _open_engine(options) as engine:
        for ticket in options["tickets"]:
            log("asks", ticket)
            answer = engine.ask(scenario.question(ticket))
            log("begun", answer.run_id)
            log("answer", answer.run_id, answer.status, answer.text, answer.approval_id)


def race(options: dict[str, Any]) -> None:
    """One side of all races."""
    side, generator = options["side"], random.Random(f"{options['seed']}/{options['side']}")
    with open_log(options["log"]) as log, _open_engine(options) as engine:
        engine.approvals(limit=1)
        synchronize = _make_barrier(Path(options["meeting"]), side)
        for number, approval_id in enumerate(options["approvals"]):
            decision = VERDICTS[(number + SIDES.index(side) * (1 + number // 3 % 2)) % len(VERDICTS)]
            job = Job(
                "decide", options["root"], options["log"], approval_id=approval_id, by=f"{side}-{number}", **decision
            )
            synchronize()
            time.sleep(generator.uniform(0.0, JITTER_SECONDS))
            log("off", number, time.monotonic())
            with log_errors(log):
                decide(job, engine, log, Boundaries("", 0, lambda _: None))


def _open_engine(options: dict[str, Any]) -> Veracity:
    return scenario.open_engine(Path(options["root"]), store={"ledger": options["url"]})


def _make_barrier(folder: Path, side: str) -> Callable[[], None]:
    """A barrier for two processes. Both open the two pipes in the same order to avoid a deadlock."""
    flags = {name: os.O_WRONLY if name == side else os.O_RDONLY for name in SIDES}
    mine, other = (os.open(folder / name, flags[name]) for name in SIDES)
    if side != SIDES[0]:
        mine, other = other, mine

    def synchronize() -> None:
        os.write(mine, b".")
        if not os.read(other, 1):
            raise AssertionError("the other process has ended")

    return synchronize
