"""Who asks: from a token to a user, and what that user's role allows. Knows nothing about what is asked for."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Request

from veracity.engine import Veracity
from veracity.models import Role, User
from veracity.server.limits import Limits
from veracity.server.live import LiveRuns
from veracity.server.problems import RefusedError
from veracity.server.standing import reaches

COOKIE = "veracity_session"
LOCAL = "local"  # the command line's own user, to whom the start-up token belongs


class Access:
    """`own_token` is that of the start-up address or of VERACITY_TOKEN; all others are in the table of users."""

    def __init__(self, engine: Veracity, own_token: str) -> None:
        self._users = engine.users
        self._own_token = own_token
        self._owner = User(name=LOCAL, role="admin", created=datetime.now(UTC))

    def who(self, token: str) -> User | None:
        if self._own_token and hmac.compare_digest(token.encode(), self._own_token.encode()):
            return self._owner
        return self._users.who(token)


def token_of(request: Request) -> str:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    return request.cookies.get(cookie_name(request), "")


def cookie_name(request: Request) -> str:
    """Cookies do not know of ports, and several servers may run on one machine."""
    return f"{COOKIE}_{request.url.port or 'default'}"


def _caller(request: Request) -> User:
    access: Access = request.app.state.access
    token = token_of(request)
    user = access.who(token) if token else None
    if user is None:
        raise unauthorized()
    limits: Limits = request.app.state.limits
    limits.require_request(user.name)
    return user


def unauthorized() -> RefusedError:
    return RefusedError(
        401,
        "Unauthorized",
        "This needs a valid token: open the address that veracity serve printed, or send one that "
        "veracity users add gave, as Authorization: Bearer TOKEN.",
        {"WWW-Authenticate": "Bearer"},
    )


def _approver(user: Annotated[User, Depends(_caller)]) -> User:
    return require_role(user, "approver")


def _admin(user: Annotated[User, Depends(_caller)]) -> User:
    return require_role(user, "admin")


def require_role(user: User, role: Role) -> User:
    if not reaches(user, role):
        raise RefusedError(403, "Forbidden", f"This needs the role {role}, and {user.name} is {user.role}.")
    return user


def _engine(request: Request) -> Veracity:
    engine: Veracity = request.app.state.engine
    return engine


def _live(request: Request) -> LiveRuns:
    live: LiveRuns = request.app.state.live
    return live


Caller = Annotated[User, Depends(_caller)]
ApproverCaller = Annotated[User, Depends(_approver)]
AdminCaller = Annotated[User, Depends(_admin)]
Engine = Annotated[Veracity, Depends(_engine)]
Live = Annotated[LiveRuns, Depends(_live)]
