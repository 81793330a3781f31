"""The MCP server of `veracity mcp`: standard input and output, for one local user."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime

import anyio
from anyio import CapacityLimiter
from mcp.server.stdio import stdio_server

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.models import LOCAL, User
from veracity.server.limits import ConcurrencyLimit, Limits
from veracity.server.live.runs import LiveRuns
from veracity.server.live.wakeups import Wakeups
from veracity.server.mcp.protocol import make_server
from veracity.server.mcp.tools import ToolCaller, Tools

DECISION_THREADS = 1
SHUTDOWN_SECONDS = 1.5  # for steps under way; clients kill the process soon after


def find_local_user(engine: Veracity, name: str) -> User:
    """The user of this name with their role. The local user is an admin, a name without a role an asker."""
    if name == LOCAL:
        return User(name=LOCAL, role="admin", created=datetime.now(UTC))
    known = (user for user in engine.users.list() if user.name == name)
    return next(known, User(name=name, role="asker", created=datetime.now(UTC)))


def serve_stdio(engine: Veracity, user: User, allows_decisions: bool) -> None:
    """Runs until the client closes standard input. Runs that have not ended resume with the next process."""
    threading.Thread(target=_prepare, args=(engine,), name="veracity-prepare", daemon=True).start()
    live = anyio.run(_serve, engine, ToolCaller(user, allows_decisions))
    end = time.monotonic() + SHUTDOWN_SECONDS
    while live.running and time.monotonic() < end:
        time.sleep(0.02)
    if live.running:  # Python would wait for the threads of a hanging step
        sys.stderr.flush()
        os._exit(0)


async def _serve(engine: Veracity, caller: ToolCaller) -> LiveRuns:
    wakeups = Wakeups(engine)
    live = LiveRuns(engine, Limits(engine.settings.server), wakeups, _ignore, _ignore)
    tools = Tools(
        engine, live, ConcurrencyLimit("searches"), ConcurrencyLimit("questions"), CapacityLimiter(DECISION_THREADS)
    )
    server = make_server(tools, lambda context: caller)
    try:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())
    finally:
        live.stop(grace=0)
        await wakeups.close()
    return live


def _ignore(*_: object) -> None:
    """No-op callback: there is no page to refresh."""


def _prepare(engine: Veracity) -> None:
    with suppress(VeracityError):  # the first question reports it
        engine.prepare()
