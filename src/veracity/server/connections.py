"""The connections of the server: how long one may be silent, and how many are open at once.

Knows nothing about routes and tokens: a request that was recognized says so in its state.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

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
