"""What changes in the workspace, for everybody who has the page open: drafts that wait, decisions, documents.

Any process may decide and change the documents, so the ledger and the store are looked at; what this process does is
told at once. Knows nothing about HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.models import ApprovalStanding, User
from veracity.server.live.events import LiveEvent
from veracity.server.permissions import may_see, reaches

log = logging.getLogger("veracity.server")

T = TypeVar("T")

LOOK = 1.0  # seconds between two looks
NEWEST = 500
MOST_BEHIND = 1000  # events that somebody who does not read may be behind
THREADS = 2  # for looking, which nothing else takes: what was decided is told at once, whatever others search for
LAST: dict[str, Any] = {"kind": ""}


class Feed:
    def __init__(self, engine: Veracity) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._listeners: dict[asyncio.Queue[dict[str, Any]], User] = {}
        self._threads = CapacityLimiter(THREADS)
        self._poked = asyncio.Event()
        self._has_looked = asyncio.Event()
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
            self._task = None
        self._has_looked.set()
        for queue in self._listeners:
            _end(queue)

    async def listen(self, user: User) -> AsyncGenerator[LiveEvent]:
        """Hello, and whatever happens after it; something may be told twice, nothing is left out. Ends where the ledger
        cannot be read, and for who reads too slowly: come again, and look anew."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MOST_BEHIND)
        self._listeners[queue] = user
        try:
            if not self._task:
                self._has_looked.clear()
                self._task = asyncio.create_task(self._watch())
            await self._has_looked.wait()  # before it is counted: what changes from here on is told
            pending = await self._looked(lambda: self._engine.pending(user=_owner(user)))
            if pending is None:
                return
            yield LiveEvent("", {"kind": "hello", "pending": pending})
            while (event := await queue.get())["kind"]:
                yield LiveEvent("", event)
        finally:
            del self._listeners[queue]

    async def _watch(self) -> None:
        known: dict[str, str] | None = None
        documents: object = None
        while self._listeners:
            version = await self._looked(self._engine.documents_version)
            if version is not None and documents not in (None, version):
                self._send({"kind": "documents"}, None)
            documents = version or documents
            standings = await self._looked(lambda: self._engine.approval_states(limit=NEWEST))
            if standings is not None:
                known = self._told(standings, known)
                self._has_looked.set()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._poked.wait(), LOOK)
            self._poked.clear()
        self._task = None

    def _told(self, standings: list[ApprovalStanding], known: dict[str, str] | None) -> dict[str, str]:
        """Tells what is new since the last look; at the first one nothing is."""
        for one in reversed(standings):
            if known is not None and known.get(one.approval_id) != one.state:
                self._send({"kind": "approval", **one.model_dump(mode="json")}, one.user)
        return {one.approval_id: one.state for one in standings}

    async def _looked(self, look: Callable[[], T]) -> T | None:
        """None: it cannot be read now."""
        try:
            return await run_sync(look, limiter=self._threads)
        except VeracityError:
            return None
        except Exception:
            log.exception("What waits could not be looked at")
            return None

    def _send(self, event: dict[str, Any], owner: str | None) -> None:
        for queue, user in list(self._listeners.items()):
            if owner is None or may_see(user, owner):
                if queue.full():
                    _end(queue)
                else:
                    queue.put_nowait(event)


def _owner(user: User) -> str | None:
    """Whose drafts are seen: None, all."""
    return None if reaches(user, "approver") else user.name


def _end(queue: asyncio.Queue[dict[str, Any]]) -> None:
    """Whatever waits in it."""
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(LAST)
