"""How good the evidence for a question is (SPEC C1, C2)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Grade = Literal["high", "medium", "low"]
Shortfall = Literal["empty", "coverage", "relevance", "diversity", "count"]

Share = Field(ge=0, le=1)


class QualityIssue(BaseModel):
    model_config = ConfigDict(frozen=True)

    code: Shortfall
    text: str


class Quality(BaseModel):
    """Each dimension from 0 to 1. `coverage` is None where no weak point of the asker matches the question."""

    model_config = ConfigDict(frozen=True)

    grade: Grade
    score: float = Share
    issues: list[QualityIssue] = []
    coverage: float | None = None
    relevance: float = 0.0
    diversity: float = 0.0
    count: float = 0.0
