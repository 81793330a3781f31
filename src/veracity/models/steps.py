"""What each node of a run reports: one model per node, joined in the union `Step`, told apart by `name`.

`texts` hold what may come from documents or conversations: forgetting one of them sets `texts` to None. `facts` hold
the rest: forgetting replaces only the fields marked `Erasable`, because their wording may quote a document.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, TypeAdapter, model_serializer

from veracity.models.answer import AnswerForm, AnswerStatus, Route
from veracity.models.evaluation import EvaluationResult, MetricScore
from veracity.models.evidence import Evidence, Quality, WebPage
from veracity.models.llm import Usage
from veracity.models.review import Review, ReviewOutcome, Verdict

ERASED_TEXT = "(removed with what was forgotten)"
TRACED_FACTS = frozenset(
    (
        *("abstains", "attempt", "confidence", "edited", "epoch", "evidence", "folded", "form", "found", "grounding"),
        *("outcome", "provider", "route", "score", "source", "sources", "status", "suggestions", "threshold"),
        "verdict",
    )
)
MAX_TRACED_WORD = 40
_ERASABLE = object()
Erasable = Annotated[str, _ERASABLE]


class _Reported(BaseModel):
    """Serializes the fields that were set and no others, so that stored steps keep their shape."""

    model_config = ConfigDict(frozen=True, extra="allow", serialize_by_alias=True, validate_by_name=True)

    @model_serializer(mode="wrap")
    def _serialize_set_fields(self, serialize: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        fields = type(self).model_fields
        unset = {field.alias or name for name, field in fields.items() if name not in self.model_fields_set}
        return {name: value for name, value in serialize(self).items() if name not in unset}


class Facts(_Reported):
    """Survives forgetting, except for `Erasable` fields. `problem` is set when the node failed."""

    problem: Erasable = ""

    def trace_attributes(self) -> dict[str, str | float]:
        """Attributes for telemetry: numbers, single words and list lengths. A sentence might quote a document."""
        values = {name: getattr(self, name) for name in self.model_fields_set & TRACED_FACTS}
        quality = getattr(self, "quality", None)
        if quality is not None:
            values |= {"grade": quality.grade, "score": quality.score}
        attributes = {name: _trace_value(value) for name, value in values.items()}
        return {name: value for name, value in attributes.items() if value is not None}

    def erase(self) -> Self:
        """A copy whose `Erasable` fields hold a placeholder, as far as they were set."""
        fields = type(self).model_fields.items()
        erasable = [name for name, field in fields if _ERASABLE in field.metadata and name in self.model_fields_set]
        return self.model_copy(update=dict.fromkeys(erasable, ERASED_TEXT))


class Texts(_Reported):
    """Erased when a document or conversation the run used is forgotten."""


class BaseStep(BaseModel):
    """One node's report. `texts` is None after forgetting."""

    model_config = ConfigDict(frozen=True)

    name: str
    started: datetime
    seconds: float
    facts: Facts = Facts()
    texts: Texts | None = Texts()

    @classmethod
    def facts_type(cls) -> type[Facts]:
        facts: type[Facts] = cls.model_fields["facts"].annotation  # type: ignore[assignment]
        return facts

    @classmethod
    def no_texts(cls) -> Texts:
        empty: Texts = cls.model_fields["texts"].default
        return empty

    def erase(self, *, texts: bool = True) -> Self:
        """A copy as it may be kept after forgetting: no erasable facts and, unless `texts` is False, no texts."""
        return self.model_copy(update={"facts": self.facts.erase(), "texts": None if texts else self.texts})

    def hide_texts(self) -> Self:
        """A copy for readers who may not see drafts."""
        return self.model_copy(update={"texts": self.no_texts()})


class ProcessInputFacts(Facts):
    language: str = ""
    turns: int = 0
    folded: int = 0


class ProcessInputStep(BaseStep):
    name: Literal["process_input"] = "process_input"
    facts: ProcessInputFacts = ProcessInputFacts()


class SummarizeFacts(Facts):
    folded: int = 0
    model: str = ""
    failed: Erasable = ""
    usage: Usage | None = None


class SummarizeTexts(Texts):
    summary: str = ""


class SummarizeStep(BaseStep):
    name: Literal["summarize_if_needed"] = "summarize_if_needed"
    facts: SummarizeFacts = SummarizeFacts()
    texts: SummarizeTexts | None = SummarizeTexts()


class RouteFacts(Facts):
    route: Route | None = None
    model: str = ""
    failed: Erasable = ""
    usage: Usage | None = None


class RouteTexts(Texts):
    reason: str = ""
    standalone: str = ""
    added: list[str] = []


class RouteStep(BaseStep):
    name: Literal["decide_route"] = "decide_route"
    facts: RouteFacts = RouteFacts()
    texts: RouteTexts | None = RouteTexts()


class DirectAnswerFacts(Facts):
    form: str = ""


class DirectAnswerStep(BaseStep):
    name: Literal["answer_directly"] = "answer_directly"
    facts: DirectAnswerFacts = DirectAnswerFacts()


class SearchContextFacts(Facts):
    found: int = 0
    scope: str = ""


class QueryTexts(Texts):
    query: str = ""


class SearchContextStep(BaseStep):
    name: Literal["search_context"] = "search_context"
    facts: SearchContextFacts = SearchContextFacts()
    texts: QueryTexts | None = QueryTexts()


class SelectSourcesFacts(Facts):
    sources: list[str] = []
    weak_points: int = 0


class SelectSourcesStep(BaseStep):
    name: Literal["select_sources"] = "select_sources"
    facts: SelectSourcesFacts = SelectSourcesFacts()


class RetrieveFacts(Facts):
    source: str = ""
    found: int = 0


class RetrieveStep(BaseStep):
    name: Literal["retrieve"] = "retrieve"
    facts: RetrieveFacts = RetrieveFacts()


class FuseFacts(Facts):
    passages: int = 0
    method: str = ""


class FuseStep(BaseStep):
    name: Literal["fuse"] = "fuse"
    facts: FuseFacts = FuseFacts()


class RerankFacts(Facts):
    reranker: str = ""


class RerankStep(BaseStep):
    name: Literal["rerank"] = "rerank"
    facts: RerankFacts = RerankFacts()


class GradedEvidence(BaseModel):
    """A passage of a graded round, by the id of its evidence."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    source: str
    relevance_score: float
    found_by: list[str] = []

    @classmethod
    def of(cls, evidence: Evidence) -> GradedEvidence:
        metadata = evidence.metadata
        return cls(
            id=evidence.id,
            source=evidence.source,
            relevance_score=metadata.relevance_score,
            found_by=metadata.found_by,
        )


class GradeFacts(Facts):
    quality: Quality | None = None
    evidence: list[GradedEvidence] = []
    sources: list[str] = []
    is_best: bool = False


class GradeStep(BaseStep):
    name: Literal["grade_documents"] = "grade_documents"
    facts: GradeFacts = GradeFacts()
    texts: QueryTexts | None = QueryTexts()


class RewriteFacts(Facts):
    model: str = ""
    usage: Usage | None = None
    sources: list[str] = []
    outcome: str = ""


class RewriteTexts(Texts):
    query: str = ""
    reason: str = ""


class RewriteStep(BaseStep):
    name: Literal["rewrite_query"] = "rewrite_query"
    facts: RewriteFacts = RewriteFacts()
    texts: RewriteTexts | None = RewriteTexts()


class PrepareFacts(Facts):
    """The first draft of an attempt reports its evidence, a redraft the number of suggestions."""

    attempt: int = 1
    evidence_from: str = Field(default="", alias="from")
    evidence: list[str] = []
    suggestions: int = 0


class PrepareStep(BaseStep):
    name: Literal["prepare_messages"] = "prepare_messages"
    facts: PrepareFacts = PrepareFacts()
    texts: QueryTexts | None = QueryTexts()


class DraftFacts(Facts):
    """`epoch` is None when no draft was written."""

    attempt: int = 1
    epoch: int | None = None
    form: AnswerForm | None = None
    model: str = ""
    usage: Usage | None = None
    abstains: bool = False
    outcome: str = ""


class DraftTexts(Texts):
    draft: str = ""
    missing: list[str] = []


class DraftStep(BaseStep):
    name: Literal["generate_answer"] = "generate_answer"
    facts: DraftFacts = DraftFacts()
    texts: DraftTexts | None = DraftTexts()


class ReviewFacts(Facts):
    attempt: int = 1
    epoch: int = 0
    outcome: ReviewOutcome | None = None
    confidence: float = 0.0
    reviewer: str = ""
    usage: Usage | None = None


class ReviewTexts(Texts):
    review: Review | None = None


class ReviewStep(BaseStep):
    name: Literal["eval_answer"] = "eval_answer"
    facts: ReviewFacts = ReviewFacts()
    texts: ReviewTexts | None = ReviewTexts()


class SettleFacts(Facts):
    """`draft` is the index of the chosen draft; `status` is set for an abstention."""

    draft: int | None = None
    outcome: ReviewOutcome | None = None
    status: AnswerStatus | None = None
    attempt: int = 1


class SettleStep(BaseStep):
    name: Literal["settle_answer"] = "settle_answer"
    facts: SettleFacts = SettleFacts()


class ScoreFacts(Facts):
    """`score` is None when the evaluation failed; `failed` says why. `grounding` is the lowest of the local checks,
    from 0 to 1; below `grounding_floor` the answer needs approval."""

    attempt: int = 1
    threshold: float | None = None
    score: float | None = None
    grounding: float | None = None
    grounding_floor: float | None = None
    failed: Erasable = ""
    usage: Usage | None = None


class ScoreTexts(Texts):
    evaluation: EvaluationResult | None = None
    grounding: list[MetricScore] = []


class ScoreStep(BaseStep):
    name: Literal["evaluate"] = "evaluate"
    facts: ScoreFacts = ScoreFacts()
    texts: ScoreTexts | None = ScoreTexts()


class ApprovalFacts(Facts):
    attempt: int = 1
    verdict: Verdict | Literal["expire"] | None = None
    by: str = ""
    edited: bool = False


class ApprovalTexts(Texts):
    reason: str = ""
    edit: str | None = None


class ApprovalStep(BaseStep):
    name: Literal["human_approval"] = "human_approval"
    facts: ApprovalFacts = ApprovalFacts()
    texts: ApprovalTexts | None = ApprovalTexts()


class WebSearchFacts(Facts):
    """`outcome` says why there is no evidence."""

    attempt: int = 1
    provider: str = ""
    outcome: Erasable = ""
    evidence: list[str] = []


class WebSearchTexts(Texts):
    query: str = ""
    pages: list[WebPage] = []


class WebSearchStep(BaseStep):
    name: Literal["web_search"] = "web_search"
    facts: WebSearchFacts = WebSearchFacts()
    texts: WebSearchTexts | None = WebSearchTexts()


Step = Annotated[
    ProcessInputStep
    | SummarizeStep
    | RouteStep
    | DirectAnswerStep
    | SearchContextStep
    | SelectSourcesStep
    | RetrieveStep
    | FuseStep
    | RerankStep
    | GradeStep
    | RewriteStep
    | PrepareStep
    | DraftStep
    | ReviewStep
    | SettleStep
    | ScoreStep
    | ApprovalStep
    | WebSearchStep,
    Field(discriminator="name"),
]
_STEP: TypeAdapter[Step] = TypeAdapter(Step)
STEP_TYPES: dict[str, type[BaseStep]] = {
    step.model_fields["name"].default: step for step in get_args(get_args(Step)[0])
}


def load_step(stored: dict[str, Any]) -> Step:
    """A step from its stored or reported form. Raises `pydantic.ValidationError` for a node that does not exist."""
    return _STEP.validate_python(stored)


def _trace_value(value: Any) -> str | float | None:
    if isinstance(value, list):
        return len(value)
    if isinstance(value, str):
        is_word = value.isascii() and value.isidentifier() and len(value) <= MAX_TRACED_WORD
        return value if is_word else None
    return value if isinstance(value, int | float) else None
