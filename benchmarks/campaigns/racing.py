"""What the processes of a race do: one asks, until enough drafts wait, and two decide on each at the same moment."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.campaigns import stage
from benchmarks.campaigns.boundaries import Boundaries
from benchmarks.campaigns.worker import Job, decide, noting, told

SIDES = ("left", "right")
JITTER = 0.001  # seconds
VERDICTS: tuple[dict[str, Any], ...] = (
    {"verdict": "approve"},
    {"verdict": "reject"},
    {"verdict": "approve", "edit": "It seats eleven. [1]"},
)


def prepare(given: dict[str, Any]) -> None:
    """Ask, until enough drafts wait."""
    with noting(given["log"]) as note, stage.open_engine(Path(given["root"])) as engine:
        for ticket in given["tickets"]:
            note("asks", ticket)
            answer = engine.ask(stage.question(ticket))
            note("begun", answer.run_id)
            note("answer", answer.run_id, answer.status, answer.text, answer.approval_id)


def race(given: dict[str, Any]) -> None:
    """One side of all races."""
    side, chance = given["side"], random.Random(f"{given['seed']}/{given['side']}")
    with noting(given["log"]) as note, stage.open_engine(Path(given["root"])) as engine:
        engine.approvals(limit=1)
        meet = _meeting(Path(given["meeting"]), side)
        for number, approval_id in enumerate(given["approvals"]):
            chosen = VERDICTS[(number + SIDES.index(side) * (1 + number // 3 % 2)) % len(VERDICTS)]
            job = Job("decide", given["root"], given["log"], approval_id=approval_id, by=f"{side}-{number}", **chosen)
            meet()
            time.sleep(chance.uniform(0.0, JITTER))
            note("off", number, time.monotonic())
            with told(note):
                decide(job, engine, note, Boundaries("", 0, lambda _: None))


def _meeting(folder: Path, side: str) -> Callable[[], None]:
    """Both open the two pipes in the same order, or each would wait for the other."""
    flags = {name: os.O_WRONLY if name == side else os.O_RDONLY for name in SIDES}
    mine, other = (os.open(folder / name, flags[name]) for name in SIDES)
    if side != SIDES[0]:
        mine, other = other, mine

    def meet() -> None:
        os.write(mine, b".")
        if not os.read(other, 1):
            raise AssertionError("the other side is gone")

    return meet
