"""Signing in with a token, and who one is."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from veracity.models import Role
from veracity.server.auth import Caller, Engine, cookie_name, recognized
from veracity.server.errors import refusals
from veracity.version import __version__

router = APIRouter(prefix="/api", tags=["session"])


class Token(BaseModel):
    token: Annotated[str, Field(min_length=1, max_length=500)]


class UploadLimits(BaseModel):
    upload_megabytes: int


class Me(BaseModel):
    """Who asks, and what the page should know of this workspace. `writer` is empty where answers are extracted."""

    user: str
    role: Role
    version: str
    drafts: str
    threshold: float
    policy: str
    web: bool
    writer: str
    reviewer: str
    languages: list[str] = ["en", "zh", "ja"]
    limits: UploadLimits


@router.post("/session", status_code=204, responses=refusals(413))
async def sign_in(given: Token, request: Request) -> Response:
    """Sets a cookie that holds the token, which no script can read."""
    await recognized(given.token, request)
    response = Response(status_code=204)
    is_secure = request.headers.get("origin", "").startswith("https:")
    response.set_cookie(
        cookie_name(request), given.token, httponly=True, samesite="strict", secure=is_secure, max_age=30 * 86400
    )
    return response


@router.delete("/session", status_code=204, responses=refusals())
def sign_out(request: Request) -> Response:
    response = Response(status_code=204)
    response.delete_cookie(cookie_name(request), httponly=True, samesite="strict")
    return response


@router.get("/me", responses=refusals())
def me(caller: Caller, engine: Engine) -> Me:
    settings = engine.settings
    return Me(
        user=caller.name,
        role=caller.role,
        version=__version__,
        drafts=settings.server.drafts,
        threshold=settings.approval.threshold,
        policy=settings.approval.policy,
        web=settings.web.provider != "none",
        writer=settings.models.writer or "",
        reviewer=settings.models.reviewer or "",
        limits=UploadLimits(upload_megabytes=settings.server.upload_megabytes),
    )
