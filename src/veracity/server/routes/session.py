"""Signing in with a token, and the signed-in user."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from veracity.models import Role
from veracity.models.calibration import Statement
from veracity.models.strength import Scales
from veracity.server.auth import Caller, Engine, authenticate_token, cookie_name, set_session_cookie
from veracity.server.errors import error_responses
from veracity.version import __version__

router = APIRouter(prefix="/api", tags=["session"])


class Token(BaseModel):
    token: Annotated[str, Field(min_length=1, max_length=500)]


class UploadLimits(BaseModel):
    upload_megabytes: int


class Me(BaseModel):
    """The signed-in user, and the settings that the page needs."""

    user: str
    role: Role
    version: str
    drafts: str
    threshold: float
    language_thresholds: dict[str, float] = Field(description="of languages with a threshold of their own")
    grounding_floor: float
    scales: Scales = Field(description="from where on values are called fair and strong")
    policy: str
    undo_seconds: float = Field(description="how long the page holds a decision back")
    web: bool
    writer: str = Field(description="empty if answers are extracted without a model")
    reviewer: str
    languages: list[str] = ["en", "zh", "ja"]
    limits: UploadLimits
    calibration: Statement | None = Field(default=None, description="for approvers: what the threshold promises")


@router.post("/session", status_code=204, responses=error_responses(413))
async def sign_in(body: Token, request: Request) -> Response:
    """Sign in: sets a cookie with the token that scripts cannot read."""
    await authenticate_token(body.token, request)
    response = Response(status_code=204)
    set_session_cookie(request, response, body.token)
    return response


@router.delete("/session", status_code=204, responses=error_responses())
def sign_out(request: Request) -> Response:
    """Sign out: deletes the cookie."""
    response = Response(status_code=204)
    response.delete_cookie(cookie_name(request), httponly=True, samesite="strict")
    return response


@router.get("/me", responses=error_responses())
def read_me(caller: Caller, engine: Engine) -> Me:
    """The signed-in user and the settings that the page needs."""
    settings = engine.settings
    return Me(
        user=caller.name,
        role=caller.role,
        version=__version__,
        drafts=settings.server.drafts,
        threshold=settings.approval.threshold,
        language_thresholds=settings.approval.language_thresholds,
        grounding_floor=settings.approval.grounding_floor,
        scales=settings.scales,
        policy=settings.approval.policy,
        undo_seconds=settings.approval.undo_seconds,
        web=settings.web.provider != "none",
        writer=settings.models.writer or "",
        reviewer=settings.models.reviewer or "",
        limits=UploadLimits(upload_megabytes=settings.server.upload_megabytes),
        calibration=engine.calibrator.statement() if settings.approval.calibrated and caller.role != "asker" else None,
    )
