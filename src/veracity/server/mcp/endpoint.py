"""/mcp of `veracity serve`: streamable HTTP without sessions, so that any server of the workspace answers any request.

Tokens, roles and limits are those of the API. The SDK is loaded by the first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from veracity.server.auth import authenticate
from veracity.server.errors import RefusedError
from veracity.server.limits import Limits
from veracity.server.mcp.tools import ToolCaller, Tools

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
NOT_INSTALLED = 'The MCP server needs an optional package: install it with pip install "veracity[mcp]".'


class McpRequests:
    """Handles authenticated requests from the first one until `stop`. Belongs to one event loop."""

    def __init__(self, make_tools: Callable[[], Tools]) -> None:
        self._make_tools = make_tools
        self._lock = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._manager: StreamableHTTPSessionManager | None = None
        self._running: asyncio.Task[None] | None = None

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._lock:
            manager = self._manager or await self._start()
        await manager.handle_request(scope, receive, send)

    async def stop(self) -> None:
        self._stopping.set()
        if self._running:
            await self._running

    async def _start(self) -> StreamableHTTPSessionManager:
        manager = await run_sync(_make_manager, self._make_tools())
        ready = asyncio.Event()
        self._running = asyncio.create_task(self._run(manager, ready))
        await ready.wait()
        self._manager = manager
        return manager

    async def _run(self, manager: StreamableHTTPSessionManager, ready: asyncio.Event) -> None:
        """In a task of its own, because the manager's tasks must end in the one that started them."""
        async with manager.run():
            ready.set()
            await self._stopping.wait()


class _Endpoint:
    """Authenticates before the body is read. Each request counts as an event stream while it lasts."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        user = await authenticate(request)
        if find_spec("mcp") is None:
            raise RefusedError(501, "NotInstalled", NOT_INSTALLED)
        limits: Limits = request.app.state.limits
        close = limits.open_stream(user.name)
        try:
            await request.app.state.mcp.handle(scope, receive, send)
        finally:
            close()


# Without sessions there is nothing to GET or DELETE.
route = Route(PATH, _Endpoint(), methods=["POST"], include_in_schema=False)


def _make_manager(tools: Tools) -> StreamableHTTPSessionManager:
    """Without the SDK's checks of Host and Origin: `middleware` has checked them."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - loads the SDK

    from veracity.server.mcp.protocol import Context, make_server  # noqa: PLC0415 - loads the SDK

    def find_caller(context: Context) -> ToolCaller:
        request = context.request
        if request is None:
            raise AssertionError("every message comes with its HTTP request")
        allows_decisions = request.query_params.get("allow") == "decide"
        return ToolCaller(request.state.user, allows_decisions, request)

    return StreamableHTTPSessionManager(make_server(tools, find_caller), stateless=True)
