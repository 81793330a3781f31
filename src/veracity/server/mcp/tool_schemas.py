"""The arguments and results of the tools, and each result as plain text for clients that show nothing else.

The text of passages, answers and drafts comes from documents and people. It is data: nothing here interprets it, and
invisible characters are replaced in the plain text.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from veracity.engine import MAX_PATTERN_LENGTH, MAX_PATTERNS
from veracity.inputs import MAX_EDIT_LENGTH, MAX_QUERY_LENGTH
from veracity.models import (
    Answer,
    Approval,
    ApprovalReason,
    Evidence,
    Grade,
    ReviewOutcome,
    RunProgress,
    RunStatus,
    Verdict,
)
from veracity.printable import visible
from veracity.server.citations import CitedSource, cited_sources, render_with_sources

MAX_PASSAGES = 50
MAX_PENDING = 100
DEFAULT_WAIT = 50.0  # seconds: many clients give up on a call after 60
MAX_WAIT = 600.0
RELEASED = ("answered", "abstained")

STILL_RUNNING = 'The run has not ended yet: call answer_status with the run_id "{}".'

OnlyDocuments = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_PATTERN_LENGTH)]],
    Field(
        max_length=MAX_PATTERNS,
        description='Use only documents that match one of these paths or patterns, such as "*.pdf".',
    ),
]
Wait = Annotated[float, Field(ge=0, le=MAX_WAIT, allow_inf_nan=False)]
WAIT_HELP = 'How long to wait for the answer. After that the status is "running", and the run goes on.'


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchArguments(Arguments):
    query: str = Field(min_length=1, max_length=MAX_QUERY_LENGTH, description="A question or words, in any language.")
    limit: int = Field(default=10, ge=1, le=MAX_PASSAGES, description="Maximum number of passages.")
    only: OnlyDocuments = []


class AskArguments(Arguments):
    question: str = Field(min_length=1, max_length=MAX_QUERY_LENGTH, description="The question, in any language.")
    conversation: str = Field(
        default="", max_length=500, description="The name of a conversation to continue or to begin. Empty: none."
    )
    only: OnlyDocuments = []
    wait_seconds: Wait = Field(default=DEFAULT_WAIT, description=WAIT_HELP)


class StatusArguments(Arguments):
    run_id: str = Field(max_length=100, description="The run_id of a result.")
    wait_seconds: Wait = Field(default=0.0, description=WAIT_HELP)


class PendingArguments(Arguments):
    limit: int = Field(default=20, ge=1, le=MAX_PENDING, description="Maximum number of approvals.")
    after: str = Field(default="", max_length=100, description="The last approval_id of the previous page.")


class DecideArguments(Arguments):
    approval_id: str = Field(max_length=100, description="The approval_id of list_pending.")
    draft_hash: str = Field(
        min_length=1, max_length=200, description="The draft_hash of list_pending: another draft is not decided on."
    )
    verdict: Verdict = Field(
        description="approve releases the draft; reject searches the web instead, once; send_back wants another draft."
    )
    reason: str = Field(
        default="", max_length=2000, description="Why, for the receipt; with send_back the note for the next draft."
    )
    edit: str | None = Field(
        default=None, max_length=MAX_EDIT_LENGTH, description="With approve: release this text instead of the draft."
    )
    wait_seconds: Wait = Field(default=DEFAULT_WAIT, description=WAIT_HELP)


class ResultPart(BaseModel):
    """Every field is always sent, also with its default."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


class ResultPassage(ResultPart):
    text: str
    relevance: float = Field(description="the probability that it is relevant, from 0 to 1")
    document_id: str
    title: str
    location: str
    headings: list[str]
    page: int | None
    start: int
    end: int


class SearchResult(ResultPart):
    """The passages that match best, best first."""

    passages: list[ResultPassage]

    @classmethod
    def of(cls, found: list[Evidence]) -> SearchResult:
        fields = set(ResultPassage.model_fields) - {"relevance"}
        return cls(
            passages=[
                ResultPassage(**item.model_dump(include=fields), relevance=item.metadata.relevance_score)
                for item in found
            ]
        )

    def as_text(self) -> str:
        return "\n\n".join(map(_passage_text, range(1, len(self.passages) + 1), self.passages)) or "No passages found."


class Examination(ResultPart):
    """How the answer was examined. A value is null where there was nothing to examine."""

    review: ReviewOutcome | None = None
    score: float | None = Field(default=None, description="from 0 to 1")
    grounding: float | None = Field(default=None, description="the lowest of the local checks, from 0 to 1")
    evidence: Grade | None = Field(default=None, description="how good the evidence was")


class RunResult(ResultPart):
    """A question and what became of it. Without a released answer, `answer` is null and `message` says why."""

    run_id: str
    status: RunStatus
    question: str
    conversation: str = ""
    answer: str | None = None
    message: str = ""
    missing: list[str] = Field(default=[], description="for an abstention: what the documents do not say")
    citations: list[CitedSource] = []
    verdict: Examination = Examination()
    notices: list[str] = []
    approval_id: str = Field(default="", description="the approval that a person decides on, if it waits for one")
    text: str = Field(default="", exclude=True)

    @classmethod
    def of_answer(cls, answer: Answer) -> RunResult:
        """Without the draft and its verdict if the answer waits for approval or was rejected."""
        fields = answer.model_dump(include={"run_id", "status", "question", "conversation", "approval_id"})
        if answer.status not in RELEASED:
            return cls(**fields, message=answer.text, text=answer.text)
        return cls(
            **fields,
            answer=answer.text,
            missing=answer.missing,
            citations=cited_sources(answer),
            verdict=_examination(answer),
            notices=[notice.text for notice in answer.notices],
            text=render_with_sources(answer),
        )

    @classmethod
    def of_progress(cls, progress: RunProgress) -> RunResult:
        if progress.answer:
            return cls.of_answer(progress.answer)
        run = progress.run
        message = run.problem if run.status == "failed" else STILL_RUNNING.format(run.run_id)
        fields = run.model_dump(include={"run_id", "status", "question", "conversation"})
        return cls(**fields, message=message, text=message)

    def as_text(self) -> str:
        score = "" if self.verdict.score is None else f", score {self.verdict.score:.2f}"
        review = f", review {self.verdict.review}" if self.verdict.review else ""
        return f"{visible(self.text)}\n\nRun {self.run_id}: {self.status}{score}{review}"


class PendingDraft(ResultPart):
    """A draft is not an answer: it is shown to those who decide on it, and to nobody else."""

    text: str
    draft_hash: str
    score: float | None
    citations: list[CitedSource]


class PendingApproval(ResultPart):
    approval_id: str
    run_id: str
    user: str = Field(description="who asked")
    question: str
    created: datetime
    why: ApprovalReason
    draft: PendingDraft | None = Field(default=None, description="null unless the caller may decide")

    @classmethod
    def of(cls, approval: Approval, shows_draft: bool) -> PendingApproval:
        fields = approval.model_dump(include=set(cls.model_fields) - {"draft"})
        return cls(**fields, draft=_draft(approval) if shows_draft else None)


class PendingResult(ResultPart):
    """Answers that wait for a person, oldest first. `total` counts all of them, on this page or not."""

    approvals: list[PendingApproval]
    total: int

    def as_text(self) -> str:
        if not self.approvals:
            return "No approvals are pending."
        return "\n\n".join(map(_approval_text, self.approvals))


Result = SearchResult | RunResult | PendingResult


def _examination(answer: Answer) -> Examination:
    return Examination(
        review=answer.review.outcome if answer.review else None,
        score=answer.score,
        grounding=min((check.score / 100 for check in answer.grounding), default=None),
        evidence=answer.quality.grade if answer.quality else None,
    )


def _draft(approval: Approval) -> PendingDraft:
    draft = approval.draft
    return PendingDraft(
        text=draft.text, draft_hash=approval.draft_hash, score=draft.score, citations=cited_sources(draft)
    )


def _passage_text(number: int, passage: ResultPassage) -> str:
    title = " › ".join(dict.fromkeys([passage.title or passage.document_id, *passage.headings]))
    page = "" if passage.page is None else f", page {passage.page}"
    place = _one_line(f"{title} ({passage.location or passage.document_id}{page})")
    return f"[{number}] {place}, relevance {passage.relevance:.2f}\n{visible(passage.text)}"


def _approval_text(approval: PendingApproval) -> str:
    lines = [f"{approval.approval_id} ({approval.why}), asked by {_one_line(approval.user)}"]
    lines.append(f"Question: {_one_line(approval.question)}")
    if approval.draft:
        lines += [f"Draft {approval.draft.draft_hash}, not released:", visible(approval.draft.text)]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())
