"""From a configuration to the metrics that will run, each with its weight and settled LLM parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from veracity.evaluator.configuration import listed_metrics, shares
from veracity.evaluator.judging import JudgeOptions
from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.metrics.llm_metric import LLMMetric
from veracity.evaluator.registry import Registry
from veracity.models import EvaluationConfig, LLMParameters, MetricConfig, MetricSet
from veracity.providers.keys import has_key, refuse_typing_errors
from veracity.settings import Settings, origin

DEFAULT_JUDGE = "anthropic:claude-sonnet-4-5-20250929"
# The metrics of each set, with their weights. An answer that only repeats the evidence has all of the local ones but
# QuestionCoverage for free: that one counts more, or nothing that is beside the point would stay below 75.
DEFAULTS: dict[MetricSet, dict[str, float | None]] = {
    "default-llm": {"ClarityCoherence": None, "Coverage": None, "Relevance": None},
    "default-local": {"Groundedness": 0.3, "QuestionCoverage": 0.4, "CitationAccuracy": 0.3},
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedMetric:
    """`judge` is None for a metric that asks no model: LLM parameters given for it are ignored (SPEC B18)."""

    name: str
    metric: BaseMetric
    weight: float
    judge: JudgeOptions | None


@dataclass(frozen=True, slots=True)
class Plan:
    metrics: list[PlannedMetric]
    metric_set: MetricSet

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(planned.judge.model for planned in self.metrics if planned.judge))


def make_plan(
    config: EvaluationConfig, registry: Registry, settings: Settings, where: str, only_named_judges: bool = False
) -> Plan:
    listed = listed_metrics(config, where)
    metric_set = "configured" if listed else _default_set(config, settings, only_named_judges)
    metrics = listed or [MetricConfig(name=name, weight=weight) for name, weight in DEFAULTS[metric_set].items()]
    found = {metric.name: registry.find(metric.name, where) for metric in metrics}
    judged = {metric.name: metric for metric in metrics if isinstance(found[metric.name], LLMMetric)}
    refuse_typing_errors(_named_models(judged.values(), config, settings, where))
    options = {name: _judge_options(metric, config.llm_default, settings) for name, metric in judged.items()}
    weights = shares(metrics, where)
    return Plan(
        [PlannedMetric(name, found[name], weight, options.get(name)) for name, weight in weights.items()], metric_set
    )


def _default_set(config: EvaluationConfig, settings: Settings, only_named: bool) -> MetricSet:
    judge_named = config.llm_default.model or settings.models.judge
    return "default-llm" if judge_named or (not only_named and has_key(DEFAULT_JUDGE)) else "default-local"


def _named_models(
    judged: Iterable[MetricConfig], config: EvaluationConfig, settings: Settings, where: str
) -> Iterator[tuple[str, str]]:
    """Every model that is named, also where another one comes first, with its place."""
    if settings.models.judge:
        yield settings.models.judge, origin("models", "judge")
    if config.llm_default.model:
        yield config.llm_default.model, f"{where}, the default model"
    for metric in judged:
        if metric.model:
            yield metric.model, f'{where}, the model of "{metric.name}"'


def _judge_options(metric: LLMParameters, default: LLMParameters, settings: Settings) -> JudgeOptions:
    """Metric → [llm_default] → models.judge → hard-coded (SPEC B3)."""
    return JudgeOptions(
        model=metric.model or default.model or settings.models.judge or DEFAULT_JUDGE,
        system_instruction=metric.system_instruction or default.system_instruction,
        temperature=_first_set(metric.temperature, default.temperature, 0.0),
        max_tokens=metric.max_tokens or default.max_tokens,
        max_retries=_first_set(metric.max_retries, default.max_retries, 3),
        samples=metric.samples or default.samples or 1,
    )


def _first_set(own: T | None, default: T | None, otherwise: T) -> T:
    """Zero is a value."""
    if own is not None:
        return own
    return otherwise if default is None else default
