"""Running the server and stopping it, and how what is under way is left.

Knows nothing about routes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from veracity.engine import Veracity
from veracity.server.app import make_app
from veracity.server.opening import Door
from veracity.settings import ServerSettings

LAST_STEP = 5.0  # seconds for the steps that are under way when the time to end is up
KEEP_ALIVE = 75
HEADERS = 10.0  # seconds in which what is asked must be said; the rest of a request has its own limit
REQUESTS = "AnyIO worker thread"  # as anyio names them
SWITCH = 0.001  # seconds after which a thread that computes lets others have their turn: those who decide wait for none


def serve(engine: Veracity, door: Door, announce: Callable[[Door], None]) -> None:
    """Until it is told to stop. `announce` is called when it answers."""
    sys.setswitchinterval(SWITCH)
    app = make_app(engine, door.token, door.host)
    server = Server(app, engine.settings.server, lambda: announce(door))
    server.run(sockets=[door.listening])
    _end_threads(app)


class Connection(H11Protocol):
    """Closed when no request comes, or one whose headers come too slowly: many such would take up all there are."""

    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._closing = self.loop.call_later(HEADERS, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_asked = self.cycle is not None and not self.cycle.response_complete
        if self._closing and is_asked:
            self._closing.cancel()
            self._closing = None
        elif not (self._closing or is_asked):
            self._closing = self.loop.call_later(HEADERS, self.transport.close)


class Server(uvicorn.Server):
    """Told to stop, it first lets go of what is under way; told so twice, it ends at once, and loses nothing either."""

    def __init__(self, app: FastAPI, settings: ServerSettings, when_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
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
