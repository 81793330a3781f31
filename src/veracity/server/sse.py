"""Server-sent events, for as long as whoever reads them may. Knows nothing about what they tell."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from veracity.models import User
from veracity.server.auth import who_sends
from veracity.server.errors import RUN_HEADER
from veracity.server.limits import Limits

RUN_TOLD = {RUN_HEADER: {"description": "The run that was begun.", "schema": {"type": "string"}}}
EVENTS: dict[str, Any] = {
    "description": "The answer; or, where it is asked for, events as those of `/api/runs/{run_id}/events`.",
    "content": {"text/event-stream": {"schema": {"type": "string"}}},
    "headers": RUN_TOLD,
}
EVENT_STREAM, JSON = "text/event-stream", "application/json"
QUIET = 10.0  # seconds after which a comment shows that the line is open
LOOK = 2.0  # seconds after which it is looked again who may read


class Event(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def data(self) -> dict[str, Any]: ...


def wants_events(accept: str) -> bool:
    """Rather than JSON: by their weight, and where that is the same by what is named first."""
    weights: dict[str, float] = {}
    for one in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in one.split(";"))
        if kind in (EVENT_STREAM, JSON):
            weights.setdefault(kind, _weight(parameters))
    return weights.get(EVENT_STREAM, 0) > 0 and max(weights, key=weights.__getitem__) == EVENT_STREAM


def _weight(parameters: list[str]) -> float:
    given = next((one.removeprefix("q=") for one in parameters if one.startswith("q=")), "1")
    try:
        return float(given)
    except ValueError:
        return 0.0


def follow_response(request: Request, user: User, begin: Callable[[], AsyncIterator[Event]]) -> EventStream:
    """The events of what `begin` begins, once there is a place for the stream."""
    with _stream_place(request, user) as closed:
        return EventStream(lines_of(while_welcome(request, user, begin())), closed)


async def run_response(
    request: Request,
    user: User,
    start: Callable[[], Awaitable[str]],
    follow: Callable[[str], AsyncIterator[Event]],
    lines: Callable[[AsyncIterator[Event | None], str], AsyncIterator[bytes]] | None = None,
) -> EventStream:
    """The events of a run. The place comes first: a question that was taken in is not refused any more. `start` gives
    the run's id, and may wait; `lines` writes the events in another way."""
    with _stream_place(request, user) as closed:
        run_id = await start()
        events = while_welcome(request, user, follow(run_id))
        told = lines(events, run_id) if lines else lines_of(events)
        return EventStream(told, closed, {RUN_HEADER: run_id})


@contextmanager
def _stream_place(request: Request, user: User) -> Iterator[Callable[[], None]]:
    """One of the streams that may be open at once; given back by what this gives, or where no stream begins."""
    limits: Limits = request.app.state.limits
    closed = limits.open_stream(user.name)
    try:
        yield closed
    except BaseException:
        closed()
        raise


async def while_welcome(
    request: Request, user: User, events: AsyncIterator[Event], quiet: float = QUIET
) -> AsyncIterator[Event | None]:
    """Ends when the token was revoked, or the user has another role. None where nothing happened for a while."""
    looked = time.monotonic()
    async with aclosing(with_pauses(events, quiet)) as told:
        async for event in told:
            if time.monotonic() - looked > LOOK:
                looked = time.monotonic()
                if not await is_welcome(request, user):
                    return
            yield event


async def is_welcome(request: Request, user: User) -> bool:
    """Whoever sent the request is known still, and in the same role."""
    now = await who_sends(request)
    return now is not None and (now.name, now.role) == (user.name, user.role)


class EventStream(StreamingResponse):
    """`closed` is called when nobody reads any more, or there is nothing more to read, even if nobody ever read."""

    media_type = EVENT_STREAM

    def __init__(
        self, lines: AsyncIterator[bytes], closed: Callable[[], None], headers: Mapping[str, str] | None = None
    ) -> None:
        known = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})}
        super().__init__(lines, headers=known)
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._closed()


async def lines_of(events: AsyncIterator[Event | None]) -> AsyncIterator[bytes]:
    yield b": \n\n"  # so that the headers leave at once
    async for event in events:
        yield b": \n\n" if event is None else line_of(event)


def line_of(event: Event) -> bytes:
    """JSON holds no line break, so one line of data is enough. The id is left out where there is none."""
    head = f"id: {event.id}\n" if event.id else ""
    data = json.dumps(event.data, ensure_ascii=False)
    return f"{head}event: {event.data['kind']}\ndata: {data}\n\n".encode("utf-8", "replace")


async def with_pauses(events: AsyncIterator[Event], quiet: float = QUIET) -> AsyncGenerator[Event | None]:
    """None for every `quiet` seconds in which nothing happens."""
    iterator = aiter(events)
    coming: asyncio.Task[Event] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next(iterator))
            done, _ = await asyncio.wait({coming}, timeout=quiet)
            if not done:
                yield None
                continue
            try:
                event = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield event
    finally:
        if coming:
            coming.cancel()


async def _next(iterator: AsyncIterator[Event]) -> Event:
    return await anext(iterator)
