"""Asking a question, for the answer or for the run's events, and stopping a run."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from veracity.inputs import MAX_QUERY_LENGTH
from veracity.models import Answer, RunSummary
from veracity.server.auth import AuthenticatedRoute, Caller, Engine, Live
from veracity.server.errors import RUN_HEADER, error_responses
from veracity.server.idempotency import start_once
from veracity.server.permissions import limit_patterns, redact_paths, require_full_id
from veracity.server.routes.search import OnlyDocuments
from veracity.server.sse import ANSWER_OR_EVENTS, stream_run, wants_events

router = APIRouter(prefix="/api", tags=["runs"], route_class=AuthenticatedRoute)


class AskRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(min_length=1, max_length=MAX_QUERY_LENGTH)]
    conversation: Annotated[str, Field(max_length=500, description="continue this conversation")] = ""
    max_rewrites: Annotated[int, Field(ge=0, le=20, description="maximum query rewrites")] | None = None
    deadline: Annotated[float, Field(gt=0, le=86400, allow_inf_nan=False, description="seconds")] | None = None
    only: OnlyDocuments = []


@router.post(
    "/ask", response_model=Answer, responses={**error_responses(400, 409, 413, 500, 502, 503), 200: ANSWER_OR_EVENTS}
)
async def ask(
    body: AskRequest,
    caller: Caller,
    engine: Engine,
    live: Live,
    request: Request,
    response: Response,
    accept: Annotated[str, Header()] = "*/*",
    idempotency_key: Annotated[str, Header(max_length=200)] = "",
) -> Any:
    """Ask a question. Returns when the answer is final or waits for approval. With `Accept: text/event-stream`,
    streams the run's events; after a disconnect, resume at /api/runs/{run_id}/events. To retry safely, send the same
    `Idempotency-Key`: the existing run is followed."""

    def start() -> str:
        options = {**body.model_dump(), "only": limit_patterns(body.only, caller)}
        begin = partial(live.start, caller, **options, key=idempotency_key)
        return start_once(engine, caller, idempotency_key, body.question, body.conversation, begin)

    start_run = partial(request.app.state.questions, caller.name, start)
    if wants_events(accept):
        return await stream_run(request, caller, start_run, lambda run_id: live.follow(run_id, caller))
    run_id = await start_run()
    response.headers[RUN_HEADER] = run_id
    return await live.wait_for_answer(run_id, caller)


@router.post("/runs/{run_id}/stop", responses=error_responses(404, 500))
async def stop_run(run_id: str, caller: Caller, live: Live) -> RunSummary:
    """Stop a running run: its status becomes `failed`, and a model call in progress ends. Runs that have ended, wait
    for approval or were decided are unchanged. For the asker and approvers."""
    visible_id = await live.require_visible(require_full_id(run_id, "run"), caller)
    return redact_paths(await run_sync(live.stop_run, caller, visible_id), caller)
