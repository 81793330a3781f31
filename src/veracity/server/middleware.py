"""Checks every request's host, origin, size and speed, and sets security headers on every response."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from veracity.secrets import presentable
from veracity.server.errors import INTERNAL_ERROR, render_error, stopping_error
from veracity.settings import ServerSettings
from veracity.settings.sections import is_address

log = logging.getLogger("veracity.server")

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
APIS = ("/api/", "/v1/", "/mcp")
UPLOAD_PATH = "/api/documents"
UPLOAD_LIST_PATH = "/api/documents/upload"
MAX_UPLOAD_LIST_BYTES = 4 * 1024 * 1024  # ten thousand names
CHAT_PATHS = ("/v1/chat/completions", "/v1/responses")
CHAT_SIZE_FACTOR = 16  # clients send the whole conversation with every question, images too
SESSION_PATH = "/api/session"  # accepts a body without a token
MAX_SESSION_BYTES = 4096
CHUNK_SECONDS = 30.0  # between two chunks of a request
BODY_SECONDS = 120.0  # for the whole body, except of an upload
CLOSE = {"Connection": "close"}  # otherwise the server would read the rest of a refused request
FOREIGN_SITES = ("cross-site", "same-site")


class SecurityMiddleware:
    """Refuses requests for foreign hosts, from foreign pages, or that are too large or too slow."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, host: str) -> None:
        self._app = app
        self._hosts = {"localhost", _host_name(host), *settings.allowed_hosts} - {""}
        self._max_bytes = settings.request_kilobytes * 1024
        self._max_bytes_by_path = {
            UPLOAD_PATH: settings.upload_megabytes * 1024 * 1024,
            UPLOAD_LIST_PATH: MAX_UPLOAD_LIST_BYTES,
            **dict.fromkeys(CHAT_PATHS, CHAT_SIZE_FACTOR * self._max_bytes),
            SESSION_PATH: MAX_SESSION_BYTES,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        send = _add_headers(send, path)
        max_bytes = self._max_bytes_by_path.get(path, self._max_bytes)
        if refusal := self._refusal(path, Headers(scope=scope), max_bytes):
            await render_error(Request(scope), *refusal, CLOSE)(scope, receive, send)
        else:
            seconds = math.inf if path == UPLOAD_PATH else BODY_SECONDS
            await self._handle(scope, _limit_body(receive, max_bytes, seconds), send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Renders unexpected exceptions and cancellation as errors, unless the response has started."""
        has_started = False

        async def send_and_note_start(message: Message) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        try:
            await self._app(scope, receive, send_and_note_start)
        except asyncio.CancelledError:  # the server's shutdown timed out
            if not has_started:
                error = stopping_error()
                response = render_error(Request(scope), error.status, error.kind, str(error), error.headers)
                await response(scope, receive, send)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not has_started:
                await render_error(Request(scope), 500, "ServerError", INTERNAL_ERROR, {})(scope, receive, send)

    def _refusal(self, path: str, headers: Headers, max_bytes: int) -> tuple[int, str, str] | None:
        host = headers.get("host", "")
        if not self._is_own_host(host):
            name = presentable(_host_name(host))
            return 403, "Forbidden", f'"{name}" is not a name of this server: add it to server.allowed_hosts.'
        origin = headers.get("origin")
        is_foreign = origin is not None and _authority(origin) != host.lower()
        if is_foreign or (path.startswith(APIS) and headers.get("sec-fetch-site") in FOREIGN_SITES):
            return 403, "Forbidden", "This request comes from a page of another origin."
        if (length := headers.get("content-length", "")).isdecimal() and int(length[:18]) > max_bytes:
            return 413, "TooLarge", _too_large(max_bytes)
        return None

    def _is_own_host(self, host: str) -> bool:
        """Accepts IP addresses: only names can be rebound to this server by an attacker's DNS."""
        name = _host_name(host)
        return "@" not in host and (name in self._hosts or is_address(name))


def _host_name(host: str) -> str:
    """The host without its port; empty if invalid."""
    try:
        parts = urlsplit(f"//{host}")
    except ValueError:
        return ""
    return (parts.hostname or "").rstrip(".") if parts.netloc == host else ""


def _authority(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _too_large(max_bytes: int) -> str:
    return f"The request is larger than the limit of {max_bytes // 1024:,} kB."


def _limit_body(receive: Receive, max_bytes: int, seconds: float) -> Receive:
    """Limits the size and duration of a body, whatever its Content-Length says."""
    received, is_complete, end = 0, False, time.monotonic() + seconds

    async def receive_limited() -> Message:
        nonlocal received, is_complete
        try:
            timeout = min(CHUNK_SECONDS, end - time.monotonic())
            message = await asyncio.wait_for(receive(), None if is_complete else timeout)
        except TimeoutError:
            raise HTTPException(408, "the rest of the request did not arrive in time", CLOSE) from None
        is_complete = is_complete or not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > max_bytes:
            raise HTTPException(413, _too_large(max_bytes), CLOSE)
        return message

    return receive_limited


def _add_headers(send: Send, path: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store" if path.startswith(APIS) else "no-cache")
        await send(message)

    return send_with_headers
