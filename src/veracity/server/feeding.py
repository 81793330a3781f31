"""The feed of what changes in the workspace."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from veracity.server.access import Caller
from veracity.server.problems import refusals
from veracity.server.streaming import EVENTS, follow_response

router = APIRouter(prefix="/api", tags=["feed"])


@router.get("/events", responses={**refusals(), 200: EVENTS})
async def events(caller: Caller, request: Request) -> Any:
    """Drafts that begin to wait, decisions whoever made them, changes of the documents."""
    return follow_response(request, caller, lambda: request.app.state.feed.listen(caller))
