"""Veracity: answers that have been examined. See README.md.

Names are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from veracity.version import __version__

if TYPE_CHECKING:
    from veracity.errors import ConfigurationError, EvaluationError, InputError, ModelError, VeracityError
    from veracity.evaluator import BaseMetric, Evaluator, LLMMetric
    from veracity.models import EvaluationConfig, EvaluationRequest, EvaluationResult, MetricConfig, MetricScore

_HOMES = {
    "BaseMetric": "veracity.evaluator",
    "ConfigurationError": "veracity.errors",
    "EvaluationConfig": "veracity.models",
    "EvaluationError": "veracity.errors",
    "EvaluationRequest": "veracity.models",
    "EvaluationResult": "veracity.models",
    "Evaluator": "veracity.evaluator",
    "InputError": "veracity.errors",
    "LLMMetric": "veracity.evaluator",
    "MetricConfig": "veracity.models",
    "MetricScore": "veracity.models",
    "ModelError": "veracity.errors",
    "VeracityError": "veracity.errors",
}

__all__ = [
    "BaseMetric",
    "ConfigurationError",
    "EvaluationConfig",
    "EvaluationError",
    "EvaluationRequest",
    "EvaluationResult",
    "Evaluator",
    "InputError",
    "LLMMetric",
    "MetricConfig",
    "MetricScore",
    "ModelError",
    "VeracityError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'veracity' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
