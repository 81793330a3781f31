"""The data that travels through Veracity, as Pydantic models without behaviour of their own."""

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
from veracity.models.names import ModelName
from veracity.models.usage import Usage

__all__ = [
    "EvaluationConfig",
    "EvaluationRequest",
    "EvaluationResult",
    "LLMDefaultConfig",
    "LLMParameters",
    "MetricConfig",
    "MetricScore",
    "MetricSet",
    "ModelName",
    "Usage",
    "WritableText",
]
