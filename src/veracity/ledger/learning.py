"""The record that an answer leaves in the file of observations (SPEC A12). Knows nothing about its way there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from veracity.models import Answer


def observation(answer: Answer, models: dict[str, str]) -> dict[str, Any] | None:
    """Only of an answer whose review passed and that nobody rejected (SPEC A12): what a person wrote in its place was
    never reviewed."""
    if answer.status != "answered" or answer.review is None or answer.review.outcome != "passed":
        return None
    return {
        "instruction": answer.standalone,
        "input": [
            {
                "text": one.text,
                "source": one.source,
                "score": one.metadata.relevance_score,
                "id": one.id,
                "document_id": one.document_id,
            }
            for one in answer.evidence
        ],
        "output": answer.text,
        "run_id": answer.run_id,
        "attempt": answer.attempt,
        "time": datetime.now(UTC).isoformat(),
        "form": answer.form,
        "models": models,
        "review": answer.review.model_dump(mode="json"),
        "scores": _scores(answer),
    }


def _scores(answer: Answer) -> dict[str, float | None]:
    metrics = {one.metric_name: one.score for one in answer.evaluation.metrics} if answer.evaluation else {}
    quality = answer.quality.score if answer.quality else None
    return {"evidence_quality": quality, "overall": answer.score, **metrics}
