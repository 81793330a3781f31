"""Changes of the documents, one at a time, in the order they came.

They run on a thread of their own, so that those who wait take none from other requests, and they go on when nobody
watches any longer. Knows nothing about what a change does. All but `stop` belongs to the event loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from fastapi import Request
from pydantic import BaseModel, Field

from veracity.errors import BusyError, NotFoundError, VeracityError
from veracity.models import IngestReport, Outcome
from veracity.secrets import presentable
from veracity.server.errors import INSIDE, RefusedError, stopping
from veracity.server.limits import too_many
from veracity.server.live.events import LiveEvent
from veracity.workers import NATIVE_PATIENCE, Workers

log = logging.getLogger("veracity.server")


class Telling:
    """What comes of one change. Outcomes may be told from any thread; made and listened to on the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._done = 0

    def waiting(self, ahead: int) -> None:
        self._tell({"kind": "waiting", "ahead": ahead})

    def outcome(self, outcome: Outcome, to_come: int | None) -> None:
        self._done += 1
        self._tell({"kind": "outcome", **outcome.model_dump(mode="json"), "done": self._done, "to_come": to_come})

    def cancelled(self, by: str) -> None:
        self._tell({"kind": "cancelled", "by": by})

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
_under_way: set[asyncio.Task[IngestReport]] = set()  # the loop itself would let go of them


def begin(change: Change, held: ExitStack) -> tuple[Telling, asyncio.Task[IngestReport]]:
    """What is `held`, a place in the queue above all, is let go when the change has ended."""
    telling = Telling()
    task = asyncio.create_task(_carried_out(change, telling, held))
    _under_way.add(task)
    task.add_done_callback(_ended)
    return telling, task


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


def _ended(task: asyncio.Task[IngestReport]) -> None:
    _under_way.discard(task)
    if not task.cancelled():
        task.exception()  # was told; nobody else may ask for it


MOST = 50  # changes that wait for their turn, the one at work included
COME_AGAIN = 10.0  # seconds
PATIENCE = 5.0  # seconds that somebody waits who expects an answer at once
TELL_AGAIN = 5.0  # seconds between two words about a change that has many parts

T = TypeVar("T")
What = Literal["upload", "reindex", "remove", ""]
UNDER_WAY: dict[What, str] = {
    "upload": "A file is being read: {name}. Try again when that has finished.",
    "reindex": "All documents are being indexed anew: try again when that has finished.",
    "remove": "A document is being removed: try again when that has finished.",
    "": "The uploaded files are being looked through: try again in a moment.",
}


class Standing(BaseModel):
    """What is being done to the documents at this moment."""

    under_way: bool
    number: int = Field(description="of the change; 0 where there is none")
    what: What
    name: str = Field(description="of the file that is being read")
    waiting: int = Field(description="changes that wait for their turn")
    cancelled_by: str = Field(description="who ended the change, or the last one, before all of it was done")


@dataclass(eq=False)
class Place:
    """That of one change, which may need many turns."""

    what: What
    number: int = 0
    name: str = ""
    has_begun: bool = False
    cancelled_by: str = ""

    def require_wanted(self) -> None:
        """From any thread."""
        if self.cancelled_by:
            raise RefusedError(409, "Cancelled", f"Cancelled by {self.cancelled_by}.")


@dataclass(eq=False)
class _Turn:
    place: Place
    name: str
    waiting: Callable[[int], None]
    future: Future[Any] = field(default_factory=Future)


class Changes:
    """One for a server. `tell` is called when a change begins and when it has ended."""

    def __init__(self, tell: Callable[[], None] = lambda: None) -> None:
        self._loop = asyncio.get_running_loop()
        self._workers = Workers(1, "veracity-documents")
        self._places: list[Place] = []
        self._queue: list[_Turn] = []  # the first is at work
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        self._is_at_work = False
        self._tell, self._told = tell, 0.0
        self._last = Place("")  # that has begun
        self._count = 0

    @property
    def is_at_work(self) -> bool:
        return self._is_at_work

    def standing(self) -> Standing:
        now = self._now()
        return Standing(
            under_way=bool(now.what),
            number=now.number,
            what=now.what,
            name=now.name,
            waiting=max(0, len(self._queue) - 1),
            cancelled_by=(now if now.what else self._last).cancelled_by,
        )

    def cancel(self, by: str, number: int | None = None) -> Standing:
        """The change under way, or the one with this number, ends as soon as it can do so with nothing left half."""
        meant = self._now().number if number is None else number
        begun = [place for place in self._places if place.has_begun and place.what in ("upload", "reindex")]
        wanted = [place for place in begun if place.number == meant]
        if not wanted:
            raise NotFoundError("There is nothing to cancel: this process of the server is at no such change now.")
        wanted[0].cancelled_by = wanted[0].cancelled_by or by
        self._tell()
        return self.standing()

    @contextmanager
    def place(self, what: What) -> Iterator[Place]:
        """In the queue."""
        self._require_open()
        if len(self._places) >= MOST:
            raise too_many(f"{MOST} changes of the documents wait already", COME_AGAIN)
        self._count += 1
        place = Place(what, self._count)
        self._places.append(place)
        try:
            yield place
        finally:
            self._places.remove(place)
            if place.has_begun:
                self._tell()

    async def turn(
        self,
        work: Callable[[], T],
        place: Place,
        name: str = "",
        *,
        waiting: Callable[[int], None] = lambda ahead: None,
        patience: float | None = None,
    ) -> T:
        """Done when all is done that came before. `waiting` hears how many that are, down to 0. Who has no more
        patience, goes away or is told to stop before it has begun can be sure that it is not done."""
        self._require_open()
        turn = _Turn(place, name, waiting)
        self._queue.append(turn)
        turn.future = self._workers.submit(lambda _: self._at_work(work))
        done: asyncio.Future[T] = asyncio.wrap_future(turn.future)
        done.add_done_callback(lambda _: self._ended(turn, done))
        ahead = len(self._queue) - 1
        if ahead:
            waiting(ahead)
        else:
            self._began(turn)
        try:
            if not await self._until(done, patience) and turn.future.cancel():
                raise BusyError(self._sentence())
            await self._until(done)
            return done.result()
        finally:
            turn.future.cancel()  # which does nothing to what has begun

    async def unless_stopping(self, coming: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(coming)
        try:
            await self._until(task)
            return task.result()
        finally:
            task.cancel()

    def stop(self) -> None:
        """From any thread. Whoever waits is told so at once; what is at work goes on as long as this process."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._end)

    def close(self) -> None:
        """Waits a little for the change at work; what still waits for its turn is left."""
        self._workers.close(NATIVE_PATIENCE)

    def _end(self) -> None:
        if not self._stopped.done():
            self._stopped.set_result(None)

    def _require_open(self) -> None:
        if self._stopped.done():
            raise _stopping()

    async def _until(self, done: asyncio.Future[Any], patience: float | None = None) -> bool:
        either: set[asyncio.Future[Any]] = {done, self._stopped}
        await asyncio.wait(either, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        if self._stopped.done() and not done.done():
            raise _stopping()
        return done.done()

    def _at_work(self, work: Callable[[], T]) -> T:
        self._is_at_work = True
        try:
            return work()
        finally:
            self._is_at_work = False

    def _began(self, turn: _Turn) -> None:
        is_new, turn.place.has_begun = not turn.place.has_begun, True
        turn.place.name = turn.name
        self._last = turn.place if turn.place.what else self._last
        if turn.place.what and (is_new or time.monotonic() > self._told + TELL_AGAIN):
            self._told = time.monotonic()
            self._tell()

    def _ended(self, turn: _Turn, done: asyncio.Future[Any]) -> None:
        if not done.cancelled():
            done.exception()  # nobody may be there any longer to ask for it
        place = self._queue.index(turn)
        self._queue.remove(turn)
        for ahead, other in list(enumerate(self._queue))[place:]:
            other.waiting(ahead)
            if not ahead:
                self._began(other)

    def _now(self) -> Place:
        between_turns = (place for place in self._places if place.has_begun)
        return self._queue[0].place if self._queue else next(between_turns, Place(""))

    def _sentence(self) -> str:
        now = self._queue[0].place
        return UNDER_WAY[now.what].format(name=f'"{presentable(now.name)}"')


def is_stopping(problem: Exception) -> bool:
    return isinstance(problem, RefusedError) and problem.kind == "Stopping"


def _stopping() -> RefusedError:
    return stopping("The server is stopping: try again when it runs.")


def changes_of(request: Request) -> Changes:
    changes: Changes = request.app.state.changes
    return changes
