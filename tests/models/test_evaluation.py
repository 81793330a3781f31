"""What goes in and what comes out (SPEC B2, B6)."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from veracity.models import (
    EvaluationConfig,
    EvaluationRequest,
    EvaluationResult,
    LLMDefaultConfig,
    MetricConfig,
    MetricScore,
)
from veracity.models.evaluation import round_below


def test_b6_everything_is_optional_but_the_name() -> None:
    metric = MetricConfig(name="Coverage")
    assert (metric.weight, metric.enabled, metric.model, metric.temperature) == (None, True, None, None)
    assert EvaluationConfig().llm_default == LLMDefaultConfig()


def test_b3_llm_default_has_the_documented_defaults() -> None:
    default = LLMDefaultConfig()
    values = (default.model, default.temperature, default.max_tokens, default.max_retries)
    assert values == ("anthropic:claude-sonnet-5-5", 0.0, None, 3)


def test_b3_the_default_judge_counts_as_named_only_if_it_is_set() -> None:
    """Otherwise the setting models.judge could not replace it."""
    judge = LLMDefaultConfig().model
    unset, named = EvaluationConfig(), EvaluationConfig(llm_default=LLMDefaultConfig(model=judge, max_retries=0))
    assert (unset.llm_default.named_model, named.llm_default.named_model) == (None, judge)
    for config in (unset, named):
        again = EvaluationConfig.model_validate_json(config.model_dump_json())
        assert (again, again.llm_default.named_model) == (config, config.llm_default.named_model)


@pytest.mark.parametrize(
    "values",
    [
        {"weight": -0.1}, {"weight": 1.1}, {"weight": math.nan}, {"weight": math.inf}, {"weight": "1"},
        {"weight": True}, {"temperature": -1}, {"temperature": 2.5}, {"temperature": "hot"}, {"temperature": True},
        {"temperature": math.nan}, {"max_tokens": 0}, {"max_tokens": 1.5}, {"max_tokens": 1 << 40_000},
        {"max_retries": -1}, {"max_retries": 21}, {"samples": 0}, {"samples": 26}, {"model": "gpt-5"}, {"model": 3},
        {"system_instruction": " \n"}, {"enabled": "yes"}, {"enabled": 1}, {"name": 3}, {"wieght": 1},
    ],
)  # fmt: skip
def test_b8_a_metric_is_checked(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        MetricConfig.model_validate({"name": "Coverage", **values})


def test_b8_zero_is_a_valid_value() -> None:
    metric = MetricConfig(name="Coverage", weight=0, temperature=0, max_retries=0)
    assert (metric.weight, metric.temperature, metric.max_retries) == (0.0, 0.0, 0)


def test_b7_a_custom_metric_is_named_by_its_class() -> None:
    class Brevity: ...

    assert EvaluationConfig(custom_metrics={"Brevity": Brevity}).custom_metrics == {"Brevity": Brevity}
    for metrics in ({"Short": Brevity}, {"Brevity": Brevity()}, {"Brevity": "Brevity"}):
        with pytest.raises(ValidationError, match="a metric is named by its class"):
            EvaluationConfig(custom_metrics=metrics)


def test_b6_a_request_round_trips_through_json() -> None:
    config = EvaluationConfig(enabled_metrics=["Coverage"], metric_weights={"Coverage": 1.0})
    request = EvaluationRequest(user_query="q", submission="s", team_id="t", config=config, context=["c"])
    assert EvaluationRequest.model_validate_json(request.model_dump_json()) == request


@pytest.mark.parametrize("score", [-0.1, 100.1, math.nan, math.inf])
def test_b2_scores_are_0_to_100(score: float) -> None:
    with pytest.raises(ValidationError):
        MetricScore(metric_name="a", score=score, evaluator_comment="")
    with pytest.raises(ValidationError):
        EvaluationResult(metrics=[], overall_score=score)


def test_b6_results_are_frozen() -> None:
    with pytest.raises(ValidationError):
        MetricScore(metric_name="a", score=1, evaluator_comment="").score = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("score", "limit", "shown"),
    [
        (0.7499999, 0.75, 0.74),
        (0.75, 0.75, 0.75),
        (0.746, 0.75, 0.74),
        (0.754, 0.75, 0.75),
        (0.3, 0.75, 0.3),
        (0.0, 0.5, 0.0),
    ],
)
def test_d5_a_displayed_score_does_not_reach_a_limit_it_is_below(score: float, limit: float, shown: float) -> None:
    assert round_below(score, limit) == shown
