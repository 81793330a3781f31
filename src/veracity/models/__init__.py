"""The data that travels through Veracity, as Pydantic models without behaviour of their own."""

from veracity.models.answer import (
    Answer,
    AnswerForm,
    AnswerSentence,
    AnswerStatus,
    Citation,
    Notice,
    NoticeCode,
)
from veracity.models.approval import Approval, ApprovalReason, ApprovalState, OnReject
from veracity.models.conversation import ConversationSummary, PastTurn, Remembered, Route
from veracity.models.decision import Decision, Verdict
from veracity.models.documents import Document, IngestReport, KnownDocument, Outcome
from veracity.models.evaluation import (
    EvaluationConfig,
    EvaluationRequest,
    EvaluationResult,
    LLMDefaultConfig,
    LLMParameters,
    MetricConfig,
    MetricScore,
    MetricSet,
    WritableText,
)
from veracity.models.evidence import Evidence, EvidenceMetadata, Hit, Passage
from veracity.models.names import ModelName
from veracity.models.people import Feedback, Role, Thumb, User
from veracity.models.quality import Grade, Quality, QualityIssue, Shortfall
from veracity.models.review import Dimension, Review, ReviewOutcome
from veracity.models.run import (
    Draft,
    Receipt,
    Round,
    RunEvent,
    RunParameters,
    RunStatus,
    RunSummary,
    Scoring,
    Step,
    WebLookup,
    WebPage,
)
from veracity.models.usage import NOTHING_USED, Usage

__all__ = [
    "NOTHING_USED",
    "Answer",
    "AnswerForm",
    "AnswerSentence",
    "AnswerStatus",
    "Approval",
    "ApprovalReason",
    "ApprovalState",
    "Citation",
    "ConversationSummary",
    "Decision",
    "Dimension",
    "Document",
    "Draft",
    "EvaluationConfig",
    "EvaluationRequest",
    "EvaluationResult",
    "Evidence",
    "EvidenceMetadata",
    "Feedback",
    "Grade",
    "Hit",
    "IngestReport",
    "KnownDocument",
    "LLMDefaultConfig",
    "LLMParameters",
    "MetricConfig",
    "MetricScore",
    "MetricSet",
    "ModelName",
    "Notice",
    "NoticeCode",
    "OnReject",
    "Outcome",
    "Passage",
    "PastTurn",
    "Quality",
    "QualityIssue",
    "Receipt",
    "Remembered",
    "Review",
    "ReviewOutcome",
    "Role",
    "Round",
    "Route",
    "RunEvent",
    "RunParameters",
    "RunStatus",
    "RunSummary",
    "Scoring",
    "Shortfall",
    "Step",
    "Thumb",
    "Usage",
    "User",
    "Verdict",
    "WebLookup",
    "WebPage",
    "WritableText",
]
