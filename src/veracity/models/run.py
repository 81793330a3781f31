"""A run: one question from start to answer, as stored in the ledger."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from veracity.models.answer import Answer
from veracity.models.approval import Approval
from veracity.models.evaluation import EvaluationResult, MetricScore
from veracity.models.evidence import Evidence, Quality, WebPage
from veracity.models.examination import Examination
from veracity.models.llm import ModelCall, Usage
from veracity.models.people import Feedback
from veracity.models.review import Review
from veracity.models.steps import Step

RunStatus = Literal["running", "interrupted", "awaiting_approval", "answered", "abstained", "rejected", "failed"]


class RunSummary(BaseModel):
    """`examined` is what the verdict on its answer rests on; only lists have it."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    question: str
    user: str
    status: RunStatus
    started: datetime
    seconds: float | None = None
    problem: str = ""
    conversation: str = ""
    examined: Examination | None = None


class RunParameters(BaseModel):
    """The inputs of a run, stored so that another process can resume it. `deadline` is in seconds of active time.

    `only` limits the documents: paths and patterns.
    """

    model_config = ConfigDict(frozen=True)

    run_id: str
    question: str
    user: str
    conversation: str = ""
    max_rewrites: int
    deadline: float
    only: tuple[str, ...] = ()
    status: RunStatus = "running"
    seconds: float = 0.0
    usage: Usage = Usage()
    usage_by_role: dict[str, Usage] = {}


class RunStanding(BaseModel):
    """A run's status for pollers: cheap to read. `forgotten` is True once any of its texts were erased."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    user: str
    status: RunStatus
    steps: int
    forgotten: bool = False


class LedgerChange(BaseModel):
    """What a process that shares the ledger has changed: a run, drafts or decisions, or documents. "all" means that
    changes may have been missed."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["run", "approvals", "documents", "all"]
    run_id: str = ""


class RunProgress(BaseModel):
    """The steps of a run so far. `answer` is set once it has ended or waits for approval."""

    model_config = ConfigDict(frozen=True)

    run: RunSummary
    steps: list[Step]
    answer: Answer | None = None


class Round(BaseModel):
    """One retrieval round: query, evidence and grade. `rewritten` is the reason for a rewritten query."""

    model_config = ConfigDict(frozen=True)

    query: str
    sources: list[str]
    evidence: list[Evidence]
    quality: Quality
    rewritten: str = ""


class Draft(BaseModel):
    """A draft and its review. `epoch` is 0 for the first draft of an attempt."""

    model_config = ConfigDict(frozen=True)

    attempt: int = 1
    epoch: int
    text: str
    review: Review | None = None


class Scoring(BaseModel):
    """The score of an attempt; `problem` says why there is none. `grounding` are local checks that are not part of it;
    below the floor the answer needs approval."""

    model_config = ConfigDict(frozen=True)

    attempt: int
    threshold: float
    score: float | None = None
    result: EvaluationResult | None = None
    grounding: list[MetricScore] = []
    grounding_floor: float | None = None
    problem: str = ""


class WebLookup(BaseModel):
    """A web search: its query, the pages that were opened and the evidence taken from them."""

    model_config = ConfigDict(frozen=True)

    attempt: int
    provider: str
    query: str
    pages: list[WebPage] = []
    evidence: list[Evidence] = []
    problem: str = ""


class Receipt(BaseModel):
    """Everything stored about a run. `standalone` is the question as understood without the conversation.

    `only` are the paths and patterns that limited the documents. `calls` are the calls to models with their texts, if
    `receipts.prompts` was set.
    """

    model_config = ConfigDict(frozen=True)

    run: RunSummary
    route: str
    route_reason: str = ""
    standalone: str = ""
    only: list[str] = []
    models: dict[str, str]
    rounds: list[Round]
    drafts: list[Draft]
    scorings: list[Scoring] = []
    approvals: list[Approval] = []
    web: list[WebLookup] = []
    feedback: list[Feedback] = []
    answer: Answer | None
    usage: Usage
    usage_by_role: dict[str, Usage] = {}
    calls: list[ModelCall] = []
    steps: list[Step]


class RunEvent(BaseModel):
    """A step started, a piece of a draft was written (`begins`: it replaces the pieces so far), a step finished, or the
    run ended with an answer."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["started", "draft", "finished", "answer"]
    run_id: str
    name: str = ""
    text: str = ""
    begins: bool = False
    step: Step | None = None
    answer: Answer | None = None
