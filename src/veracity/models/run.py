"""A run: one question on its way to an answer, as the ledger keeps it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from veracity.models.answer import Answer
from veracity.models.evidence import Evidence
from veracity.models.quality import Quality
from veracity.models.review import Review
from veracity.models.usage import Usage

RunStatus = Literal["running", "answered", "abstained", "failed"]


class Step(BaseModel):
    """What one step of a run did. `texts` hold what may come from documents, and go when one of them is forgotten;
    `facts` hold the rest."""

    model_config = ConfigDict(frozen=True)

    name: str
    started: datetime
    seconds: float
    facts: dict[str, Any] = {}
    texts: dict[str, Any] | None = {}


class RunSummary(BaseModel):
    model_config = ConfigDict(frozen=True)

    run_id: str
    question: str
    user: str
    status: RunStatus
    started: datetime
    seconds: float | None = None
    problem: str = ""


class Round(BaseModel):
    """One search: the query, what was found, and its grade. `rewritten` says how the query came about."""

    model_config = ConfigDict(frozen=True)

    query: str
    sources: list[str]
    evidence: list[Evidence]
    quality: Quality
    rewritten: str = ""


class Draft(BaseModel):
    """A draft and what the reviewer said of it. `epoch` is 0 for the first."""

    model_config = ConfigDict(frozen=True)

    epoch: int
    text: str
    review: Review | None = None


class Receipt(BaseModel):
    """All that is known of a run."""

    model_config = ConfigDict(frozen=True)

    run: RunSummary
    route: str
    models: dict[str, str]
    rounds: list[Round]
    drafts: list[Draft]
    answer: Answer | None
    usage: Usage
    steps: list[Step]


class RunEvent(BaseModel):
    """Something that just happened in a run: a step began, a step ended, or all
    ended and here is the answer."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["started", "finished", "answer"]
    run_id: str
    name: str = ""
    step: Step | None = None
    answer: Answer | None = None
