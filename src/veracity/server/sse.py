"""Server-sent events, streamed for as long as the user's token and role stay valid."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from veracity.models import User
from veracity.server.auth import Authenticator, find_sender
from veracity.server.errors import RUN_HEADER
from veracity.server.limits import Limits
from veracity.server.live.events import LiveEvent

T = TypeVar("T")

EVENT_STREAM, JSON = "text/event-stream", "application/json"
RUN_HEADER_SCHEMA = {RUN_HEADER: {"description": "The id of the run.", "schema": {"type": "string"}}}
STREAM_CONTENT = {EVENT_STREAM: {"schema": {"type": "string"}}}
ANSWER_OR_EVENTS: dict[str, Any] = {
    "description": "The answer; with `Accept: text/event-stream` the events of `/api/runs/{run_id}/events`.",
    "content": STREAM_CONTENT,
    "headers": RUN_HEADER_SCHEMA,
}
KEEP_ALIVE = b": \n\n"  # a comment
KEEP_ALIVE_SECONDS = 10.0
AUTH_SECONDS = 2.0  # between two checks of the token


def wants_events(accept: str) -> bool:
    """Whether an Accept header prefers events to JSON: by weight, then by order."""
    weights: dict[str, float] = {}
    for entry in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in entry.split(";"))
        if kind in (EVENT_STREAM, JSON):
            weights.setdefault(kind, _weight(parameters))
    return weights.get(EVENT_STREAM, 0) > 0 and max(weights, key=weights.__getitem__) == EVENT_STREAM


def _weight(parameters: list[str]) -> float:
    try:
        return float(next((part.removeprefix("q=") for part in parameters if part.startswith("q=")), "1"))
    except ValueError:
        return 0.0


def stream_events(request: Request, user: User, start: Callable[[], AsyncGenerator[LiveEvent]]) -> EventStream:
    """Streams the events that `start` returns. Raises 429 before calling it if too many streams are open."""
    with _open_stream(request, user) as close:
        return EventStream(encode_events(while_authorized(request, user, start())), close)


async def stream_run(
    request: Request,
    user: User,
    start: Callable[[], Awaitable[str]],
    follow: Callable[[str], AsyncGenerator[LiveEvent]],
    encode: Callable[[AsyncGenerator[LiveEvent | None], str], AsyncGenerator[bytes]] | None = None,
) -> EventStream:
    """Starts a run and streams its events. Opens the stream first: an accepted question must not be refused later.
    `encode` replaces the default encoding."""
    with _open_stream(request, user) as close:
        run_id = await start()
        events = while_authorized(request, user, follow(run_id))
        return EventStream(encode(events, run_id) if encode else encode_events(events), close, {RUN_HEADER: run_id})


@contextmanager
def _open_stream(request: Request, user: User) -> Iterator[Callable[[], None]]:
    """Yields the function that closes the stream, and closes it on an error."""
    limits: Limits = request.app.state.limits
    close = limits.open_stream(user.name)
    try:
        yield close
    except BaseException:
        close()
        raise


async def while_authorized(
    request: Request, user: User, events: AsyncGenerator[LiveEvent], pause: float = KEEP_ALIVE_SECONDS
) -> AsyncGenerator[LiveEvent | None]:
    """Ends when the token is revoked or the role changes: at once if this server did it, else with the next event or
    after `pause`. Yields None after each `pause` without events. Closes `events`."""
    authenticator: Authenticator = request.app.state.authenticator
    checked = time.monotonic()
    pending: asyncio.Task[LiveEvent] | None = None
    changed = asyncio.ensure_future(authenticator.access_changed.wait())
    try:
        while True:
            pending = pending or asyncio.ensure_future(_next(events))
            done, _ = await asyncio.wait({pending, changed}, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            if changed in done or time.monotonic() - checked > AUTH_SECONDS:
                checked = time.monotonic()
                if changed in done:
                    changed = asyncio.ensure_future(authenticator.access_changed.wait())
                if not await is_authorized(request, user):
                    return
            if pending not in done:
                yield None
                continue
            event = pending.result()
            pending = None
            yield event
    except StopAsyncIteration:
        return
    finally:
        changed.cancel()
        if pending and not pending.done():
            pending.cancel()  # ends `events`, which cannot be closed while it runs
        else:
            await events.aclose()


async def is_authorized(request: Request, user: User) -> bool:
    """Whether the request's token still belongs to the same user with the same role."""
    now = await find_sender(request)
    return now is not None and (now.name, now.role) == (user.name, user.role)


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of the work; None if the client disconnects first, which cancels it. Raises for too large a body."""
    task, disconnected = asyncio.ensure_future(work), asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, disconnected}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        disconnected.result()
        return None
    finally:
        task.cancel()
        disconnected.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    """The body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class EventStream(StreamingResponse):
    """Calls `close` when the stream ends, even if it was never read. Closes `lines`: a client may disconnect while a
    line is sent, which the generator does not notice."""

    media_type = EVENT_STREAM

    def __init__(
        self, lines: AsyncGenerator[bytes], close: Callable[[], None], headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(lines, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no", **(headers or {})})
        self._lines = lines
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with aclosing(self._lines):
                await super().__call__(scope, receive, send)
        finally:
            self._close()


async def encode_events(events: AsyncGenerator[LiveEvent | None]) -> AsyncGenerator[bytes]:
    async with aclosing(events):
        yield KEEP_ALIVE  # sends the headers right away
        async for event in events:
            yield KEEP_ALIVE if event is None else _encode_event(event)


def encode_json(value: Any) -> bytes:
    """JSON without line breaks; models become objects, lone surrogates question marks."""
    return json.dumps(value, ensure_ascii=False, default=_dump_model).encode("utf-8", "replace")


def _encode_event(event: LiveEvent) -> bytes:
    id_line = f"id: {event.id}\n" if event.id else ""
    return f"{id_line}event: {event.data['kind']}\ndata: ".encode() + encode_json(event.data) + b"\n\n"


def _dump_model(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json")


async def _next(iterator: AsyncGenerator[LiveEvent]) -> LiveEvent:
    return await anext(iterator)
