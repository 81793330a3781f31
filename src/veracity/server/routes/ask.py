"""Asking a question: for the answer, or for all that happens on the way to it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from veracity.engine import LONGEST_QUERY
from veracity.models import Answer, RunSummary
from veracity.server.auth import Caller, Engine, KnownFirst, Live
from veracity.server.errors import RUN_HEADER, refusals
from veracity.server.idempotency import begun_once
from veracity.server.limits import Computing
from veracity.server.permissions import shown, whole
from veracity.server.sse import EVENTS, run_response, wants_events

router = APIRouter(prefix="/api", tags=["runs"], route_class=KnownFirst)


class Asked(BaseModel):
    """Questions of one `conversation` follow on one another. `deadline` is in seconds."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
    conversation: Annotated[str, Field(max_length=500)] = ""
    max_rewrites: Annotated[int, Field(ge=0, le=20)] | None = None
    deadline: Annotated[float, Field(gt=0, le=86400, allow_inf_nan=False)] | None = None


@router.post("/ask", response_model=Answer, responses={**refusals(400, 409, 413, 500, 502, 503), 200: EVENTS})
async def ask(
    asked: Asked,
    caller: Caller,
    engine: Engine,
    live: Live,
    request: Request,
    response: Response,
    accept: Annotated[str, Header()] = "*/*",
    idempotency_key: Annotated[str, Header(max_length=200)] = "",
) -> Any:
    """The answer, once it stands, was given up, or waits for a person. With `Accept: text/event-stream`, the events of
    the run; who loses the connection resumes at /api/runs/{run_id}/events. Who does not know whether a question arrived
    sends it again under the same `Idempotency-Key`, and gets what comes of the run that is there."""
    chosen: dict[str, Any] = asked.model_dump() | {"key": idempotency_key}

    def begin() -> str:
        named = (idempotency_key, asked.question, asked.conversation)
        return begun_once(engine, caller, *named, lambda: live.start(caller, **chosen))

    questions: Computing = request.app.state.questions
    start = partial(questions, caller.name, begin)
    if wants_events(accept):
        return await run_response(request, caller, start, lambda run_id: live.follow(run_id, caller))
    run_id = await start()
    response.headers[RUN_HEADER] = run_id
    return await live.outcome(run_id, caller)


@router.post("/runs/{run_id}/stop", responses=refusals(404, 500))
async def stop(run_id: str, caller: Caller, live: Live) -> RunSummary:
    """A run that is under way has failed then; what a model is asked just now may end behind it. What has ended, waits
    for a person or follows from a decision stays as it is: the status tells. For whoever asked, and for approvers."""
    named = await live.require_sight(whole(run_id, "run"), caller)
    return shown(await run_sync(live.stop_run, caller, named), caller)
