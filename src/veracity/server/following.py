"""What happens in a run, for whoever follows it: from this process where it works on the run, else from the ledger."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from veracity.engine import Veracity
from veracity.models import RunProgress, RunStanding
from veracity.server.stretches import LAST, LiveEvent, Place, Stretch, place_of, recorded

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
