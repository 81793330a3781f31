"""Wakes what waits here for changes by other processes: followers of runs, and the feed.

With a ledger in Postgres the processes tell each other of changes. Notifications can be lost, so everything that waits
also polls: rarely while they arrive, and often where there are none.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from anyio.to_thread import run_sync

from veracity.engine import Veracity
from veracity.models import LedgerChange

MAX_POLL_SECONDS = 5.0  # between polls, while notifications arrive
EVERYTHING = LedgerChange(kind="all")


class Wakeups:
    """Belongs to the running event loop. Without an engine, only this process wakes what waits here."""

    def __init__(self, engine: Veracity | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[LedgerChange, set[asyncio.Event]] = defaultdict(set)
        self._are_documents_announced = bool(engine and engine.settings.store.knowledge)  # not those in a folder
        self._listener = engine.membership.listen(self.wake) if engine else None

    @contextmanager
    def setting(self, event: asyncio.Event, *changes: LedgerChange) -> Iterator[None]:
        """Sets the event after each of these changes, until the context ends."""
        for change in changes:
            self._waiting[change].add(event)
        try:
            yield
        finally:
            for change in changes:
                self._waiting[change].discard(event)
                if not self._waiting[change]:
                    del self._waiting[change]

    def poll_seconds(self, seconds: float, *changes: LedgerChange) -> float:
        """How long to wait for these changes, if polling alone would take place every so many `seconds`."""
        if self._listener is None or not self._listener.is_connected:
            return seconds
        is_announced = self._are_documents_announced or all(change.kind != "documents" for change in changes)
        return max(seconds, MAX_POLL_SECONDS) if is_announced else seconds

    def wake(self, change: LedgerChange = EVERYTHING) -> None:
        """Thread-safe."""
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._set, change)

    async def close(self) -> None:
        if self._listener is not None:
            await run_sync(self._listener.close)

    def _set(self, change: LedgerChange) -> None:
        events = [self._waiting.get(change, set())] if change != EVERYTHING else list(self._waiting.values())
        for event in set().union(*events):
            event.set()
