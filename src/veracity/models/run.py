"""A run: one question on its way to an answer, as the ledger keeps it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from veracity.models.answer import Answer
from veracity.models.approval import Approval
from veracity.models.evaluation import EvaluationResult
from veracity.models.evidence import Evidence, Quality
from veracity.models.llm import Usage
from veracity.models.people import Feedback
from veracity.models.review import Review

RunStatus = Literal["running", "interrupted", "awaiting_approval", "answered", "abstained", "rejected", "failed"]


class Step(BaseModel):
    """What one step of a run did. `texts` hold what may come from documents, and go when one of them is forgotten;
    `facts` hold the rest, and lose only the words of what went wrong."""

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
    conversation: str = ""


class RunParameters(BaseModel):
    """What a run was begun with, so that another process can take it up. `deadline` is in seconds of active time."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    question: str
    user: str
    conversation: str = ""
    max_rewrites: int
    deadline: float
    status: RunStatus = "running"
    seconds: float = 0.0
    usage: Usage = Usage()


class RunStanding(BaseModel):
    """How a run stands, for whoever looks often: who asked, how many steps the ledger holds, and whether anything of it
    was forgotten."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    user: str
    status: RunStatus
    steps: int
    forgotten: bool = False


class RunProgress(BaseModel):
    """How far a run has come, as the ledger knows it. `answer` is there once it ended, or waits for a person."""

    model_config = ConfigDict(frozen=True)

    run: RunSummary
    steps: list[Step]
    answer: Answer | None = None


class Round(BaseModel):
    """One search: the query, what was found, and its grade. `rewritten` says how the query came about."""

    model_config = ConfigDict(frozen=True)

    query: str
    sources: list[str]
    evidence: list[Evidence]
    quality: Quality
    rewritten: str = ""


class Draft(BaseModel):
    """A draft and what the reviewer said of it. `epoch` is 0 for the first of each attempt."""

    model_config = ConfigDict(frozen=True)

    attempt: int = 1
    epoch: int
    text: str
    review: Review | None = None


class Scoring(BaseModel):
    """How an attempt was scored; `problem` says why it was not."""

    model_config = ConfigDict(frozen=True)

    attempt: int
    threshold: float
    score: float | None = None
    result: EvaluationResult | None = None
    problem: str = ""


class WebPage(BaseModel):
    """A page that was looked up. `problem` says why its text could not be had; a snippet may stand in for it."""

    model_config = ConfigDict(frozen=True)

    url: str
    title: str = ""
    retrieved: datetime
    problem: str = ""


class WebLookup(BaseModel):
    """A search of the web: what was searched for, the pages that were opened, and what of them was used."""

    model_config = ConfigDict(frozen=True)

    attempt: int
    provider: str
    query: str
    pages: list[WebPage] = []
    evidence: list[Evidence] = []
    problem: str = ""


class Receipt(BaseModel):
    """All that is known of a run. `standalone` is the question as it was understood."""

    model_config = ConfigDict(frozen=True)

    run: RunSummary
    route: str
    route_reason: str = ""
    standalone: str = ""
    models: dict[str, str]
    rounds: list[Round]
    drafts: list[Draft]
    scorings: list[Scoring] = []
    approvals: list[Approval] = []
    web: list[WebLookup] = []
    feedback: list[Feedback] = []
    answer: Answer | None
    usage: Usage
    steps: list[Step]


class RunEvent(BaseModel):
    """Something that just happened in a run: a step began, a piece of a draft was written (`begins`: what was written
    before is left), a step ended, or all ended and here is the answer."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["started", "draft", "finished", "answer"]
    run_id: str
    name: str = ""
    text: str = ""
    begins: bool = False
    step: Step | None = None
    answer: Answer | None = None
