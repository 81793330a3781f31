"""The events of runs: of a stretch that this process works on, and of what the ledger holds.

An event's id tells how many steps were done, and when it happened. That of a step that has ended is the same whoever
tells of it, so a stream can be resumed by any process. Knows nothing about who works and who follows.
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
from veracity.models import RunProgress, RunStanding, Step

LAST = ("answer", "failed")


@dataclass(frozen=True, slots=True)
class LiveEvent:
    id: str
    data: dict[str, Any]


class Place(NamedTuple):
    """Where an event stands in its run: after so many steps, at that moment (in microseconds; 0: not known)."""

    steps: int = 0
    moment: int = 0

    def __str__(self) -> str:
        return f"{self.steps}.{self.moment}"


def place_of(event_id: str) -> Place:
    """What is no id of ours is the beginning."""
    steps, _, moment = event_id.partition(".")
    try:
        return Place(max(0, int(steps[:12])), max(0, int(moment[:20] or 0)))
    except ValueError:
        return Place()


def ended_at(step: Step) -> int:
    return int((step.started.timestamp() + step.seconds) * 1_000_000)


class Stretch:
    """One stretch of a run in this process, and all that happened in it. Written by one thread, read by the loop."""

    def __init__(self, run_id: str, loop: asyncio.AbstractEventLoop, cause: str = "", asker: str = "") -> None:
        """`cause` is the approval whose decision led to it, if one did; `asker` has just asked, if somebody has."""
        self.run_id = run_id
        self.cause = cause
        self.asker = asker
        self.ahead = -1  # how many come before it in the queue, as was told last
        self.base = 0  # steps that were done before
        self.events: list[LiveEvent] = []
        self.is_over = False
        self.problem: VeracityError | None = None
        self._steps = 0
        self._moment = 0
        self._loop = loop
        self._changed = asyncio.Event()

    def begin(self, steps: Sequence[Step]) -> None:
        """These were done before; nothing was told yet. What follows is later, even by a clock that was put back."""
        self.base = self._steps = len(steps)
        self._moment = max(map(ended_at, steps), default=0)

    def publish(self, kind: str, **data: Any) -> None:
        self._moment = max(self._moment + 1, time.time_ns() // 1000)
        self._add(Place(self._steps, self._moment), kind, data)

    def publish_step(self, step: Step) -> None:
        self._steps += 1
        self._moment = max(self._moment, ended_at(step))
        data = {"name": step.name, "step": step.model_dump(mode="json")}
        self._add(Place(self._steps, ended_at(step)), "finished", data)

    def end(self) -> None:
        self.is_over = True
        self._tell()

    async def following(self, after: Place) -> AsyncIterator[LiveEvent]:
        position = self._first_after(after)
        while True:
            while position < len(self.events):
                yield self.events[position]
                position += 1
            if self.is_over and position == len(self.events):
                return
            if not self.is_over:
                await self._changed.wait()

    def _first_after(self, after: Place) -> int:
        """By the event itself where it is one of these; else by steps and by time."""
        known = next((at for at, event in enumerate(self.events) if event.id == str(after)), None)
        if known is not None:
            return known + 1
        places = [place_of(event.id) for event in self.events]
        later = (at for at, one in enumerate(places) if one.steps > after.steps or one.moment > after.moment)
        return next(later, len(places))

    def _add(self, place: Place, kind: str, data: dict[str, Any]) -> None:
        self.events.append(LiveEvent(str(place), {"kind": kind, "run_id": self.run_id, **data}))
        self._tell()

    def _tell(self) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nobody follows any more
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        woken, self._changed = self._changed, asyncio.Event()
        woken.set()


def steps_seen(steps: Sequence[Step], after: Place) -> int:
    """How many of these a reader has seen who comes from there. After a crash the ledger may hold fewer than were
    told, and others in their place: then time decides."""
    counted = min(after.steps, len(steps))
    if not after.moment or counted == 0 or (counted == after.steps and ended_at(steps[counted - 1]) <= after.moment):
        return counted
    return sum(ended_at(step) <= after.moment for step in steps)


def recorded(progress: RunProgress, after: Place, until: int | None = None) -> Iterator[LiveEvent]:
    """The events that the ledger holds, up to step number `until`; without one, the last event too."""
    run_id, seen = progress.run.run_id, steps_seen(progress.steps, after)
    for number, step in enumerate(progress.steps[seen:until], seen + 1):
        data = {"kind": "finished", "run_id": run_id, "name": step.name, "step": step.model_dump(mode="json")}
        yield LiveEvent(str(Place(number, ended_at(step))), data)
    if until is not None:
        return
    last = str(Place(len(progress.steps), time.time_ns() // 1000))
    if progress.answer:
        yield LiveEvent(last, {"kind": "answer", "run_id": run_id, "answer": progress.answer.model_dump(mode="json")})
    elif progress.run.status == "failed":
        yield LiveEvent(last, {"kind": "failed", "run_id": run_id, "problem": progress.run.problem})


LOOK = 0.5  # seconds between two looks at a run that another process is at
THREADS = 2  # for looking, which nothing else takes: looks are short, and who follows waits for no search


class Following:
    """Until `stopping` is set. `stretches` are those of this process, by run."""

    def __init__(self, engine: Veracity, stretches: Mapping[str, Stretch], stopping: threading.Event) -> None:
        self._engine = engine
        self._stretches = stretches
        self._stopping = stopping
        self._threads = CapacityLimiter(THREADS)

    async def events(self, run_id: str, after: Place) -> AsyncIterator[LiveEvent]:
        known: RunStanding | None = None
        while True:
            stretch = self._stretches.get(run_id)
            events: AsyncIterator[LiveEvent] | None = None
            if stretch and await self._tells_more(stretch, after):
                events = self._with_earlier(stretch, after)
            elif (standing := await self.standing(run_id)) != known:
                known, events = standing, self._in_ledger(run_id, after)
            if events:
                async for event in events:
                    after = place_of(event.id)
                    yield event
                    if event.data["kind"] in LAST:
                        return
            if self._stopping.is_set():
                return
            await asyncio.sleep(LOOK)

    async def standing(self, run_id: str) -> RunStanding:
        return await run_sync(self._engine.standing, run_id, limiter=self._threads)

    async def _progress(self, run_id: str) -> RunProgress:
        return await run_sync(self._engine.progress, run_id, limiter=self._threads)

    async def _tells_more(self, stretch: Stretch, after: Place) -> bool:
        """Than the ledger does. One in which nothing happened yet does not: another process may be at the run; nor one
        that has said its last word, if the run was decided on, forgotten or went on elsewhere since."""
        if not stretch.events:
            return False
        last = stretch.events[-1]
        if last.data["kind"] not in LAST:
            return not stretch.is_over
        if place_of(last.id).moment <= after.moment:
            return False
        standing = await self.standing(stretch.run_id)
        status = last.data["answer"]["status"] if last.data["kind"] == "answer" else "failed"
        has_gone_on = standing.status != status or standing.steps > place_of(last.id).steps
        return not has_gone_on and not standing.forgotten

    async def _with_earlier(self, stretch: Stretch, after: Place) -> AsyncIterator[LiveEvent]:
        if stretch.base:
            for event in recorded(await self._progress(stretch.run_id), after, stretch.base):
                after = place_of(event.id)
                yield event
        async for event in stretch.following(after):
            yield event

    async def _in_ledger(self, run_id: str, after: Place) -> AsyncIterator[LiveEvent]:
        for event in recorded(await self._progress(run_id), after):
            yield event
