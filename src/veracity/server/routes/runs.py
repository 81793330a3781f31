"""Runs: what was asked, what happened, the receipt, and what people say of the answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from veracity.models import Feedback, Receipt, RunSummary, Thumb, User
from veracity.pages import receipt_page
from veracity.server.auth import Caller, Engine, KnownFirst, Live, require_role
from veracity.server.errors import refusals
from veracity.server.permissions import receipt_without_drafts, require_sight, sees_drafts, shown, whole
from veracity.server.sse import EventStream, follow_response

router = APIRouter(prefix="/api/runs", tags=["runs"], route_class=KnownFirst)

RECEIPT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


TOLD = (
    "Server-sent events, each with its `kind` and `run_id`: `queued` (so many are `ahead`), `started` (`name` of a "
    "step), `draft` (`text`; `begins`: what came before is left), `finished` (`name`, `step`), and as the last one "
    "`answer` (the `answer`) or `failed` (the `problem`)."
)


class Opinion(BaseModel):
    model_config = ConfigDict(extra="forbid")

    thumb: Thumb
    why: Annotated[str, Field(max_length=2000)] = ""


@router.get("", responses=refusals())
def runs(
    caller: Caller,
    engine: Engine,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    everyone: bool = False,
    after: Annotated[str, Query(max_length=100)] = "",
) -> list[RunSummary]:
    """What was asked, the latest first. `after` is the last run that is known."""
    if everyone:
        require_role(caller, "approver")
    return shown(engine.runs(limit, user=None if everyone else caller.name, after=after), caller)


@router.get("/{run_id}", responses=refusals(404))
def receipt(run_id: str, caller: Caller, engine: Engine) -> Receipt:
    """All that is known of a run."""
    return _receipt(run_id, caller, engine)


@router.get("/{run_id}/page", response_class=HTMLResponse, responses=refusals(404, of_text=True))
def page(run_id: str, caller: Caller, engine: Engine) -> HTMLResponse:
    """The same as one page that asks for nothing else."""
    made = receipt_page(_receipt(run_id, caller, engine))
    return HTMLResponse(made, headers={"Content-Security-Policy": RECEIPT_POLICY, "Cache-Control": "no-store"})


@router.get(
    "/{run_id}/events",
    status_code=200,
    response_class=EventStream,
    response_description=TOLD,
    responses=refusals(404, of_text=True),
)
async def events(
    run_id: str,
    caller: Caller,
    live: Live,
    request: Request,
    last_event_id: Annotated[str, Header(max_length=100)] = "",
    after: Annotated[str, Query(max_length=100)] = "",
) -> EventStream:
    """What happened since the event that is named, and what happens until the run ends or waits for a person."""
    await live.require_sight(whole(run_id, "run"), caller)
    return follow_response(request, caller, lambda: live.follow(run_id, caller, last_event_id or after))


@router.post("/{run_id}/feedback", responses=refusals(400, 404))
def feedback(run_id: str, opinion: Opinion, caller: Caller, engine: Engine) -> Feedback:
    """A thumb, and a word of why. Down makes the question one that is searched for harder next time."""
    run = _receipt(run_id, caller, engine).run
    return engine.rate(run.run_id, opinion.thumb, why=opinion.why, by=caller.name)


def _receipt(run_id: str, caller: User, engine: Engine) -> Receipt:
    found = engine.receipt(whole(run_id, "run"))
    require_sight(caller, found.run.user, "run", run_id)
    return shown(found if sees_drafts(caller, engine.settings.server) else receipt_without_drafts(found), caller)
