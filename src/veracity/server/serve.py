"""Running the server and stopping it, and how what is under way is left.

Knows nothing about routes.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.server.app import make_app
from veracity.server.listen import Door
from veracity.settings import ServerSettings

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

log = logging.getLogger("veracity.server")

HEADERS = 10.0  # seconds in which what is asked must be said; the rest of a request has its own limit
KEEP_ALIVE = 75  # seconds between two requests of those who have shown a token; the others have those for headers
BESIDE_STREAMS = 500  # connections
AT_ONCE = 100  # accepted before they are counted: asyncio knows no other way to say so
NO_FILES = "socket.accept() out of system resource"  # as asyncio says it, up to a hundred times a second
QUIET = 60.0  # seconds in which it is said once


class Connection(H11Protocol):
    """Closed when no request comes, or one whose headers come too slowly. Where too many are open, room is made by
    the oldest of those who have shown no token, then by the oldest on which nothing is asked: who comes with a token
    is answered, whatever strangers hold open."""

    most = 2 * BESIDE_STREAMS
    _has_shown_token = False
    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.since = time.monotonic()
        super().connection_made(transport)
        self._closing = self.loop.call_later(HEADERS, transport.close)
        if len(self.connections) > self.most:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._closing and self.is_asked:
            self._closing.cancel()
            self._closing = None
        elif not (self._closing or self.is_asked):
            self._closing = self.loop.call_later(HEADERS, self.transport.close)

    def on_response_complete(self) -> None:
        self._has_shown_token = self.is_known
        self.timeout_keep_alive = KEEP_ALIVE if self.is_known else HEADERS  # type: ignore[assignment]
        super().on_response_complete()

    @property
    def is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def is_known(self) -> bool:
        return self._has_shown_token or (self.scope is not None and "user" in self.scope["state"])

    def _make_room(self) -> None:
        others = (one for one in self.connections if isinstance(one, Connection) and one is not self)
        closable = (one for one in others if not (one.is_known and one.is_asked))
        leaves = min(closable, key=lambda one: (one.is_known, one.since), default=self)
        self.connections.discard(leaves)
        leaves.transport.abort()  # closed only, it would wait until what was sent is read


def most_connections(streams: int) -> int:
    """At most half of the files that may be open, of which as many are asked for as are needed."""
    most = streams + BESIDE_STREAMS
    if resource is None:
        return most
    files, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * most if highest == resource.RLIM_INFINITY else min(2 * most, highest)
    if files != resource.RLIM_INFINITY and files < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, highest))
        except (ValueError, OSError):  # a system that has a lower limit of its own
            wanted = files
    return min(most, wanted // 2)


class Quiet:
    """What goes wrong in an event loop is logged, but not a hundred times a second that files are short."""

    def __init__(self) -> None:
        self._again = 0.0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if context.get("message") != NO_FILES:
            loop.default_exception_handler(context)
        elif time.monotonic() >= self._again:
            self._again = time.monotonic() + QUIET
            log.error("Connections cannot be accepted: this process may open no more files (see ulimit -n).")


LAST_STEP = 5.0  # seconds for the steps that are under way when the time to end is up
REQUESTS = "AnyIO worker thread"  # as anyio names them
SWITCH = 0.001  # seconds after which a thread that computes lets others have their turn: those who decide wait for none

COLLECT = 50_000  # objects after which garbage is looked for: a large request is made of many, and all wait meanwhile


def serve(engine: Veracity, door: Door, announce: Callable[[Door], None]) -> None:
    """Until it is told to stop. `announce` is called when it answers."""
    sys.setswitchinterval(SWITCH)
    gc.set_threshold(COLLECT)
    Connection.most = most_connections(engine.settings.server.streams)
    app = make_app(engine, door.token, door.host)
    server = Server(app, engine.settings.server, lambda: announce(door))
    threading.Thread(target=_prepare, args=(engine,), name="veracity-prepare", daemon=True).start()
    server.run(sockets=[door.listening])
    _end_threads(app)


def _prepare(engine: Veracity) -> None:
    with suppress(VeracityError):  # who asks is told
        engine.prepare()
    gc.freeze()  # what is loaded stays, so it need not be looked through again and again


class Server(uvicorn.Server):
    """Told to stop, it first lets go of what is under way; told so twice, it ends at once, and loses nothing either."""

    def __init__(self, app: FastAPI, settings: ServerSettings, when_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                backlog=AT_ONCE,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=3,
            )
        )
        self._app = app
        self._when_ready = when_ready
        self._grace = settings.grace
        self._is_stopping = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(Quiet())
        await super().startup(sockets)
        if self._is_stopping:
            self._begin_to_stop()
        elif self.started:
            self._when_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._is_stopping:
            os._exit(130)
        self._is_stopping = True
        if self.started:  # else as soon as it has
            self._begin_to_stop()

    def _begin_to_stop(self) -> None:
        threading.Thread(target=self._stop, name="veracity-stop", daemon=True).start()

    def _stop(self) -> None:
        try:
            self._app.state.changes.stop()
            self._app.state.live.stop(self._grace)
            self._app.state.feed.stop()
        finally:
            self.should_exit = True


def _end_threads(app: FastAPI) -> None:
    """A step that hangs in a model, or a file that is still being read, is not waited for: it is taken up again by the
    next process. Nor is a request whose client was sent away: Python itself would wait for its thread."""
    end = time.monotonic() + LAST_STEP
    while (app.state.live.working or _requests()) and time.monotonic() < end:
        time.sleep(0.05)
    if app.state.live.working or app.state.changes.is_at_work or _requests():
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


def _requests() -> list[threading.Thread]:
    """Those that are under way: the others have ended with the loop."""
    return [thread for thread in threading.enumerate() if thread.name == REQUESTS]
