"""The data that travels through Veracity, as Pydantic models without behaviour of their own."""

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
from veracity.models.usage import Usage

__all__ = [
    "Document",
    "EvaluationConfig",
    "EvaluationRequest",
    "EvaluationResult",
    "Evidence",
    "EvidenceMetadata",
    "Hit",
    "IngestReport",
    "KnownDocument",
    "LLMDefaultConfig",
    "LLMParameters",
    "MetricConfig",
    "MetricScore",
    "MetricSet",
    "ModelName",
    "Outcome",
    "Passage",
    "Usage",
    "WritableText",
]
