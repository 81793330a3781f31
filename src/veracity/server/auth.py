"""Authentication: from a token to a user, and the dependencies that routes ask for."""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar, cast

from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from veracity.engine import Veracity
from veracity.models import LOCAL, Role, User
from veracity.server.errors import RefusedError
from veracity.server.limits import Limits
from veracity.server.live.runs import LiveRuns
from veracity.server.permissions import has_role

BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="From `veracity users add`, or VERACITY_TOKEN.")
COOKIE = "veracity_session"
SESSION_SECONDS = 30 * 86400
SEEN_SECONDS = 300.0  # how often a user's last visit is recorded

T = TypeVar("T")


class Authenticator:
    """Finds users by token. `own_token` belongs to the user "local"; all other tokens are in the ledger.

    `access_changed` is set by the next `announce_change`.
    """

    def __init__(self, engine: Veracity, own_token: str) -> None:
        self._users = engine.users
        self._own_token = own_token
        self._owner = User(name=LOCAL, role="admin", created=datetime.now(UTC))
        self._seen: dict[str, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.access_changed = asyncio.Event()

    def announce_change(self) -> None:
        """Lets open streams of this server check their token at once, after one was revoked or a role has changed."""
        changed, self.access_changed = self.access_changed, asyncio.Event()
        changed.set()

    def may_be_valid(self, token: str) -> bool:
        """Whether the token is well-formed. Avoids ledger lookups for invalid tokens."""
        return self.is_user_token(token) or self._is_own(token)

    def is_user_token(self, token: str) -> bool:
        return self._users.is_token(token)

    def may_be_guess(self, token: str, user: User | None) -> bool:
        """Whether the sender of the token, which belongs to `user`, may be guessing the server's own one: a person may
        have chosen it. Those of users are too long to guess, but a wrong one may have the form of the server's own."""
        is_guessable = not self.is_user_token(token) or self.is_user_token(self._own_token)
        return bool(token) and is_guessable and (user is None or user is self._owner)

    def find_user(self, token: str) -> User | None:
        return self._owner if self._is_own(token) else self._users.who(token)

    def record_visit(self, user: User) -> None:
        """Updates the time of the last visit, at most hourly. Runs in the background, because writes may block."""
        now = time.monotonic()
        if user.name == LOCAL or now - self._seen.get(user.name, -math.inf) < SEEN_SECONDS:
            return
        self._seen[user.name] = now
        task = asyncio.create_task(asyncio.to_thread(self._users.mark_seen, user))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _is_own(self, token: str) -> bool:
        return bool(self._own_token) and hmac.compare_digest(token.encode(), self._own_token.encode())


def cookie_name(request: Request) -> str:
    """The cookie name with the port, because several servers on a host share its cookies."""
    return f"{COOKIE}_{request.url.port or 'default'}"


def set_session_cookie(request: Request, response: Response, token: str) -> None:
    """Signs the browser in: a cookie with the token that scripts cannot read."""
    is_https = request.headers.get("origin", "").startswith("https:")
    response.set_cookie(
        cookie_name(request), token, max_age=SESSION_SECONDS, httponly=True, samesite="strict", secure=is_https
    )


async def find_sender(request: Request) -> User | None:
    return await _find_user(_read_token(request), request)


async def authenticate_token(token: str, request: Request) -> User:
    """Raises 401, or 429 after too many guesses from one address, even if this one is right."""
    limits: Limits = request.app.state.limits
    authenticator: Authenticator = request.app.state.authenticator
    user = await _find_user(token, request)
    if request.client and authenticator.may_be_guess(token, user):
        limits.require_few_wrong_tokens(request.client.host)
        if user is None:
            limits.count_wrong_token(request.client.host, token)
    if user is None:
        raise unauthorized()
    return user


async def authenticate(request: Request) -> User:
    """Authenticates and counts the request, once per request."""
    if user := getattr(request.state, "user", None):
        return cast(User, user)
    user = await authenticate_token(_read_token(request), request)
    request.state.user = user  # read by error handlers, and by `serve.Connection`
    request.app.state.limits.require_request(user.name)
    request.app.state.authenticator.record_visit(user)
    return user


def unauthorized() -> RefusedError:
    return RefusedError(
        401,
        "Unauthorized",
        "This needs a valid token: open the address that veracity serve printed, or send a token from "
        "veracity users add as Authorization: Bearer TOKEN.",
        {"WWW-Authenticate": "Bearer"},
    )


def require_role(user: User, role: Role) -> User:
    if not has_role(user, role):
        raise RefusedError(403, "Forbidden", f"This needs the role {role}; {user.name} has the role {user.role}.")
    return user


class AuthenticatedRoute(APIRoute):
    """Authenticates and rate-limits before the body is read, because bodies can be large."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def authenticate_and_handle(request: Request) -> Response:
            await authenticate(request)
            return await handle(request)

        return authenticate_and_handle


async def run_reserved(request: Request, work: Callable[[], T]) -> T:
    """Runs `work` on threads reserved for decisions, so that questions and searches cannot delay it."""
    return await run_sync(work, limiter=request.app.state.reserved_threads)


def _read_token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else request.cookies.get(cookie_name(request), "")


async def _find_user(token: str, request: Request) -> User | None:
    """On reserved threads, so that authentication never waits for other work."""
    authenticator: Authenticator = request.app.state.authenticator
    if not authenticator.may_be_valid(token):
        return None
    return await run_sync(authenticator.find_user, token, limiter=request.app.state.auth_threads)


async def _caller(request: Request, _described: Annotated[object, Depends(BEARER)]) -> User:
    return await authenticate(request)


async def _approver(user: Annotated[User, Depends(_caller)]) -> User:
    return require_role(user, "approver")


async def _admin(user: Annotated[User, Depends(_caller)]) -> User:
    return require_role(user, "admin")


def from_state(name: str) -> Any:
    """A dependency on an attribute of the app's state."""

    async def read(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(read)


Caller = Annotated[User, Depends(_caller)]
ApproverCaller = Annotated[User, Depends(_approver)]
AdminCaller = Annotated[User, Depends(_admin)]
Engine = Annotated[Veracity, from_state("engine")]
Live = Annotated[LiveRuns, from_state("live")]
