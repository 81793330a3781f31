"""Reviews of a draft by a model or local checks (SPEC A6, A7), and a person's decision on it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from veracity.models.evaluation import WritableText
from veracity.models.llm import Usage

Verdict = Literal["approve", "reject", "send_back"]


class Decision(BaseModel):
    """A person's decision, or "expire" by nobody. `edit` is the text that replaces the draft; the `reason` of
    "send_back" is the note for the next one."""

    model_config = ConfigDict(frozen=True)

    verdict: Verdict | Literal["expire"]
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
    """`outcome` is "doubtful" for a failed review below the configured confidence, which does not count, and
    "not_reviewed" if the reviewer failed: `problem` says why. `reviewer` is a model, or "local"."""

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


class Difference(BaseModel):
    """A piece of two compared texts. Without "new" the pieces join to the first text, without "gone" to the second."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["same", "gone", "new"]
    text: str
