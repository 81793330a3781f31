"""What changes in the workspace, for everybody who has the page open: drafts that wait, decisions, documents.

Decisions may be made in any process, so the ledger is looked at; those of this process are told at once. Knows nothing
about HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

from anyio.to_thread import run_sync

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.models import ApprovalStanding, User
from veracity.server.standing import may_see
from veracity.server.stretches import LiveEvent

log = logging.getLogger("veracity.server")

LOOK = 1.0  # seconds between two looks at the ledger
NEWEST = 500
MOST_BEHIND = 1000  # events that somebody who does not read may be behind


class Feed:
    def __init__(self, engine: Veracity) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._listeners: dict[asyncio.Queue[dict[str, Any]], User] = {}
        self._poked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def poke(self) -> None:
        """From any thread: something may have changed."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._poked.set)

    def tell(self, kind: str) -> None:
        """From any thread, to all."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._send, {"kind": kind}, None)

    def stop(self) -> None:
        """From any thread."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self._task:
            self._task.cancel()
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait({"kind": ""})

    async def listen(self, user: User) -> AsyncIterator[LiveEvent]:
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MOST_BEHIND)
        standings = await self._standings() or []
        pending = [one for one in standings if one.state == "pending" and may_see(user, one.user)]
        self._listeners[queue] = user
        self._task = self._task or asyncio.create_task(self._watch())
        try:
            yield LiveEvent("", {"kind": "hello", "pending": len(pending)})
            while (event := await queue.get())["kind"]:
                yield LiveEvent("", event)
        finally:
            del self._listeners[queue]

    async def _watch(self) -> None:
        known: dict[str, str] | None = None
        while self._listeners:
            standings = await self._standings()
            if standings is not None:
                known = self._told(standings, known)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._poked.wait(), LOOK)
            self._poked.clear()
        self._task = None

    def _told(self, standings: list[ApprovalStanding], known: dict[str, str] | None) -> dict[str, str]:
        """Tells what is new since the last look; at the first one nothing is."""
        for one in reversed(standings):
            if known is not None and known.get(one.approval_id) != one.state:
                self._send({"kind": "approval", **one.model_dump(mode="json")}, one.user)
        return {**(known or {}), **{one.approval_id: one.state for one in standings}}

    async def _standings(self) -> list[ApprovalStanding] | None:
        """The newest. What cannot be read now is looked at again soon."""
        try:
            return await run_sync(lambda: self._engine.approval_states(limit=NEWEST))
        except VeracityError:
            return None
        except Exception:
            log.exception("What waits could not be looked at")
            return None

    def _send(self, event: dict[str, Any], owner: str | None) -> None:
        for queue, user in list(self._listeners.items()):
            if owner is None or may_see(user, owner):
                with contextlib.suppress(asyncio.QueueFull):
                    queue.put_nowait(event)
