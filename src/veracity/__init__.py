"""Veracity: self-correcting question answering over your documents. See README.md.

Names are imported on first use, so that importing the package is cheap.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from veracity.version import __version__

# Set before onnxruntime is imported: otherwise it writes an id of this machine to the home directory.
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
    if name not in __all__:
        raise AttributeError(f"module 'veracity' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_module_of(name)), name)
    return value


def __dir__() -> list[str]:
    return __all__


def _module_of(name: str) -> str:
    if name == "Veracity":
        return "veracity.engine"
    if name in ("BaseMetric", "Evaluator", "LLMMetric"):
        return "veracity.evaluator"
    return "veracity.errors" if name.endswith("Error") else "veracity.models"
