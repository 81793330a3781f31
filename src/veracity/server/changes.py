"""Changes of the documents, one at a time, in the order they came, and their outcomes for whoever watches.

They run on a thread of their own, so that those who wait take none from other requests, and they go on when nobody
watches any longer. Knows nothing about what a change does.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

from fastapi import Request

from veracity.errors import VeracityError
from veracity.models import IngestReport, Outcome
from veracity.server.limits import too_many
from veracity.server.problems import INSIDE
from veracity.server.stretches import LiveEvent
from veracity.workers import NATIVE_PATIENCE, Workers

log = logging.getLogger("veracity.server")

MOST = 50  # requests that wait for their turn, the one at work included
COME_AGAIN = 10.0  # seconds

T = TypeVar("T")


class Telling:
    """What comes of one change. Outcomes may be told from any thread; made and listened to on the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._done = 0

    def outcome(self, outcome: Outcome, to_come: int | None) -> None:
        self._done += 1
        self._tell({"kind": "outcome", **outcome.model_dump(mode="json"), "done": self._done, "to_come": to_come})

    def report(self, report: IngestReport) -> None:
        self._tell({"kind": "report", **report.model_dump(mode="json")})
        self._tell(None)

    def failed(self, problem: str) -> None:
        self._tell({"kind": "failed", "problem": problem})
        self._tell(None)

    async def events(self) -> AsyncIterator[LiveEvent]:
        while (data := await self._events.get()) is not None:
            yield LiveEvent("", data)

    def _tell(self, data: dict[str, Any] | None) -> None:
        with suppress(RuntimeError):  # the loop may be gone with the server: the change goes on
            self._loop.call_soon_threadsafe(self._events.put_nowait, data)


Change = Callable[[Telling], Awaitable[IngestReport]]


class Changes:
    """One for a server."""

    def __init__(self) -> None:
        self._workers = Workers(1, "veracity-documents")
        self._places = threading.BoundedSemaphore(MOST)
        self._under_way: set[asyncio.Task[IngestReport]] = set()

    @contextmanager
    def place(self) -> Iterator[None]:
        """In the queue."""
        if not self._places.acquire(blocking=False):
            raise too_many(f"{MOST} changes of the documents wait already", COME_AGAIN)
        try:
            yield
        finally:
            self._places.release()

    async def turn(self, work: Callable[[], T]) -> T:
        """Done when all is done that came before."""
        future = self._workers.submit(lambda _: work())
        done: T = await asyncio.shield(asyncio.wrap_future(future))
        return done

    def begin(self, change: Change, held: ExitStack) -> tuple[Telling, asyncio.Task[IngestReport]]:
        """What is `held`, a place above all, is let go when the change has ended."""
        telling = Telling()
        task = asyncio.create_task(_carried_out(change, telling, held))
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return telling, task

    def close(self) -> None:
        """Waits a little for the change at work; what still waits for its turn is left."""
        self._workers.close(NATIVE_PATIENCE)

    def _ended(self, task: asyncio.Task[IngestReport]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # was told; nobody else may ask for it


async def _carried_out(change: Change, telling: Telling, held: ExitStack) -> IngestReport:
    with held:
        try:
            report = await change(telling)
        except VeracityError as problem:
            telling.failed(str(problem))
            raise
        except Exception:
            log.exception("A change of the documents failed")
            telling.failed(INSIDE)
            raise
        telling.report(report)
        return report


def changes_of(request: Request) -> Changes:
    changes: Changes = request.app.state.changes
    return changes
