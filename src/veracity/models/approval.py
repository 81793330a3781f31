"""An answer that waits for a person's decision (SPEC D6)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from veracity.models.answer import Answer
from veracity.models.review import Decision

ApprovalState = Literal["pending", "approved", "rejected", "sent_back", "expired", "superseded"]
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
Channel = Literal["webhook", "mail"]
DeliveryEvent = Literal["approval.pending", "approval.assigned", "approval.decided", "approval.expired"]


class Approval(BaseModel):
    """`draft` is the answer as it would be released; a decision with another `draft_hash` is refused.

    `why` says why it waits. `on_reject` says what a rejection does: "search" searches the web; "searched" and "end" end
    the run, because this turn has searched the web already, or cannot (no provider, or the run's checkpoint was removed
    with a forgotten document). An "audit" is about an answer that was released: its decision is recorded ("record") and
    changes nothing; `inclusion` is the probability with which it was chosen. A "superseded" approval can no longer be
    decided: a document it relies on was forgotten.

    `send_backs` says how often the turn's draft can still be sent back. `assignee` is the person who should decide;
    others may. A pending approval ends at `expires`. A decision can be withdrawn until it is `effective`.
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
    send_backs: int = 0
    assignee: str = ""
    expires: datetime | None = None
    state: ApprovalState = "pending"
    decision: Decision | None = None
    effective: datetime | None = None

    @property
    def takes_long(self) -> bool:
        """Whether the decision leads to a web search or another draft."""
        return self.state == "sent_back" or (self.state == "rejected" and self.on_reject == "search")

    def is_open(self, now: datetime) -> bool:
        """Whether the run still waits: nobody has decided, or the decision can be withdrawn."""
        return self.state == "pending" or (self.effective is not None and self.effective > now)


class ApprovalStanding(BaseModel):
    """An approval's state without its draft. `user` asked the question; `by` decided, and is empty while pending."""

    model_config = ConfigDict(frozen=True)

    approval_id: str
    run_id: str
    user: str
    state: ApprovalState
    question: str
    by: str = ""
    assignee: str = ""


class Delivery(BaseModel):
    """An announcement of an approval. Receivers may get it more than once, always with the same `delivery_id`."""

    model_config = ConfigDict(frozen=True)

    delivery_id: str
    approval_id: str
    event: DeliveryEvent
    channel: Channel
    attempts: int
    created: datetime
