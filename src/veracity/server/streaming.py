"""Server-sent events. Knows nothing about what they tell."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from veracity.models import User

EVENTS: dict[str, Any] = {
    "description": "The answer; or, where it is asked for, server-sent events.",
    "content": {"text/event-stream": {}},
}
QUIET = 15.0  # seconds after which a comment shows that the line is open


class Event(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def data(self) -> dict[str, Any]: ...


def wants_events(accept: str) -> bool:
    return "text/event-stream" in accept.lower()


def follow_response(
    request: Request, user: User, events: AsyncIterator[Event], headers: Mapping[str, str] | None = None
) -> Any:
    """A stream that counts as one of those that may be open at once."""
    return EventStream(lines_of(events), request.app.state.limits.open_stream(user.name), headers)


class EventStream(StreamingResponse):
    """`closed` is called when nobody reads any more, or there is nothing more to read, even if nobody ever read."""

    def __init__(
        self, lines: AsyncIterator[bytes], closed: Callable[[], None], headers: Mapping[str, str] | None = None
    ) -> None:
        known = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})}
        super().__init__(lines, media_type="text/event-stream", headers=known)
        self._closed = closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._closed()


async def lines_of(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    yield b": \n\n"  # so that the headers leave at once
    async with aclosing(with_pauses(events)) as lines:
        async for event in lines:
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
