"""A conversation: questions of one user that follow on one another, and what was answered (SPEC D2, D4)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Route = Literal["direct", "history", "knowledge", "web"]
# Those of a run, whose module imports this one.
TurnStatus = Literal["running", "interrupted", "awaiting_approval", "answered", "abstained", "rejected", "failed"]


class PastTurn(BaseModel):
    """`answer` is empty where there was none that may be used again. `number` counts the turns of its conversation,
    from 1. `similarity` is how well it fits what was searched for; `status` is that of its run."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    number: int
    question: str
    answer: str
    asked: datetime
    similarity: float = Field(default=0.0, ge=0, le=1)
    status: TurnStatus = "answered"


class Remembered(BaseModel):
    """What a conversation remembers: the turns up to number `folded` as a summary, those after it word for word."""

    model_config = ConfigDict(frozen=True)

    summary: str = ""
    folded: int = 0
    turns: list[PastTurn] = []


class ConversationSummary(BaseModel):
    """`title` is the first question."""

    model_config = ConfigDict(frozen=True)

    conversation: str
    user: str
    title: str
    turns: int
    started: datetime
    last: datetime
