"""Some of the metrics there are, for one request. Knows nothing about how they score."""

from __future__ import annotations

from collections.abc import Sequence

from veracity.errors import InputError
from veracity.evaluator.loading import Loaded
from veracity.evaluator.metrics.llm_metric import LLMMetric
from veracity.models import EvaluationConfig, MetricConfig
from veracity.secrets import presentable
from veracity.tomlfile import alternatives


def chosen(names: Sequence[str], loaded: Loaded) -> EvaluationConfig:
    """Models and instructions are those of the workspace. Names come from anywhere."""
    known = {entry.name: entry for entry in loaded.registry}
    for name in names:
        if name not in known:
            raise InputError(f'There is no metric "{presentable(name)}"{alternatives(name, sorted(known))}.')
    configured = {metric.name: metric for metric in loaded.config.metrics}
    metrics = [configured.get(name, MetricConfig(name=name)) for name in dict.fromkeys(names)]
    for metric in metrics:
        if isinstance(known[metric.name].metric, LLMMetric):
            _require_judge(metric, loaded)
    equal = [metric.model_copy(update={"weight": None, "enabled": True}) for metric in metrics]
    return EvaluationConfig(metrics=equal, llm_default=loaded.config.llm_default)


def _require_judge(metric: MetricConfig, loaded: Loaded) -> None:
    named = metric.model or loaded.config.llm_default.model or loaded.settings.models.judge
    if not named and loaded.terms.only_named_judges:
        raise InputError(
            f'The metric "{metric.name}" needs a judge model, and none is set: set models.judge, or choose another.'
        )
