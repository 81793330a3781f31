"""What a reviewer finds in a draft (SPEC A6, A7)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from veracity.models.evaluation import WritableText
from veracity.models.llm import Usage

Verdict = Literal["approve", "reject"]


class Decision(BaseModel):
    """`edit` is the text that was put in the draft's place by whoever approved it."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict
    by: str
    at: datetime
    attempt: int = 1
    reason: str = ""
    edit: str | None = None


ReviewOutcome = Literal["passed", "failed", "doubtful", "not_reviewed"]


class Dimension(BaseModel):
    model_config = ConfigDict(frozen=True)

    passed: bool
    detail: WritableText = ""


class Review(BaseModel):
    """`outcome` is "doubtful" for a fail below the configured confidence, which does not count as one, and
    "not_reviewed" where the reviewer could not be had: `problem` says why. `reviewer` is a model, or "local"."""

    model_config = ConfigDict(frozen=True)

    passed: bool
    suggestions: list[WritableText] = []
    outcome: ReviewOutcome
    reasonableness: Dimension | None = None
    evidence: Dimension | None = None
    confidence: float = Field(default=1.0, ge=0, le=1)
    reviewer: str = "local"
    problem: str = ""
    usage: Usage = Usage()
