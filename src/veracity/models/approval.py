"""An answer that waits for a person's decision (SPEC D6)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from veracity.models.answer import Answer
from veracity.models.review import Decision

ApprovalState = Literal["pending", "approved", "rejected", "superseded"]
ApprovalReason = Literal[
    "low_score",
    "not_scored",
    "low_grounding",
    "not_reviewed",
    "review_failed",
    "uncertain",
    "abstained",
    "policy",
    "audit",
]
OnReject = Literal["search", "searched", "end", "record"]


class Approval(BaseModel):
    """`draft` is the answer as it would be released; a decision with another `draft_hash` is refused.

    `why` says why it waits. `on_reject` says what a rejection does: "search" searches the web; "searched" and "end" end
    the run, because this turn has searched the web already, or cannot (no provider, or the run's checkpoint was removed
    with a forgotten document). An "audit" is about an answer that was released: its decision is recorded ("record") and
    changes nothing; `inclusion` is the probability with which it was chosen. A "superseded" approval can no longer be
    decided: a document it relies on was forgotten.
    """

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
    inclusion: float = 1.0
    state: ApprovalState = "pending"
    decision: Decision | None = None


class ApprovalStanding(BaseModel):
    """An approval's state without its draft. `user` asked the question; `by` decided, and is empty while pending."""

    model_config = ConfigDict(frozen=True)

    approval_id: str
    run_id: str
    user: str
    state: ApprovalState
    question: str
    by: str = ""
