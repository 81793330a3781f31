"""A draft that waits for a person (SPEC D6)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from veracity.models.answer import Answer
from veracity.models.review import Decision

ApprovalState = Literal["pending", "approved", "rejected", "superseded"]
ApprovalReason = Literal["low_score", "not_scored", "not_reviewed", "abstained", "policy"]
OnReject = Literal["search", "searched", "end"]


class Approval(BaseModel):
    """`draft` is the answer as it would go out. `draft_hash` tells this draft from any other: a decision on another one
    is refused. `why` it waits; `on_reject` is what a rejection leads to: a search of the web, or the end of the run,
    since the web was "searched" already in this turn or cannot be ("end": there is no provider, or the progress of the
    run is gone with a document that was forgotten). "superseded": it cannot be decided any more, since a document it
    rests on was forgotten."""

    model_config = ConfigDict(frozen=True)

    approval_id: str
    run_id: str
    attempt: int
    user: str
    conversation: str = ""
    question: str
    why: ApprovalReason
    on_reject: OnReject
    draft: Answer
    draft_hash: str
    created: datetime
    state: ApprovalState = "pending"
    decision: Decision | None = None


class ApprovalStanding(BaseModel):
    """How an approval stands, without its draft. `user` is who asked, `by` who decided, empty while nobody has."""

    model_config = ConfigDict(frozen=True)

    approval_id: str
    run_id: str
    user: str
    state: ApprovalState
    question: str
    by: str = ""
