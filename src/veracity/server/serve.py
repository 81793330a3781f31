"""Running the server with uvicorn: connection limits, startup and shutdown."""

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
from uvicorn.protocols.http.h11_impl import H11Protocol

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.server.app import make_app
from veracity.server.listen import Listener
from veracity.settings import ServerSettings

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

HEADER_SECONDS = 10.0  # for a request's headers, and between requests without a token
KEEP_ALIVE_SECONDS = 75  # between requests with a token
EXTRA_CONNECTIONS = 500  # besides event streams
ACCEPT_BACKLOG = 100  # asyncio accepts so many connections before the limit applies
SHUTDOWN_SECONDS = 5.0  # for steps that are running when the grace period ends
SWITCH_SECONDS = 0.001  # thread switch interval: short, so that computing threads do not delay decisions
GC_THRESHOLD = 50_000  # objects; large requests create many, and a collection pauses all threads
REQUEST_THREAD = "AnyIO worker thread"  # anyio's name for it


def serve(engine: Veracity, listener: Listener, announce: Callable[[Listener], None], *, works: bool = True) -> None:
    """Runs until a signal stops it. Calls `announce` once the server accepts requests. Unless it `works`, questions are
    left to workers."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(GC_THRESHOLD)
    Connection.max_connections = max_connections(engine.settings.server.streams)
    app = make_app(engine, listener.token, listener.host, works=works, options=listener.options)
    server = Server(app, engine.settings.server, lambda: announce(listener))
    threading.Thread(target=_prepare, args=(engine,), name="veracity-prepare", daemon=True).start()
    server.run(sockets=[listener.listening])
    _end_threads(app)


class Connection(H11Protocol):
    """Defends against clients that hold connections open, also where no reverse proxy does.

    Closes connections whose headers arrive too slowly. Over the limit, it closes the oldest connection without a
    token, then the oldest idle one, so that users with a token are always served.
    """

    max_connections = 2 * EXTRA_CONNECTIONS
    _had_token = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.since = time.monotonic()
        super().connection_made(transport)
        self._timer = self.loop.call_later(HEADER_SECONDS, transport.close)
        if len(self.connections) > self.max_connections:
            self._evict()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._timer and self.is_active:
            self._timer.cancel()
            self._timer = None
        elif not (self._timer or self.is_active):
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def on_response_complete(self) -> None:
        self._had_token = self.has_token
        self.timeout_keep_alive = KEEP_ALIVE_SECONDS if self.has_token else HEADER_SECONDS  # type: ignore[assignment]
        super().on_response_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """A stranger's request for a WebSocket is answered as any other. uvicorn would log advice to install one."""

    @property
    def is_active(self) -> bool:
        """Whether a request is being handled."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def has_token(self) -> bool:
        return self._had_token or (self.scope is not None and "user" in self.scope["state"])

    def _evict(self) -> None:
        others = (other for other in self.connections if isinstance(other, Connection) and other is not self)
        closable = (other for other in others if not (other.has_token and other.is_active))
        evicted = min(closable, key=lambda other: (other.has_token, other.since), default=self)
        self.connections.discard(evicted)
        evicted.transport.abort()  # `close` would first wait until the client has read everything


def max_connections(streams: int) -> int:
    """At most half of the files that the process may open. Raises that limit as far as needed and allowed."""
    wanted = streams + EXTRA_CONNECTIONS
    if resource is None:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = 2 * wanted if hard == resource.RLIM_INFINITY else min(2 * wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
        except (ValueError, OSError):  # the system has a lower limit of its own
            files = soft
    return min(wanted, files // 2)


class Server(uvicorn.Server):
    """On the first signal it lets runs finish or pause; on the second it exits at once. Neither loses a run."""

    def __init__(self, app: FastAPI, settings: ServerSettings, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                backlog=ACCEPT_BACKLOG,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=3,
            )
        )
        self._app = app
        self._on_ready = on_ready
        self._grace = settings.grace
        self._is_stopping = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._is_stopping:
            self._stop_in_background()
        elif self.started:
            self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._is_stopping:
            os._exit(130)
        self._is_stopping = True
        if self.started:  # otherwise `startup` stops it
            self._stop_in_background()

    def _stop_in_background(self) -> None:
        threading.Thread(target=self._stop, name="veracity-stop", daemon=True).start()

    def _stop(self) -> None:
        try:
            self._app.state.document_jobs.stop()
            self._app.state.live.stop(self._grace)
            self._app.state.feed.stop()
        finally:
            self.should_exit = True


def _prepare(engine: Veracity) -> None:
    with suppress(VeracityError):  # the first question reports it
        engine.prepare()
    gc.freeze()  # loaded modules stay: keep them out of every later collection


def _end_threads(app: FastAPI) -> None:
    """Exits even if a step hangs in a model, a file is still being read or a request's client is gone, because Python
    would wait for their threads. The next process resumes runs and uploads."""
    state, end = app.state, time.monotonic() + SHUTDOWN_SECONDS
    while (state.live.running or _request_threads()) and time.monotonic() < end:
        time.sleep(0.05)
    if state.live.running or state.document_jobs.is_running or _request_threads():
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


def _request_threads() -> list[threading.Thread]:
    """Threads of unfinished requests: idle ones ended with the event loop."""
    return [thread for thread in threading.enumerate() if thread.name == REQUEST_THREAD]
