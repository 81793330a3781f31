"""Content negotiation between JSON and events, and streams whose client disconnects."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from starlette.requests import Request

from veracity.models import User
from veracity.server.live.events import LiveEvent
from veracity.server.sse import EventStream, encode_events, wants_events, while_authorized

NOW = datetime.now(UTC)


@pytest.mark.parametrize(
    ("accept", "events"),
    [
        ("text/event-stream", True),
        ("Text/Event-Stream; charset=utf-8, */*;q=0.1", True),
        ("text/event-stream, application/json", True),
        ("application/json;q=0.5, text/event-stream", True),
        ("application/json, text/event-stream", False),
        ("application/json, text/event-stream;q=0.1", False),
        ("text/event-stream;q=0", False),
        ("text/event-stream;q=often", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_accept_headers_choose_between_events_and_json(accept: str, events: bool) -> None:
    assert wants_events(accept) == events


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_collection")
class TestClientsThatDisconnect:
    """The source of the events ends at once, because it decides whether the run still has a client."""

    @pytest.mark.parametrize("ticks", range(7))
    def test_while_an_event_arrives(self, ticks: int) -> None:
        async def pass_on(_: Any) -> None:
            pass

        assert asyncio.run(_ends(pass_on, ticks))

    def test_while_an_event_is_sent(self) -> None:
        async def block(message: Any) -> None:
            if b"started" in message.get("body", b""):
                await asyncio.sleep(60)

        assert asyncio.run(_ends(block, 20))


async def _ends(send: Any, ticks: int) -> bool:
    """Whether the source of a stream ends if the client disconnects that many ticks after an event."""
    arrived, disconnected, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def events() -> AsyncGenerator[LiveEvent]:
        try:
            await arrived.wait()
            yield LiveEvent("1", {"kind": "started"})
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def receive() -> dict[str, str]:
        await disconnected.wait()
        return {"type": "http.disconnect"}

    authenticator = SimpleNamespace(access_changed=asyncio.Event())
    request = SimpleNamespace(app=SimpleNamespace(state=SimpleNamespace(authenticator=authenticator)))
    stream = while_authorized(cast(Request, request), User(name="ann", role="asker", created=NOW), events())
    response = EventStream(encode_events(stream), lambda: None)
    serving = asyncio.ensure_future(response({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send))
    await asyncio.sleep(0.01)
    arrived.set()
    for _ in range(ticks):
        await asyncio.sleep(0)
    disconnected.set()
    await asyncio.wait({serving}, timeout=10)
    await asyncio.sleep(0)
    return ended.is_set()
