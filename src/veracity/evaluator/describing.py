"""Which metrics there are and which of them run, in words and numbers for people and programs.

Knows nothing about how they score.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from veracity.evaluator.loading import Loaded
from veracity.evaluator.metrics.llm_metric import LLMMetric
from veracity.evaluator.planning import Plan
from veracity.evaluator.registry import Entry
from veracity.models import MetricSet


class MetricDescription(BaseModel):
    """One metric. Those with a weight are in force."""

    model_config = ConfigDict(frozen=True)

    name: str
    summary: str
    origin: str = Field(description="built-in, registered from Python, or the file it stands in")
    judge: Literal["model", "local"]
    weight: float | None = None
    model: str | None = Field(default=None, description="the model that judges, where it is in force and has one")


class EvaluatorDescription(BaseModel):
    """`warnings` tell of a changed configuration that could not be taken: the last good one is in use then."""

    model_config = ConfigDict(frozen=True)

    metric_set: MetricSet
    metrics: list[MetricDescription]
    warnings: list[str] = []


def describe(loaded: Loaded, warnings: list[str]) -> EvaluatorDescription:
    plan = loaded.plan()
    told = [_described(entry, plan) for entry in loaded.registry]
    return EvaluatorDescription(metric_set=plan.metric_set, metrics=told, warnings=warnings)


def _described(entry: Entry, plan: Plan) -> MetricDescription:
    planned = next((one for one in plan.metrics if one.name == entry.name), None)
    return MetricDescription(
        name=entry.name,
        summary=entry.summary,
        origin=entry.origin,
        judge="model" if isinstance(entry.metric, LLMMetric) else "local",
        weight=planned.weight if planned else None,
        model=planned.judge.model if planned and planned.judge else None,
    )
