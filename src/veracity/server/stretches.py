"""The events of runs: of a stretch that this process works on, and of what the ledger holds.

Each carries how many steps were done, so that a stream can be resumed by any process. Knows nothing about who works and
who follows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from veracity.errors import VeracityError
from veracity.models import RunProgress

LAST = ("answer", "failed")


@dataclass(frozen=True, slots=True)
class LiveEvent:
    id: str
    data: dict[str, Any]


class Stretch:
    """One stretch of a run in this process, and all that happened in it. Written by one thread, read by the loop."""

    def __init__(self, run_id: str, steps: int, cause: str, loop: asyncio.AbstractEventLoop) -> None:
        """`steps` were done before. `cause` is the approval whose decision led to it, if one did."""
        self.run_id = run_id
        self.cause = cause
        self.base = steps
        self.events: list[LiveEvent] = []
        self.is_over = False
        self.problem: VeracityError | None = None
        self._steps = steps
        self._stamp = 0
        self._loop = loop
        self._changed = asyncio.Event()

    def publish(self, kind: str, **data: Any) -> None:
        self._steps += kind == "finished"
        self._stamp = max(self._stamp + 1, time.time_ns() // 1000)
        self.events.append(LiveEvent(f"{self._steps}.{self._stamp}", {"kind": kind, "run_id": self.run_id, **data}))
        self._tell()

    def end(self) -> None:
        self.is_over = True
        self._tell()

    async def following(self, after: tuple[int, int]) -> AsyncIterator[LiveEvent]:
        position = 0
        while True:
            while position < len(self.events):
                event = self.events[position]
                position += 1
                if place_of(event.id) > after:
                    yield event
            if self.is_over:
                if position == len(self.events):
                    return
                continue
            await self._changed.wait()

    def _tell(self) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody follows any more
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        woken, self._changed = self._changed, asyncio.Event()
        woken.set()


def place_of(event_id: str) -> tuple[int, int]:
    """Where an event stands in its run. What is no id of ours is the beginning."""
    steps, _, stamp = event_id.partition(".")
    try:
        return max(0, int(steps[:12])), int(stamp[:20] or 0)
    except ValueError:
        return 0, 0


def recorded(progress: RunProgress, after: int, until: int | None = None) -> Iterator[LiveEvent]:
    """The events that the ledger holds, up to step number `until`; without one, the last event too."""
    run_id = progress.run.run_id
    steps = progress.steps if until is None else progress.steps[: until - after]
    for number, step in enumerate(steps, after + 1):
        data = {"kind": "finished", "run_id": run_id, "name": step.name, "step": step.model_dump(mode="json")}
        yield LiveEvent(f"{number}.0", data)
    last = f"{after + len(steps)}.{time.time_ns() // 1000}"
    if until is not None:
        return
    if progress.answer:
        yield LiveEvent(last, {"kind": "answer", "run_id": run_id, "answer": progress.answer.model_dump(mode="json")})
    elif progress.run.status == "failed":
        yield LiveEvent(last, {"kind": "failed", "run_id": run_id, "problem": progress.run.problem})
