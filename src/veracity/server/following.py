"""What happens in a run, for whoever follows it: from this process where it works on the run, else from the ledger."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping

from anyio.to_thread import run_sync

from veracity.engine import Veracity
from veracity.models import RunProgress
from veracity.server.stretches import LAST, LiveEvent, Stretch, place_of, recorded

LOOK = 0.5  # seconds between two looks at a run that another process is at


class Following:
    """Until `stopping` is set. `stretches` are those of this process, by run."""

    def __init__(self, engine: Veracity, stretches: Mapping[str, Stretch], stopping: threading.Event) -> None:
        self._engine = engine
        self._stretches = stretches
        self._stopping = stopping

    async def events(self, run_id: str, after: tuple[int, int]) -> AsyncIterator[LiveEvent]:
        """From this process where it knows them, else from the ledger."""
        while True:
            stretch = self._stretches.get(run_id)
            if stretch and await self._is_current(stretch, after):
                events = self._with_earlier(stretch, after)
            else:
                events = self._in_ledger(run_id, after)
            async for event in events:
                after = place_of(event.id)
                yield event
                if event.data["kind"] in LAST:
                    return
            if self._stopping.is_set():
                return
            await asyncio.sleep(LOOK)

    async def _is_current(self, stretch: Stretch, after: tuple[int, int]) -> bool:
        """Whether it tells more than the ledger: of one that is over, another process may have gone on with the run."""
        if not stretch.is_over:
            return True
        last = stretch.events[-1] if stretch.events else None
        if last is None or last.data["kind"] not in LAST or place_of(last.id) <= after:
            return False
        since = await self.progress(stretch.run_id, place_of(last.id)[0])
        return not since.steps

    async def _with_earlier(self, stretch: Stretch, after: tuple[int, int]) -> AsyncIterator[LiveEvent]:
        if stretch.base > after[0]:
            for event in recorded(await self.progress(stretch.run_id, after[0]), after[0], stretch.base):
                yield event
        async for event in stretch.following(after):
            yield event

    async def _in_ledger(self, run_id: str, after: tuple[int, int]) -> AsyncIterator[LiveEvent]:
        for event in recorded(await self.progress(run_id, after[0]), after[0]):
            yield event

    async def progress(self, run_id: str, after: int = 0) -> RunProgress:
        return await run_sync(lambda: self._engine.progress(run_id, after=after))
