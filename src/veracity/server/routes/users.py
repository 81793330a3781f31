"""The users of the workspace, for admins: list, add, change the role, renew the token, remove.

A token is in the response that creates it, and nowhere else. Whoever has a revoked token is signed out at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from veracity.models import LOCAL, Role, User
from veracity.server.auth import (
    AdminCaller,
    AuthenticatedRoute,
    Authenticator,
    Engine,
    cookie_name,
    set_session_cookie,
)
from veracity.server.errors import error_responses

T = TypeVar("T")

router = APIRouter(prefix="/api", tags=["users"], route_class=AuthenticatedRoute)

MAX_NAME_LENGTH = 500  # a longer one is refused by the ledger, too
UserName = Annotated[str, Query(min_length=1, max_length=MAX_NAME_LENGTH)]


class NewUser(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH)]
    role: Role


class NewRole(BaseModel):
    model_config = ConfigDict(extra="forbid")

    role: Role


class UserToken(BaseModel):
    """The token cannot be read again."""

    name: str
    token: str


@router.get("/users", responses=error_responses(403))
def list_users(caller: AdminCaller, engine: Engine) -> list[User]:
    """List all users by name. "local", the user of the server's own token, is not among them."""
    return engine.users.list()


@router.post("/users", responses=error_responses(400, 403))
def add_user(body: NewUser, caller: AdminCaller, engine: Engine) -> UserToken:
    """Add a user. A second request with the same name is refused, and changes nothing."""
    return UserToken(name=body.name, token=engine.users.add(body.name, body.role))


@router.put("/user/role", status_code=204, responses=error_responses(400, 403, 404))
async def change_role(name: UserName, body: NewRole, caller: AdminCaller, engine: Engine, request: Request) -> None:
    """Change the role of a user. The only admin stays one, unless "local" changes it."""
    await _change(request, lambda: engine.users.change_role(name, body.role, keeps_admin=caller.name != LOCAL))


@router.post("/user/token", responses=error_responses(400, 403, 404))
async def renew_token(
    name: UserName, caller: AdminCaller, engine: Engine, request: Request, response: Response
) -> UserToken:
    """Issue a new token and revoke the old one. A browser that renews the token of its own user stays signed in."""
    token = await _change(request, lambda: engine.users.renew(name))
    if name == caller.name and cookie_name(request) in request.cookies:
        set_session_cookie(request, response, token)
    return UserToken(name=name, token=token)


@router.delete("/user", status_code=204, responses=error_responses(400, 403, 404))
async def remove_user(name: UserName, caller: AdminCaller, engine: Engine, request: Request) -> None:
    """Remove a user and revoke the token. Their questions and decisions are kept. The only admin can be removed by
    "local" only."""
    await _change(request, lambda: engine.users.remove(name, keeps_admin=caller.name != LOCAL))


async def _change(request: Request, change: Callable[[], T]) -> T:
    result = await run_sync(change)
    authenticator: Authenticator = request.app.state.authenticator
    authenticator.announce_change()
    return result
