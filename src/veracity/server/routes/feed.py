"""The feed of workspace changes."""

from __future__ import annotations

from fastapi import APIRouter, Request

from veracity.server.auth import Caller
from veracity.server.errors import error_responses
from veracity.server.sse import EventStream, stream_events

router = APIRouter(prefix="/api", tags=["feed"])

DESCRIPTION = (
    "Server-sent events: `hello` (number of `pending` drafts), `approval` (a draft became pending or was decided), "
    "`documents` (they changed), `examples` (other example questions were found)."
)


@router.get(
    "/events",
    status_code=200,
    response_class=EventStream,
    response_description=DESCRIPTION,
    responses=error_responses(is_text=True),
)
async def follow_feed(caller: Caller, request: Request) -> EventStream:
    """Follow pending drafts, decisions and document changes, whichever process makes them."""
    return stream_events(request, caller, lambda: request.app.state.feed.listen(caller))
