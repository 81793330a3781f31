"""An answer with its sentences, citations, evidence and notices."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from veracity.models.evaluation import EvaluationResult, MetricScore
from veracity.models.evidence import Evidence, Quality
from veracity.models.llm import Usage
from veracity.models.review import Decision, Review

Route = Literal["direct", "history", "knowledge", "web"]
AnswerStatus = Literal["answered", "abstained", "awaiting_approval", "rejected"]
AnswerForm = Literal["extractive", "written", "recalled", "edited", "direct"]
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
    "outdated_index",
    "not_reranked",
    "forgotten",
    "reduced",
    "recalled",
    "from_web",
    "snippets",
    "waiting",
    "approved",
    "edited",
    "rejected",
    "sent_back",
    "expired",
    "uncertain",
    "low_score",
    "low_grounding",
    "not_scored",
    "evaluator_warning",
    "not_from_documents",
    "web_not_configured",
    "web_failed",
    "web_empty",
    "web_not_written",
    "progress_lost",
    "not_routed",
    "not_summarized",
]


class Citation(BaseModel):
    """`number` is the [n] in the answer, counted from 1 in its evidence. `quote` is the document's text[start:end]."""

    model_config = ConfigDict(frozen=True)

    number: int
    evidence_id: str
    document_id: str
    quote: str
    start: int
    end: int


class AnswerSentence(BaseModel):
    """`text` includes the citation marks. `states` is False for a sentence without a claim to check; `support` is the
    degree to which the cited texts support it, from 0 to 1."""

    model_config = ConfigDict(frozen=True)

    text: str
    states: bool
    supported: bool
    support: float = Field(ge=0, le=1)
    citations: list[Citation] = []
    unresolved: list[int] = Field(default=[], description="citation numbers without evidence")


class Notice(BaseModel):
    """A remark for the reader of the answer, in the language of the question.

    `translations` are the same in the other languages.
    """

    model_config = ConfigDict(frozen=True)

    code: NoticeCode
    text: str
    translations: dict[str, str] = {}

    def __hash__(self) -> int:
        return hash((self.code, self.text))


class Answer(BaseModel):
    """The result of a question. `evidence` is what the writer received: [1] is its first item.

    While `status` is "awaiting_approval", `text` only says so; the draft is in the approval `approval_id`. If it is
    "rejected", `text` says that, too, and the draft is in the receipt. `standalone` is the question as understood
    without the conversation. `score` (0 to 1) and `evaluation` are None for an unscored answer, `quality` is None if no
    documents were searched.
    """

    model_config = ConfigDict(frozen=True)

    run_id: str
    status: AnswerStatus
    question: str
    standalone: str = ""
    conversation: str = ""
    route: Route = "knowledge"
    attempt: int = 1
    text: str
    form: AnswerForm
    language: str
    sentences: list[AnswerSentence] = []
    evidence: list[Evidence] = []
    missing: list[str] = Field(default=[], description="for an abstention: what the documents do not say")
    review: Review | None = None
    quality: Quality | None
    evaluation: EvaluationResult | None = None
    score: float | None = Field(default=None, ge=0, le=1)
    grounding: list[MetricScore] = Field(default=[], description="local checks that are not part of the score")
    approval_id: str = ""
    decisions: list[Decision] = []
    notices: list[Notice] = []
    usage: Usage = Usage()
    seconds: float = 0.0
