"""Requests that many tests use."""

from typing import Any

from veracity import EvaluationRequest

GOOD: dict[str, Any] = {
    "user_query": "How long is the warranty?",
    "submission": "The warranty lasts 24 months [1].",
    "team_id": "team",
    "context": ["The warranty lasts 24 months from the day of purchase."],
}


def request(**changes: Any) -> EvaluationRequest:
    return EvaluationRequest(**{**GOOD, **changes})
