"""Drafts that wait for a person, and decisions on them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, ConfigDict, Field

from veracity.models import Approval, ApprovalState, Draft, User, Verdict
from veracity.server.auth import Caller, Engine, KnownFirst, Live, OnReserved, require_role
from veracity.server.errors import refusals
from veracity.server.permissions import (
    GONE_OUT,
    approval_without_draft,
    reaches,
    receipt_without_drafts,
    require_sight,
    sees_drafts,
    shown,
    whole,
)

router = APIRouter(prefix="/api/approvals", tags=["approvals"], route_class=KnownFirst)


class Decided(BaseModel):
    """With `draft_hash`, only the draft that was seen is decided on. `edit` is what goes out in the draft's place."""

    model_config = ConfigDict(extra="forbid")

    verdict: Verdict
    reason: Annotated[str, Field(max_length=2000)] = ""
    edit: Annotated[str, Field(max_length=20_000)] | None = None
    draft_hash: Annotated[str, Field(max_length=200)] | None = None


@router.get("", responses=refusals())
def approvals(
    caller: Caller,
    engine: Engine,
    state: Literal[ApprovalState, "any"] = "pending",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str, Query(max_length=100)] = "",
) -> list[Approval]:
    """Those that wait, the longest waiting first; of another state, the newest first. An asker sees his own. `after` is
    the last approval that is known."""
    user = None if reaches(caller, "approver") else caller.name
    return _shown(engine.approvals(user=user, limit=limit, state=state, after=after), caller, engine)


@router.get("/{approval_id}", responses=refusals(404))
def approval(approval_id: str, caller: Caller, engine: Engine) -> Approval:
    return _shown([_found(approval_id, caller, engine)], caller, engine)[0]


@router.get("/{approval_id}/history", responses=refusals(404))
def history(approval_id: str, caller: Caller, engine: Engine) -> list[Draft]:
    """All drafts of its run so far, each with what the reviewer said."""
    receipt = engine.receipt(_found(approval_id, caller, engine).run_id)
    is_whole = sees_drafts(caller, engine.settings.server)
    return shown((receipt if is_whole else receipt_without_drafts(receipt)).drafts, caller)


@router.post("/{approval_id}/decision", responses=refusals(400, 404, 409))
async def decide(
    approval_id: str,
    decided: Decided,
    caller: Caller,
    engine: Engine,
    live: Live,
    apart: OnReserved,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Approval:
    """The first decision counts. Returns as soon as it does; the run goes on by itself, and its events tell how."""

    def decision() -> Approval:
        found = _found(approval_id, caller, engine)
        require_role(caller, "approver")
        given = {"reason": decided.reason, "edit": decided.edit, "draft_hash": decided.draft_hash}
        return live.decide(caller, found.approval_id, decided.verdict, **given, key=idempotency_key)  # type: ignore[arg-type]

    return shown(await apart(decision), caller)


def _found(approval_id: str, caller: User, engine: Engine) -> Approval:
    found = engine.approval(whole(approval_id, "approval"))
    require_sight(caller, found.user, "approval", approval_id)
    return found


def _shown(found: list[Approval], caller: User, engine: Engine) -> list[Approval]:
    """An earlier draft of a run that is not over is a draft still."""
    if not sees_drafts(caller, engine.settings.server):
        statuses = engine.run_statuses([one.run_id for one in found])
        found = [one if statuses.get(one.run_id) in GONE_OUT else approval_without_draft(one) for one in found]
    return shown(found, caller)
