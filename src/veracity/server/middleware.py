"""What every request must pass, and what every response carries: whose name it is addressed to, which page sends it,
how large it is. Knows nothing about users and routes."""

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
from veracity.server.errors import INSIDE, answer_with, stopping
from veracity.settings import ServerSettings
from veracity.settings.sections import is_address

log = logging.getLogger("veracity.server")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
ALWAYS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
UPLOADS = "/api/documents"
CHATS = "/v1/chat/completions"  # where all that was said before comes with every question, images too
LARGER = 16  # times that a request may be there
SESSION = "/api/session"  # where strangers may send something
TOKEN = 4096  # bytes that may come there
APIS = ("/api/", "/v1/")
SLOWEST = 30.0  # seconds between two pieces of a request
CLOSING = {"Connection": "close"}  # or the rest would be waited for
WHOLE = 120.0  # seconds for all of a request that is no upload
FROM_ELSEWHERE = ("cross-site", "same-site")


class Guard:
    def __init__(self, app: ASGIApp, settings: ServerSettings, host: str) -> None:
        self._app = app
        self._hosts = {"localhost", _name(host), *settings.allowed_hosts} - {""}
        self._largest = settings.request_kilobytes * 1024
        self._largest_upload = settings.upload_megabytes * 1024 * 1024

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        guarded = _guarded(send, scope["path"])
        sizes = {UPLOADS: self._largest_upload, CHATS: LARGER * self._largest, SESSION: TOKEN}
        largest = sizes.get(scope["path"], self._largest)
        refusal = self._refusal(scope["path"], headers, largest)
        if refusal:
            status, kind, message = refusal
            response = answer_with(Request(scope), status, kind, message, CLOSING)
            await response(scope, receive, guarded)
        else:
            seconds = math.inf if scope["path"] == UPLOADS else WHOLE
            await self._passed_on(scope, _counted(receive, largest, seconds), guarded)

    async def _passed_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """What nobody foresaw is told with the same care as all else."""
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except asyncio.CancelledError:  # the server ends, and has waited long enough
            if not has_begun:
                told = stopping("The server is stopping: ask again when it runs.")
                response = answer_with(Request(scope), told.status, told.kind, str(told), told.headers)
                await response(scope, receive, send)
        except Exception:
            log.exception("%s %s failed", scope["method"], scope["path"])
            if not has_begun:
                await answer_with(Request(scope), 500, "ServerError", INSIDE, {})(scope, receive, send)

    def _refusal(self, path: str, headers: Headers, largest: int) -> tuple[int, str, str] | None:
        host = headers.get("host", "")
        if not self._is_ours(host):
            told = f'This server is not reached as "{presentable(_name(host))}": name that in server.allowed_hosts.'
            return 403, "Forbidden", told
        origin = headers.get("origin")
        is_foreign = origin is not None and _authority(origin) != host.lower()
        if is_foreign or (path.startswith(APIS) and headers.get("sec-fetch-site") in FROM_ELSEWHERE):
            return 403, "Forbidden", "This request comes from a page of another origin."
        if (length := headers.get("content-length", "")).isdecimal() and int(length[:18]) > largest:
            return 413, "TooLarge", too_large(largest)
        return None

    def _is_ours(self, host: str) -> bool:
        """Only a name can be made to point here by somebody else: an address cannot."""
        name = _name(host)
        return "@" not in host and (name in self._hosts or is_address(name))


def _name(host: str) -> str:
    """Without the port; empty where it is none."""
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


def too_large(largest: int) -> str:
    return f"The request is larger than the {largest // 1024:,} kB that are taken."


def _counted(receive: Receive, largest: int, seconds: float) -> Receive:
    """A request that does not say how large it is, or takes its time."""
    received, is_complete, end = 0, False, time.monotonic() + seconds

    async def counted() -> Message:
        nonlocal received, is_complete
        try:
            left = min(SLOWEST, end - time.monotonic())
            message = await asyncio.wait_for(receive(), None if is_complete else left)
        except TimeoutError:
            raise HTTPException(408, "the rest of the request did not come", CLOSING) from None
        is_complete = is_complete or not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > largest:
            raise HTTPException(413, too_large(largest), CLOSING)
        return message

    return counted


def _guarded(send: Send, path: str) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in ALWAYS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store" if path.startswith(APIS) else "no-cache")
        await send(message)

    return guarded
