"""Validates `configs/evaluator.toml` (SPEC B3, B4, B8)."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from veracity.errors import ConfigurationError
from veracity.models import EvaluationConfig, LLMDefaultConfig, MetricConfig, ModelName
from veracity.secrets import presentable
from veracity.settings.toml import explain, parse

TOLERANCE = 0.001


class EvaluatorFile(BaseModel):
    """The file. `default_model` is short for `[llm_default] model`."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    metrics: list[MetricConfig] = []
    llm_default: LLMDefaultConfig = LLMDefaultConfig()
    default_model: ModelName | None = None


KEYS = {
    "": list(EvaluatorFile.model_fields),
    "metrics": ["name", "weight", "enabled", *LLMDefaultConfig.model_fields],
    "llm_default": list(LLMDefaultConfig.model_fields),
}


def load_configuration(content: bytes | None, path: Path) -> EvaluationConfig:
    """`content` is the file's bytes, or None without a file. Raises `ConfigurationError`."""
    document = {} if content is None else parse(content, path)
    try:
        file = EvaluatorFile.model_validate(document)
    except ValidationError as problem:
        raise ConfigurationError(explain(problem, str(path), KEYS)) from None
    if file.default_model and file.llm_default.named_model:
        raise ConfigurationError(f"{path}, default_model: [llm_default] sets a model too; keep one of the two.")
    default = file.llm_default
    if file.default_model:
        default = default.model_copy(update={"model": file.default_model})
    return EvaluationConfig(
        metrics=file.metrics,
        metric_weights=_weights(file.metrics),
        enabled_metrics=_enabled(file.metrics),
        llm_default=default,
    )


def listed_metrics(config: EvaluationConfig, where: str) -> list[MetricConfig]:
    """The configured metrics in order; empty if the defaults apply."""
    if config.metrics and not _forms_agree(config):
        raise ConfigurationError(
            f"{where}: use either metrics, or enabled_metrics and metric_weights: here they differ."
        )
    metrics = config.metrics or _from_short_form(config)
    _check_names(metrics, where)
    return metrics


def shares(metrics: list[MetricConfig], where: str) -> dict[str, float]:
    """The weight of each enabled metric; they sum to 1."""
    enabled = [metric for metric in metrics if metric.enabled]
    if not enabled:
        raise ConfigurationError(f"{where}: every metric is disabled; enable at least one.")
    weights = _weights(metrics)
    if not weights:
        return {metric.name: 1 / len(enabled) for metric in enabled}
    _check_weights(metrics, weights, where)
    total = math.fsum(weights[metric.name] for metric in enabled)
    if total == 0:
        raise ConfigurationError(f"{where}: the weights of the enabled metrics are all 0; give one of them a weight.")
    return {metric.name: weights[metric.name] / total for metric in enabled}


def _forms_agree(config: EvaluationConfig) -> bool:
    """Whether the short form is empty or says the same as `metrics`."""
    weights, enabled = config.metric_weights, config.enabled_metrics
    return weights in ({}, _weights(config.metrics)) and enabled in ([], _enabled(config.metrics))


def _weights(metrics: list[MetricConfig]) -> dict[str, float]:
    return {metric.name: metric.weight for metric in metrics if metric.weight is not None}


def _enabled(metrics: list[MetricConfig]) -> list[str]:
    return [metric.name for metric in metrics if metric.enabled]


def _from_short_form(config: EvaluationConfig) -> list[MetricConfig]:
    """With `enabled_metrics`, other weighted metrics are disabled. Without either, the custom metrics run."""
    weights = config.metric_weights
    enabled = config.enabled_metrics or [*weights] or [*(config.custom_metrics or {})]
    disabled = [name for name in weights if name not in enabled]
    return [
        MetricConfig(name=name, weight=weights.get(name), enabled=name in enabled) for name in [*enabled, *disabled]
    ]


def _check_names(metrics: list[MetricConfig], where: str) -> None:
    name, count = Counter(metric.name for metric in metrics).most_common(1)[0] if metrics else ("", 0)
    if count > 1:
        raise ConfigurationError(f'{where}: the metric "{presentable(name)}" is listed {count} times; list it once.')


def _check_weights(metrics: list[MetricConfig], weights: dict[str, float], where: str) -> None:
    lacking = [metric.name for metric in metrics if metric.name not in weights]
    if lacking:
        raise ConfigurationError(
            f"{where}: some metrics have a weight, but not {', '.join(lacking)}; give each metric a weight, or none."
        )
    total = math.fsum(weights.values())
    if abs(total - 1) > TOLERANCE + 1e-9:
        raise ConfigurationError(
            f"{where}: the weights sum to {total:.8g}, not to 1.0; "
            f"change them ({', '.join(f'{name} = {weight:g}' for name, weight in weights.items())})."
        )
