"""Approvals: pending drafts, decisions on them, and comparing drafts."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from veracity.inbox import MAX_HOLD_SECONDS
from veracity.inputs import MAX_EDIT_LENGTH
from veracity.models import Approval, ApprovalState, Difference, Draft, User, Verdict
from veracity.server.auth import (
    ApproverCaller,
    AuthenticatedRoute,
    Caller,
    Engine,
    Live,
    from_state,
    require_role,
    run_reserved,
)
from veracity.server.errors import error_responses
from veracity.server.limits import ConcurrencyLimit
from veracity.server.permissions import (
    RELEASED_STATUSES,
    can_see_drafts,
    has_role,
    hide_approval_draft,
    redact_paths,
    redact_receipt,
    require_full_id,
    require_visible,
)

router = APIRouter(prefix="/api", tags=["approvals"], route_class=AuthenticatedRoute)

DraftText = Annotated[str, Field(max_length=MAX_EDIT_LENGTH)]
Comparisons = Annotated[ConcurrencyLimit, from_state("comparisons")]


class DifferencesRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    before: DraftText
    after: DraftText


class AssigneeRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    assignee: Annotated[str, Field(max_length=500)] = Field(description="a name from `/api/approvers`; empty: nobody")


class DecisionRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    verdict: Verdict
    reason: Annotated[str, Field(max_length=2000)] = ""
    edit: DraftText | None = Field(default=None, description="the text to release instead of the draft")
    hold: Annotated[float, Field(ge=0, le=MAX_HOLD_SECONDS)] = Field(
        default=0, description="seconds until the decision takes effect; until then it can be withdrawn"
    )
    draft_hash: Annotated[str, Field(max_length=200)] | None = Field(
        default=None, description="refuse the decision if another draft is pending"
    )


@router.get("/approvals", responses=error_responses())
def list_approvals(
    caller: Caller,
    engine: Engine,
    state: Literal[ApprovalState, "any"] = "pending",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str, Query(max_length=100, description="the last known approval")] = "",
) -> list[Approval]:
    """List pending approvals, oldest first, or those in another state, newest first. Askers see only their own."""
    user = None if has_role(caller, "approver") else caller.name
    return _redact(engine.approvals(user=user, limit=limit, state=state, after=after), caller, engine)


@router.get("/approvals/{approval_id}", responses=error_responses(404))
def read_approval(approval_id: str, caller: Caller, engine: Engine) -> Approval:
    """An approval with its draft."""
    return _redact([_find(approval_id, caller, engine)], caller, engine)[0]


@router.get("/approvals/{approval_id}/history", responses=error_responses(404))
def read_history(approval_id: str, caller: Caller, engine: Engine) -> list[Draft]:
    """All drafts of the run so far, each with its review."""
    receipt = engine.receipt(_find(approval_id, caller, engine).run_id)
    return redact_receipt(receipt, caller, engine.settings.server).drafts


@router.post("/approvals/{approval_id}/decision", responses=error_responses(400, 404, 409))
async def decide(
    approval_id: str,
    decision: DecisionRequest,
    caller: Caller,
    engine: Engine,
    live: Live,
    request: Request,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=200)] = None,
) -> Approval:
    """Approve, edit or reject a draft, or send it back with `reason` as a note for the next draft. The first decision
    counts. The run resumes in the background: follow its events."""

    def record() -> Approval:
        approval = _find(approval_id, caller, engine)
        require_role(caller, "approver")
        return live.decide(caller, approval.approval_id, **decision.model_dump(), key=idempotency_key)

    return redact_paths(await run_reserved(request, record), caller)


@router.delete("/approvals/{approval_id}/decision", responses=error_responses(404, 409))
async def withdraw_decision(
    approval_id: str, caller: ApproverCaller, engine: Engine, live: Live, request: Request
) -> Approval:
    """Undo your own decision before it takes effect (`hold`)."""
    pending = await run_reserved(request, lambda: live.withdraw(caller, _find(approval_id, caller, engine).approval_id))
    return redact_paths(pending, caller)


@router.put("/approvals/{approval_id}/assignee", responses=error_responses(400, 404, 409))
async def assign(
    approval_id: str, body: AssigneeRequest, caller: ApproverCaller, engine: Engine, live: Live, request: Request
) -> Approval:
    """Name the person who should decide a pending draft. Others may still decide it."""

    def record() -> Approval:
        return live.assign(_find(approval_id, caller, engine).approval_id, body.assignee)

    return redact_paths(await run_reserved(request, record), caller)


@router.get("/approvers", responses=error_responses())
def list_approvers(caller: ApproverCaller, engine: Engine) -> list[str]:
    """The names of those who may decide."""
    return sorted({caller.name, *(user.name for user in engine.users.list() if has_role(user, "approver"))})


@router.post("/differences", responses=error_responses())
async def compare_drafts(
    comparisons: Comparisons, caller: Caller, engine: Engine, body: DifferencesRequest
) -> list[Difference]:
    """Compare two texts word by word, as they read when their Markdown is rendered. Without the pieces of kind `new`
    the result joins to `before` as it reads, without those of kind `gone` to `after`."""
    return await comparisons(caller.name, lambda: engine.inbox.differences(body.before, body.after))


def _find(approval_id: str, user: User, engine: Engine) -> Approval:
    approval = engine.approval(require_full_id(approval_id, "approval"))
    require_visible(user, approval.user, "approval", approval_id)
    return approval


def _redact(approvals: list[Approval], user: User, engine: Engine) -> list[Approval]:
    """Decided drafts stay hidden as well while their run is not finished."""
    if not can_see_drafts(user, engine.settings.server):
        statuses = engine.run_statuses([approval.run_id for approval in approvals])
        approvals = [
            approval if statuses.get(approval.run_id) in RELEASED_STATUSES else hide_approval_draft(approval)
            for approval in approvals
        ]
    return redact_paths(approvals, user)
