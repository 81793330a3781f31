"""The feed of workspace changes for open pages: pending drafts, decisions, documents.

Polls the ledger and the document store, because any process may change them. What this process changes is sent at once,
and so is what others announce.
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
from veracity.models import ApprovalStanding, LedgerChange, User
from veracity.server.live.events import LiveEvent
from veracity.server.live.wakeups import Wakeups
from veracity.server.permissions import can_see, has_role

log = logging.getLogger("veracity.server")

POLL_SECONDS = 1.0
MAX_APPROVALS = 500  # compared in each poll
MAX_UNREAD = 1000  # events before a slow listener is disconnected
POLL_THREADS = 2  # reserved, so that decisions are sent at once however many searches run
CHANGES = LedgerChange(kind="approvals"), LedgerChange(kind="documents")
END: dict[str, Any] = {"kind": ""}

T = TypeVar("T")


class Feed:
    def __init__(self, engine: Veracity, wakeups: Wakeups | None = None) -> None:
        self._engine = engine
        self._wakeups = wakeups or Wakeups()
        self._loop = asyncio.get_running_loop()
        self._listeners: dict[asyncio.Queue[dict[str, Any]], User] = {}
        self._threads = CapacityLimiter(POLL_THREADS)
        self._refresh = asyncio.Event()
        self._has_polled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def refresh(self) -> None:
        """Thread-safe. Polls now, because something may have changed."""
        self._call(self._refresh.set)

    def publish(self, kind: str) -> None:
        """Thread-safe. Sends an event to all listeners."""
        self._call(self._send, {"kind": kind}, None)

    def stop(self) -> None:
        """Thread-safe. Ends all streams."""
        self._call(self._stop)

    async def listen(self, user: User) -> AsyncGenerator[LiveEvent]:
        """A hello event, then changes: none is lost, some may be sent twice. Ends if the ledger cannot be read or the
        listener reads too slowly; clients then reconnect."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(MAX_UNREAD)
        self._listeners[queue] = user
        try:
            if not self._task:
                self._has_polled.clear()
                self._task = asyncio.create_task(self._poll_when_needed())
            await self._has_polled.wait()  # before counting, so that every later change is sent
            owner = None if has_role(user, "approver") else user.name
            pending = await self._read(lambda: self._engine.pending(user=owner))
            if pending is None:
                return
            yield LiveEvent("", {"kind": "hello", "pending": pending})
            while (event := await queue.get())["kind"]:
                yield LiveEvent("", event)
        finally:
            del self._listeners[queue]

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)

    def _stop(self) -> None:
        if self._task:
            self._task.cancel()
            self._task = None
        self._has_polled.set()
        for queue in self._listeners:
            _end(queue)

    async def _poll_when_needed(self) -> None:
        with self._wakeups.setting(self._refresh, *CHANGES):
            await self._poll()

    async def _poll(self) -> None:
        """Runs while there are listeners."""
        states: dict[str, str] | None = None
        last_version: object = None
        while self._listeners:
            version = await self._read(lambda: self._engine.reader.version)
            if version is not None and last_version not in (None, version):
                self._send({"kind": "documents"}, None)
            last_version = version or last_version
            approvals = await self._read(lambda: self._engine.inbox.states(limit=MAX_APPROVALS))
            if approvals is not None:
                states = self._send_changes(approvals, states)
                self._has_polled.set()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._refresh.wait(), self._wakeups.poll_seconds(POLL_SECONDS, *CHANGES))
            self._refresh.clear()
        self._task = None

    def _send_changes(self, approvals: list[ApprovalStanding], states: dict[str, str] | None) -> dict[str, str]:
        """Sends approvals whose state or assignee changed since the last poll, and returns the new ones. The first poll
        sends nothing."""
        latest = {approval.approval_id: f"{approval.state} {approval.assignee}" for approval in approvals}
        for approval in reversed(approvals):
            before = "" if states is None else states.get(approval.approval_id, "")
            if states is not None and before != latest[approval.approval_id]:
                changed = "assignee" if before.split(" ")[0] == approval.state else "state"
                event = {"kind": "approval", "changed": changed, **approval.model_dump(mode="json")}
                self._send(event, approval.user)
        return latest

    async def _read(self, read: Callable[[], T]) -> T | None:
        """None if the workspace cannot be read now."""
        try:
            return await run_sync(read, limiter=self._threads)
        except VeracityError:
            return None
        except Exception:
            log.exception("The feed could not read the workspace")
            return None

    def _send(self, event: dict[str, Any], owner: str | None) -> None:
        for queue, user in list(self._listeners.items()):
            if owner is None or can_see(user, owner):
                if queue.full():
                    _end(queue)
                else:
                    queue.put_nowait(event)


def _end(queue: asyncio.Queue[dict[str, Any]]) -> None:
    while not queue.empty():
        queue.get_nowait()
    queue.put_nowait(END)
