"""A run's events: live from this process's log, or read back from the ledger.

An event's id is the number of finished steps and a time. The id of a finished step is the same in every process, so
that any of them can resume a stream.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.models import LedgerChange, RunProgress, RunStanding, Step
from veracity.server.live.wakeups import Wakeups

FINAL_KINDS = ("answer", "failed")
POLL_SECONDS = 0.5  # of runs that another process drives
LEDGER_THREADS = 2  # reserved, so that following a run never waits for searches


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """`data` holds JSON values and models, such as a step or an answer."""

    id: str
    data: dict[str, Any]


class Position(NamedTuple):
    """An event's position in its run: the number of finished steps, and a time in microseconds (0 if unknown)."""

    steps: int = 0
    time: int = 0

    def __str__(self) -> str:
        return f"{self.steps}.{self.time}"


def parse_position(event_id: str) -> Position:
    """The start of the run for an invalid id."""
    steps, _, moment = event_id.partition(".")
    try:
        return Position(max(0, int(steps[:12])), max(0, int(moment[:20] or 0)))
    except ValueError:
        return Position()


def end_time(step: Step) -> int:
    return int((step.started.timestamp() + step.seconds) * 1_000_000)


class RunLog:
    """The events of one run while this process drives it. Written by one thread, read by the event loop."""

    def __init__(self, run_id: str, loop: asyncio.AbstractEventLoop, approval_id: str = "", asker: str = "") -> None:
        """`approval_id` is set if a decision resumed the run, `asker` if the run is new."""
        self.run_id = run_id
        self.approval_id = approval_id
        self.asker = asker
        self.ahead = -1  # the last published queue position
        self.first_step = 0  # number of steps that finished earlier
        self.events: list[LiveEvent] = []
        self.is_closed = False
        self.error: VeracityError | None = None
        self._position = Position()
        self._loop = loop
        self._changed = asyncio.Event()

    def skip(self, steps: Sequence[Step]) -> None:
        """Starts the log after these steps. Later events get later times, even if the clock was set back."""
        self.first_step = len(steps)
        self._position = Position(len(steps), max(map(end_time, steps), default=0))

    def publish(self, kind: str, **data: Any) -> None:
        self._position = Position(self._position.steps, max(self._position.time + 1, time.time_ns() // 1000))
        self._append(self._position, kind, data)

    def publish_step(self, step: Step) -> None:
        steps = self._position.steps + 1
        self._position = Position(steps, max(self._position.time, end_time(step)))
        self._append(Position(steps, end_time(step)), "finished", {"name": step.name, "step": step})

    def close(self) -> None:
        self.is_closed = True
        self._notify()

    async def follow(self, after: Position) -> AsyncIterator[LiveEvent]:
        index = self._first_after(after)
        while True:
            while index < len(self.events):
                yield self.events[index]
                index += 1
            if self.is_closed and index == len(self.events):
                return
            if not self.is_closed:
                await self._changed.wait()

    def _first_after(self, after: Position) -> int:
        """After the event with this id; if it is not in the log, by steps and time."""
        positions = [parse_position(event.id) for event in self.events]
        if after in positions:
            return positions.index(after) + 1
        later = (index for index, at in enumerate(positions) if at.steps > after.steps or at.time > after.time)
        return next(later, len(positions))

    def _append(self, position: Position, kind: str, data: dict[str, Any]) -> None:
        self.events.append(LiveEvent(str(position), {"kind": kind, "run_id": self.run_id, **data}))
        self._notify()

    def _notify(self) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def count_seen(steps: Sequence[Step], after: Position) -> int:
    """How many of the steps a reader at this position has seen. After a power failure the ledger may hold fewer or
    other steps than were published: then time decides."""
    count = min(after.steps, len(steps))
    if not after.time or count == 0 or (count == after.steps and end_time(steps[count - 1]) <= after.time):
        return count
    return sum(end_time(step) <= after.time for step in steps)


def recorded_events(progress: RunProgress, after: Position, until: int | None = None) -> Iterator[LiveEvent]:
    """The events in the ledger: up to step number `until`, or all with the final event."""
    run_id, seen = progress.run.run_id, count_seen(progress.steps, after)
    for number, step in enumerate(progress.steps[seen:until], seen + 1):
        data = {"kind": "finished", "run_id": run_id, "name": step.name, "step": step}
        yield LiveEvent(str(Position(number, end_time(step))), data)
    if until is not None:
        return
    last = str(Position(len(progress.steps), time.time_ns() // 1000))
    if progress.answer:
        yield LiveEvent(last, {"kind": "answer", "run_id": run_id, "answer": progress.answer})
    elif progress.run.status == "failed":
        yield LiveEvent(last, {"kind": "failed", "run_id": run_id, "problem": progress.run.problem})


class RunFollower:
    """Follows runs until `stopping` is set. `logs` are those of this process, by run."""

    def __init__(
        self, engine: Veracity, logs: Mapping[str, RunLog], stopping: threading.Event, wakeups: Wakeups
    ) -> None:
        self._engine = engine
        self._logs = logs
        self._stopping = stopping
        self._wakeups = wakeups
        self._threads = CapacityLimiter(LEDGER_THREADS)

    async def events(self, run_id: str, after: Position) -> AsyncIterator[LiveEvent]:
        """Events until the run ends or waits for approval: from the log if it has more than the ledger."""
        changed = asyncio.Event()
        with self._wakeups.setting(changed, LedgerChange(kind="run", run_id=run_id)):
            async for event in self._events(run_id, after, changed):
                yield event

    async def _events(self, run_id: str, after: Position, changed: asyncio.Event) -> AsyncIterator[LiveEvent]:
        last_standing: RunStanding | None = None
        while True:
            changed.clear()
            log = self._logs.get(run_id)
            events: AsyncIterator[LiveEvent] | None = None
            if log and await self._is_ahead_of_ledger(log, after):
                events = self._from_log(log, after)
            elif (standing := await self.standing(run_id)) != last_standing:
                last_standing, events = standing, self._from_ledger(run_id, after)
            if events:
                async for event in events:
                    after = parse_position(event.id)
                    yield event
                    if event.data["kind"] in FINAL_KINDS:
                        return
            if self._stopping.is_set():
                return
            # A log of this process gets its first event without a change of the ledger.
            is_driven_here = log is not None and not log.is_closed
            seconds = POLL_SECONDS if is_driven_here else self._wakeups.poll_seconds(POLL_SECONDS)
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), seconds)

    async def standing(self, run_id: str) -> RunStanding:
        return await run_sync(self._engine.standing, run_id, limiter=self._threads)

    async def _is_ahead_of_ledger(self, log: RunLog, after: Position) -> bool:
        """An empty log is not: another process may drive the run. Nor is a finished one if the run was resumed,
        decided on or forgotten since."""
        if not log.events:
            return False
        last = log.events[-1]
        if last.data["kind"] not in FINAL_KINDS:
            return not log.is_closed
        position = parse_position(last.id)
        if position.time <= after.time:
            return False
        standing = await self.standing(log.run_id)
        status = last.data["answer"].status if last.data["kind"] == "answer" else "failed"
        return standing.status == status and standing.steps <= position.steps and not standing.forgotten

    async def _from_log(self, log: RunLog, after: Position) -> AsyncIterator[LiveEvent]:
        if log.first_step:
            async for event in self._from_ledger(log.run_id, after, log.first_step):
                after = parse_position(event.id)
                yield event
        async for event in log.follow(after):
            yield event

    async def _from_ledger(self, run_id: str, after: Position, until: int | None = None) -> AsyncIterator[LiveEvent]:
        progress = await run_sync(self._engine.progress, run_id, limiter=self._threads)
        for event in recorded_events(progress, after, until):
            yield event
