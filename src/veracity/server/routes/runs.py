"""Runs: list, receipt, events and feedback."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, ConfigDict, Field

from veracity.locales import choose_language
from veracity.models import Feedback, Receipt, RunSummary, Thumb, User
from veracity.server.auth import AuthenticatedRoute, Caller, Engine, Live, require_role
from veracity.server.errors import error_responses
from veracity.server.permissions import redact_paths, redact_receipt, require_full_id, require_visible
from veracity.server.sse import EventStream, stream_events

router = APIRouter(prefix="/api/runs", tags=["runs"], route_class=AuthenticatedRoute)

RECEIPT_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
EVENTS_DESCRIPTION = (
    "Server-sent events, each with `kind` and `run_id`: `queued` (`ahead`: queue position), `started` (`name` of the "
    "step), `draft` (`text`; `begins`: it replaces the draft so far), `finished` (`name`, `step`), and finally "
    "`answer` (the `answer`) or `failed` (the `problem`)."
)


class FeedbackRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    thumb: Thumb
    why: Annotated[str, Field(max_length=2000)] = ""


@router.get("", responses=error_responses())
def list_runs(
    caller: Caller,
    engine: Engine,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    everyone: Annotated[bool, Query(description="runs of all users, for approvers")] = False,
    after: Annotated[str, Query(max_length=100, description="the last known run")] = "",
) -> list[RunSummary]:
    """List runs, newest first."""
    if everyone:
        require_role(caller, "approver")
    return redact_paths(engine.runs(limit, user=None if everyone else caller.name, after=after), caller)


@router.get("/{run_id}", responses=error_responses(404))
def read_receipt(run_id: str, caller: Caller, engine: Engine) -> Receipt:
    """A run's receipt: everything that is recorded about it."""
    return _receipt(run_id, caller, engine)


@router.get("/{run_id}/page", response_class=HTMLResponse, responses=error_responses(404, is_text=True))
def read_receipt_page(
    run_id: str,
    caller: Caller,
    engine: Engine,
    lang: Annotated[str, Query(max_length=35, description="`en`, `zh` or `ja`; else as Accept-Language says")] = "",
    zone: Annotated[str, Query(max_length=64, description="the time zone, such as `Asia/Tokyo`; else UTC")] = "",
    accept_language: Annotated[str, Header(max_length=500)] = "",
) -> HTMLResponse:
    """The receipt as a self-contained HTML page in the reader's language, with a link to the answer."""
    receipt = _receipt(run_id, caller, engine)
    language = choose_language(lang) or choose_language(accept_language)
    page = engine.receipt_html(receipt, language=language, zone=zone, home=f"/#/runs/{quote(receipt.run.run_id)}")
    return HTMLResponse(page, headers=RECEIPT_HEADERS)


@router.get(
    "/{run_id}/events",
    status_code=200,
    response_class=EventStream,
    response_description=EVENTS_DESCRIPTION,
    responses=error_responses(404, is_text=True),
)
async def follow_run(
    run_id: str,
    caller: Caller,
    live: Live,
    request: Request,
    last_event_id: Annotated[str, Header(max_length=100)] = "",
    after: Annotated[str, Query(max_length=100, description="like Last-Event-ID")] = "",
) -> EventStream:
    """Follow a run from the given event until it ends or waits for approval."""
    await live.require_visible(require_full_id(run_id, "run"), caller)
    return stream_events(request, caller, lambda: live.follow(run_id, caller, last_event_id or after))


@router.post("/{run_id}/feedback", responses=error_responses(400, 404))
def give_feedback(run_id: str, body: FeedbackRequest, caller: Caller, engine: Engine) -> Feedback:
    """Rate an answer. After thumbs down, similar questions are searched for more thoroughly."""
    run = _receipt(run_id, caller, engine).run
    return engine.rate(run.run_id, body.thumb, why=body.why, by=caller.name)


def _receipt(run_id: str, user: User, engine: Engine) -> Receipt:
    receipt = engine.receipt(require_full_id(run_id, "run"))
    require_visible(user, receipt.run.user, "run", run_id)
    return redact_receipt(receipt, user, engine.settings.server)
