"""The feed of what changes in the workspace."""

from __future__ import annotations

from fastapi import APIRouter, Request

from veracity.server.auth import Caller
from veracity.server.errors import refusals
from veracity.server.sse import EventStream, follow_response

router = APIRouter(prefix="/api", tags=["feed"])


TOLD = (
    "Server-sent events: `hello` (how many drafts are `pending`), `approval` (how one stands that begins to wait, or "
    "was decided), `documents` (they changed)."
)


@router.get(
    "/events", status_code=200, response_class=EventStream, response_description=TOLD, responses=refusals(of_text=True)
)
async def events(caller: Caller, request: Request) -> EventStream:
    """Drafts that begin to wait, decisions whoever made them, changes of the documents."""
    return follow_response(request, caller, lambda: request.app.state.feed.listen(caller))
