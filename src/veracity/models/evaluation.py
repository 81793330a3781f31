"""Evaluation requests, configuration and results (SPEC B2, B3, B6)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from veracity.models.llm import ModelName, Usage

DEFAULT_JUDGE = "anthropic:claude-sonnet-5-5"

Score = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def _named_by_class(metrics: dict[str, Any]) -> dict[str, Any]:
    for name, metric in metrics.items():
        if getattr(metric, "__name__", None) != name:
            raise ValueError(f'a metric is named by its class: custom_metrics["{name}"] must be a class of that name')
    return metrics


CustomMetrics = Annotated[dict[str, Any], AfterValidator(_named_by_class)]


def _writable(text: Any) -> Any:
    """Replace lone surrogates, which cannot be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode() if isinstance(text, str) else text


WritableText = Annotated[str, BeforeValidator(_writable)]

MetricSet = Literal["configured", "default-llm", "default-local"]
"""The origin of the metrics: the configuration or one of the two default sets."""


def round_below(score: float, limit: float, digits: int = 2) -> float:
    """The score as it is displayed: rounded, but not up to a limit that it does not reach."""
    rounded = round(score, digits)
    return rounded if score >= limit or rounded < limit else max(0.0, round(limit - 10**-digits, digits))


def points(score: float, limit: float = 0.0) -> int:
    """A share as people read it: from 0 to 100, not rounded up to a limit that it does not reach."""
    return round(100 * round_below(score, limit))


class LLMParameters(BaseModel):
    """Parameters of a judge model. None inherits from the level above."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    model: ModelName | None = None
    system_instruction: str | None = Field(default=None, pattern=r"\S")
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    max_tokens: int | None = Field(default=None, ge=1, le=10_000_000)
    max_retries: int | None = Field(default=None, ge=0, le=20)
    samples: int | None = Field(default=None, ge=1, le=25)


class LLMDefaultConfig(LLMParameters):
    """`[llm_default]`: the defaults of every metric. The setting `models.judge` replaces a `model` that is not set."""

    model: ModelName | None = DEFAULT_JUDGE
    temperature: float | None = Field(default=0.0, ge=0, le=2, allow_inf_nan=False)
    max_retries: int | None = Field(default=3, ge=0, le=20)

    @property
    def named_model(self) -> str | None:
        """The model if it is set, None for the default."""
        return self.model if "model" in self.model_fields_set else None

    @model_serializer(mode="wrap")
    def _serialize_set_values(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without defaults, which would count as set when they are read again."""
        return {name: value for name, value in serialize(self).items() if name in self.model_fields_set}


class MetricConfig(LLMParameters):
    """One `[[metrics]]` entry. `name` is the class name of the metric."""

    name: str
    weight: Weight | None = None
    enabled: bool = True


class EvaluationConfig(BaseModel):
    """The content of `configs/evaluator.toml`, or a request's replacement for it.

    `metrics` is the full form. `enabled_metrics` and `metric_weights` are the short one: filled from the file, and for
    Python callers that only want to choose. Both at once have to agree. Without weights all metrics weigh the same.
    `custom_metrics` maps class names to metric classes.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    metrics: list[MetricConfig] = []
    metric_weights: dict[str, Weight] = {}
    enabled_metrics: list[str] = []
    custom_metrics: CustomMetrics | None = Field(default=None, exclude=True)
    llm_default: LLMDefaultConfig = LLMDefaultConfig()


class EvaluationRequest(BaseModel):
    """One submission to score. `context` is the evidence of the answer, in the order `[1]`, `[2]`, … name it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user_query: str
    submission: str
    team_id: str
    config: EvaluationConfig | None = None
    context: list[str] = []


class MetricScore(BaseModel):
    """One metric's result. `spread` is the highest minus the lowest of several samples."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric_name: str
    score: Score
    evaluator_comment: WritableText
    weight: float | None = None
    model: str | None = None
    samples: list[Score] = []
    spread: float | None = None
    usage: Usage = Usage()
    seconds: float = 0.0


class EvaluationResult(BaseModel):
    """All metrics of one evaluation: there are no partial results."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metrics: list[MetricScore]
    overall_score: Score
    metric_set: MetricSet = "configured"
    usage: Usage = Usage()
    seconds: float = 0.0
    warnings: list[str] = []
