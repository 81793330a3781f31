"""Asking a question: for the answer, or for all that happens on the way to it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, ConfigDict, Field

from veracity.models import Answer
from veracity.server.access import Caller, Live
from veracity.server.problems import refusals
from veracity.server.streaming import EVENTS, EventStream, lines_of, stream_place, wants_events, while_welcome

router = APIRouter(prefix="/api", tags=["runs"])


class Asked(BaseModel):
    """Questions of one `conversation` follow on one another. `deadline` is in seconds."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(min_length=1, max_length=20_000)]
    conversation: Annotated[str, Field(max_length=500)] = ""
    max_rewrites: Annotated[int, Field(ge=0, le=20)] | None = None
    deadline: Annotated[float, Field(gt=0, le=86400, allow_inf_nan=False)] | None = None


@router.post("/ask", response_model=Answer, responses={**refusals(400, 413, 500, 502, 503), 200: EVENTS})
async def ask(
    asked: Asked, caller: Caller, live: Live, request: Request, accept: Annotated[str, Header()] = "*/*"
) -> Any:
    """The answer, once it stands, was given up, or waits for a person. With `Accept: text/event-stream`, the events of
    the run; who loses the connection resumes at /api/runs/{run_id}/events."""
    chosen = {"conversation": asked.conversation, "max_rewrites": asked.max_rewrites, "deadline": asked.deadline}
    start = partial(live.start, caller, asked.question, **chosen)  # type: ignore[arg-type]
    if not wants_events(accept):
        return await live.outcome(await run_sync(start), caller)
    with stream_place(request, caller) as closed:  # first: a question that was taken in is not refused any more
        run_id = await run_sync(start)
        events = while_welcome(request, caller, live.follow(run_id, caller))
        return EventStream(lines_of(events), closed, {"X-Veracity-Run": run_id})
