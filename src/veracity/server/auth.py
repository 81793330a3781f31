"""Who asks: from a token to a user, and what that user's role allows. Knows nothing about what is asked for."""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar, cast

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer

from veracity.engine import Veracity
from veracity.ledger.rows.users import SEEN_EVERY, TOKEN_PREFIX, Users
from veracity.models import LOCAL, Role, User
from veracity.server.errors import RefusedError
from veracity.server.limits import Limits
from veracity.server.live.runs import LiveRuns
from veracity.server.permissions import reaches


class Seeing:
    """For one event loop. Threads of its own do it: they may have to wait for others who write."""

    def __init__(self, users: Users) -> None:
        self._users = users
        self._noted: dict[str, float] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    def note(self, user: User) -> None:
        """Once an hour for each user who was added, however many requests come."""
        now = time.monotonic()
        if user.name == LOCAL or now - self._noted.get(user.name, -math.inf) < SEEN_EVERY.total_seconds():
            return
        self._noted[user.name] = now
        task = asyncio.create_task(asyncio.to_thread(self._users.seen, user))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)


T = TypeVar("T")

BEARER = HTTPBearer(auto_error=False, scheme_name="token", description="Of `veracity users add`, or VERACITY_TOKEN.")
COOKIE = "veracity_session"


class Access:
    """`own_token` is that of the start-up address or of VERACITY_TOKEN; all others are in the table of users."""

    def __init__(self, engine: Veracity, own_token: str) -> None:
        self._users = engine.users
        self._own_token = own_token
        self.seeing = Seeing(engine.users)
        self._owner = User(name=LOCAL, role="admin", created=datetime.now(UTC))

    def could_be(self, token: str) -> bool:
        """Whether it is worth a look at the table."""
        return token.startswith(TOKEN_PREFIX) or self._is_own(token)

    def who(self, token: str) -> User | None:
        return self._owner if self._is_own(token) else self._users.who(token)

    def _is_own(self, token: str) -> bool:
        return bool(self._own_token) and hmac.compare_digest(token.encode(), self._own_token.encode())


def token_of(request: Request) -> str:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    return request.cookies.get(cookie_name(request), "")


def cookie_name(request: Request) -> str:
    """Cookies do not know of ports, and several servers may run on one machine."""
    return f"{COOKIE}_{request.url.port or 'default'}"


async def who_sends(request: Request) -> User | None:
    return await _who_has(token_of(request), request)


async def _who_has(token: str, request: Request) -> User | None:
    """On threads that nothing else takes, so that nobody waits for a look at the table of users."""
    access: Access = request.app.state.access
    if not access.could_be(token):
        return None
    return await run_sync(access.who, token, limiter=request.app.state.knowing)


async def recognized(token: str, request: Request) -> User:
    """Whose token it is. Those of users cannot be guessed; the one that somebody chose for the server could be."""
    limits: Limits = request.app.state.limits
    is_guess = bool(token) and not token.startswith(TOKEN_PREFIX)
    address = request.client.host if request.client and is_guess else ""
    if address:
        limits.require_few_wrong_tokens(address)
    user = await _who_has(token, request)
    if user is None:
        if address:
            limits.note_wrong_token(address, token)
        raise unauthorized()
    return user


async def sender(request: Request) -> User:
    """Who asks, and the request is counted: once, however often this is called."""
    if known := getattr(request.state, "user", None):
        return cast(User, known)
    user = await recognized(token_of(request), request)
    request.state.user = user  # for what is refused from here on, and for `connections`
    limits: Limits = request.app.state.limits
    limits.require_request(user.name)
    request.app.state.access.seeing.note(user)
    return user


async def _caller(request: Request, _described: Annotated[object, Depends(BEARER)]) -> User:
    return await sender(request)


def unauthorized() -> RefusedError:
    return RefusedError(
        401,
        "Unauthorized",
        "This needs a valid token: open the address that veracity serve printed, or send one that "
        "veracity users add gave, as Authorization: Bearer TOKEN.",
        {"WWW-Authenticate": "Bearer"},
    )


async def _approver(user: Annotated[User, Depends(_caller)]) -> User:
    return require_role(user, "approver")


async def _admin(user: Annotated[User, Depends(_caller)]) -> User:
    return require_role(user, "admin")


def require_role(user: User, role: Role) -> User:
    if not reaches(user, role):
        raise RefusedError(403, "Forbidden", f"This needs the role {role}, and {user.name} is {user.role}.")
    return user


async def _engine(request: Request) -> Veracity:
    engine: Veracity = request.app.state.engine
    return engine


async def _live(request: Request) -> LiveRuns:
    live: LiveRuns = request.app.state.live
    return live


class Apart:
    """Does something on the threads that are reserved for deciding: who asks or searches takes none."""

    def __init__(self, request: Request) -> None:
        self._threads: CapacityLimiter = request.app.state.reserved

    async def __call__(self, work: Callable[[], T]) -> T:
        return await run_sync(work, limiter=self._threads)


async def _apart(request: Request) -> Apart:
    return Apart(request)


OnReserved = Annotated[Apart, Depends(_apart)]
Caller = Annotated[User, Depends(_caller)]
ApproverCaller = Annotated[User, Depends(_approver)]
AdminCaller = Annotated[User, Depends(_admin)]
Engine = Annotated[Veracity, Depends(_engine)]
Live = Annotated[LiveRuns, Depends(_live)]


class KnownFirst(APIRoute):
    """What a stranger sends, or one who has sent too much, is not read: it may be large."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def known_first(request: Request) -> Response:
            await sender(request)
            return await handle(request)

        return known_first
