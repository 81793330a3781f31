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

import uvicorn
from fastapi import FastAPI

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.server.app import make_app
from veracity.server.connections import AT_ONCE, KEEP_ALIVE, Connection, Quiet, most_connections
from veracity.server.opening import Door
from veracity.settings import ServerSettings

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
