"""Drafts that wait for a person, and decisions on them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, ConfigDict, Field

from veracity.models import Approval, ApprovalState, Draft, User, Verdict
from veracity.server.access import Caller, Engine, Live, require_role
from veracity.server.problems import refusals
from veracity.server.standing import approval_without_draft, reaches, require_sight, sees_drafts

router = APIRouter(prefix="/api/approvals", tags=["approvals"])


class Decided(BaseModel):
    """With `draft_hash`, only the draft that was seen is decided on. `edit` is what goes out in the draft's place."""

    model_config = ConfigDict(extra="forbid")

    verdict: Verdict
    reason: Annotated[str, Field(max_length=2000)] = ""
    edit: Annotated[str, Field(max_length=20_000)] | None = None
    draft_hash: Annotated[str, Field(max_length=200)] | None = None


@router.get("", responses=refusals(400))
def approvals(
    caller: Caller,
    engine: Engine,
    state: ApprovalState | Literal["any"] = "pending",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[Approval]:
    """Those that wait, the longest waiting first; of another state, the newest first. An asker sees his own."""
    user = None if reaches(caller, "approver") else caller.name
    return [_shown(one, caller, engine) for one in engine.approvals(user=user, limit=limit, state=state)]


@router.get("/{approval_id}", responses=refusals(404))
def approval(approval_id: str, caller: Caller, engine: Engine) -> Approval:
    return _shown(_found(approval_id, caller, engine), caller, engine)


@router.get("/{approval_id}/history", responses=refusals(404))
def history(approval_id: str, caller: Caller, engine: Engine) -> list[Draft]:
    """All drafts of its run so far, each with what the reviewer said."""
    found = _found(approval_id, caller, engine)
    if found.state == "pending" and not sees_drafts(caller, engine.settings.server):
        return []
    return engine.receipt(found.run_id).drafts


@router.post("/{approval_id}/decision", responses=refusals(400, 403, 404, 409, 413, 503))
def decide(
    approval_id: str,
    decided: Decided,
    caller: Caller,
    engine: Engine,
    live: Live,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Approval:
    """The first decision counts. Returns as soon as it does; the run goes on by itself, and its events tell how."""
    found = _found(approval_id, caller, engine)
    require_role(caller, "approver")
    return live.decide(
        caller,
        found.approval_id,
        decided.verdict,
        reason=decided.reason,
        edit=decided.edit,
        draft_hash=decided.draft_hash,
        key=idempotency_key,
    )


def _found(approval_id: str, caller: User, engine: Engine) -> Approval:
    found = engine.approval(approval_id)
    require_sight(caller, found.user, "approval", approval_id)
    return found


def _shown(approval: Approval, caller: User, engine: Engine) -> Approval:
    is_open = approval.state != "pending" or sees_drafts(caller, engine.settings.server)
    return approval if is_open else approval_without_draft(approval)
