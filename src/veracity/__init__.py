"""Veracity: answers that have been examined. See README.md.

Names are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from veracity.version import __version__

# onnxruntime asks for this before it is loaded: else it writes an identity of this machine into the user's home.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from veracity.engine import Veracity
    from veracity.errors import (
        BusyError,
        ConfigurationError,
        DecidedError,
        DecisionError,
        EvaluationError,
        InputError,
        KnowledgeError,
        LedgerError,
        ModelError,
        OutdatedIndexError,
        SupersededError,
        VeracityError,
        WebSearchError,
    )
    from veracity.evaluator import BaseMetric, Evaluator, LLMMetric
    from veracity.models import (
        Answer,
        Approval,
        ConversationSummary,
        Decision,
        Document,
        EvaluationConfig,
        EvaluationRequest,
        EvaluationResult,
        Evidence,
        IngestReport,
        KnownDocument,
        MetricConfig,
        MetricScore,
        PastTurn,
        Receipt,
        RunEvent,
        RunSummary,
    )

_HOMES = {
    "Answer": "veracity.models",
    "Approval": "veracity.models",
    "BaseMetric": "veracity.evaluator",
    "BusyError": "veracity.errors",
    "ConfigurationError": "veracity.errors",
    "ConversationSummary": "veracity.models",
    "DecidedError": "veracity.errors",
    "Decision": "veracity.models",
    "DecisionError": "veracity.errors",
    "Document": "veracity.models",
    "EvaluationConfig": "veracity.models",
    "EvaluationError": "veracity.errors",
    "EvaluationRequest": "veracity.models",
    "EvaluationResult": "veracity.models",
    "Evaluator": "veracity.evaluator",
    "Evidence": "veracity.models",
    "IngestReport": "veracity.models",
    "InputError": "veracity.errors",
    "KnowledgeError": "veracity.errors",
    "KnownDocument": "veracity.models",
    "LLMMetric": "veracity.evaluator",
    "LedgerError": "veracity.errors",
    "MetricConfig": "veracity.models",
    "MetricScore": "veracity.models",
    "ModelError": "veracity.errors",
    "OutdatedIndexError": "veracity.errors",
    "PastTurn": "veracity.models",
    "Receipt": "veracity.models",
    "RunEvent": "veracity.models",
    "RunSummary": "veracity.models",
    "SupersededError": "veracity.errors",
    "Veracity": "veracity.engine",
    "VeracityError": "veracity.errors",
    "WebSearchError": "veracity.errors",
}

__all__ = [
    "Answer",
    "Approval",
    "BaseMetric",
    "BusyError",
    "ConfigurationError",
    "ConversationSummary",
    "DecidedError",
    "Decision",
    "DecisionError",
    "Document",
    "EvaluationConfig",
    "EvaluationError",
    "EvaluationRequest",
    "EvaluationResult",
    "Evaluator",
    "Evidence",
    "IngestReport",
    "InputError",
    "KnowledgeError",
    "KnownDocument",
    "LLMMetric",
    "LedgerError",
    "MetricConfig",
    "MetricScore",
    "ModelError",
    "OutdatedIndexError",
    "PastTurn",
    "Receipt",
    "RunEvent",
    "RunSummary",
    "SupersededError",
    "Veracity",
    "VeracityError",
    "WebSearchError",
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
