"""An answer, sentence by sentence, with what it stands on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from veracity.models.evidence import Evidence
from veracity.models.quality import Quality
from veracity.models.review import Review
from veracity.models.usage import Usage

AnswerStatus = Literal["answered", "abstained"]
AnswerForm = Literal["extractive", "written"]
NoticeCode = Literal[
    "extractive",
    "revised",
    "review_failed",
    "evidence_weak",
    "not_reviewed",
    "doubtful_review",
    "unsupported",
    "deadline",
    "budget",
    "redraft_failed",
    "rewrite_failed",
    "search_incomplete",
    "not_reranked",
    "forgotten",
]


class Citation(BaseModel):
    """`number` is the [n] of the answer, the place in its evidence. `quote` is the document's text[start:end]."""

    model_config = ConfigDict(frozen=True)

    number: int
    evidence_id: str
    document_id: str
    quote: str
    start: int
    end: int


class AnswerSentence(BaseModel):
    """`text` as it stands in the answer, marks included. `states` is False for what holds nothing to be checked, such
    as a courtesy; `support` is how far the cited texts support it, from 0 to 1."""

    model_config = ConfigDict(frozen=True)

    text: str
    states: bool
    supported: bool
    support: float = Field(ge=0, le=1)
    citations: list[Citation] = []
    unresolved: list[int] = Field(default=[], description="numbers that name no evidence")


class Notice(BaseModel):
    """Something that whoever reads the answer should know. `text` is in the language of the question."""

    model_config = ConfigDict(frozen=True)

    code: NoticeCode
    text: str


class Answer(BaseModel):
    """What came of a question. `evidence` is what the writer had: [1] is its first item."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    status: AnswerStatus
    question: str
    text: str
    form: AnswerForm
    language: str
    sentences: list[AnswerSentence] = []
    evidence: list[Evidence] = []
    missing: list[str] = Field(default=[], description="where it abstains: what the documents do not say")
    review: Review | None = None
    quality: Quality
    notices: list[Notice] = []
    usage: Usage = Usage()
    seconds: float = 0.0
