"""`configs/evaluator.toml` is taken whole or refused with one sentence (SPEC B3, B4, B8, B13)."""

import re
from pathlib import Path

import pytest

from tests.test_secrets import KEYS, ORDINARY
from veracity.errors import ConfigurationError
from veracity.evaluator.config import listed_metrics, load_configuration, shares
from veracity.models import EvaluationConfig, LLMDefaultConfig, MetricConfig

PATH = Path("configs/evaluator.toml")
MODEL = 'a model is written "provider:model", without spaces and with the provider in small letters, such as'


def load(text: str) -> EvaluationConfig:
    return load_configuration(text.encode(), PATH)


def refusal(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(text)
    message = str(caught.value)
    assert message.isprintable() and len(message) < 400
    return message.removeprefix("configs/evaluator.toml, ")


def metrics(*weights: float | None, disabled: tuple[int, ...] = ()) -> list[MetricConfig]:
    return [MetricConfig(name=f"M{n}", weight=weight, enabled=n not in disabled) for n, weight in enumerate(weights)]


def share_refusal(*weights: float | None, disabled: tuple[int, ...] = ()) -> str:
    with pytest.raises(ConfigurationError) as caught:
        shares(metrics(*weights, disabled=disabled), "f")
    return str(caught.value)


class TestFile:
    def test_without_entries_the_defaults_apply(self) -> None:
        assert load_configuration(None, PATH) == load("") == load("# nothing\n") == load("metrics = []")
        assert load_configuration(None, PATH) == EvaluationConfig()

    def test_b3_every_key(self) -> None:
        config = load(
            "[llm_default]\nmodel = 'openai:gpt-5'\n[[metrics]]\nname = 'Coverage'\nweight = 1\nenabled = true\n"
            "model = 'a:b'\nsystem_instruction = 'x'\ntemperature = 0\nmax_tokens = 5\nmax_retries = 0\nsamples = 3"
        )
        assert config.llm_default.model == "openai:gpt-5"
        assert config.metrics == [
            MetricConfig(
                name="Coverage", weight=1.0, enabled=True, model="a:b", system_instruction="x", temperature=0.0,
                max_tokens=5, max_retries=0, samples=3,
            )
        ]  # fmt: skip

    def test_b6_the_short_form_is_filled(self) -> None:
        config = load(
            "[[metrics]]\nname = 'Coverage'\nweight = 0.4\n[[metrics]]\nname = 'Relevance'\nweight = 0.6\n"
            "enabled = false"
        )
        assert config.metric_weights == {"Coverage": 0.4, "Relevance": 0.6}
        assert config.enabled_metrics == ["Coverage"]
        assert listed_metrics(config, "f") == config.metrics
        assert load("[[metrics]]\nname = 'Coverage'").metric_weights == {}

    def test_b3_default_model_is_an_alias(self) -> None:
        config = load("default_model = 'openai:gpt-5'\n[llm_default]\ntemperature = 1.0")
        assert config.llm_default == LLMDefaultConfig(model="openai:gpt-5", temperature=1.0)
        assert load("default_model = 'openai:gpt-5'").llm_default.model == "openai:gpt-5"
        both = "default_model = 'a:b'\n[llm_default]\nmodel = 'a:b'"
        assert refusal(both) == "default_model: [llm_default] sets a model too; keep one of the two."

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("weight = -0.5", "weight = -0.5: must be at least 0."),
            ("weight = 1.5", "weight = 1.5: must be at most 1."),
            ("weight = nan", "weight = nan: must be a finite number."),
            ("weight = -inf", "weight = -inf: must be a finite number."),
            ("weight = '1'", "weight = '1': must be a number."),
            ("weight = true", "weight = true: must be a number."),
            ("temperature = -1", "temperature = -1: must be at least 0."),
            ("temperature = 2.5", "temperature = 2.5: must be at most 2."),
            ("temperature = 'hot'", "temperature = 'hot': must be a number."),
            ("temperature = true", "temperature = true: must be a number."),
            ("temperature = 2025-01-01", "temperature = 2025-01-01: must be a number."),
            ("max_tokens = 0", "max_tokens = 0: must be at least 1."),
            ("max_tokens = 1.5", "max_tokens = 1.5: must be a whole number."),
            ("max_tokens = 0x" + "f" * 9000, "max_tokens: must be at most 10,000,000."),
            ("max_retries = -1", "max_retries = -1: must be at least 0."),
            ("samples = 0", "samples = 0: must be at least 1."),
            ("enabled = 'no'", "enabled = 'no': must be true or false."),
            ("enabled = 0", "enabled = 0: must be true or false."),
            ("system_instruction = ' '", "system_instruction = ' ': must not be blank."),
            ("system_instruction = ['a']", "system_instruction: must be text in quotes."),
            ("model = 3", "model = 3: must be text in quotes."),
            ("model = ''", f"model = '': {MODEL}"),
            ("model = 'gpt-5'", f"model = 'gpt-5': {MODEL}"),
            ("model = 'openai:'", f"model = 'openai:': {MODEL}"),
            ("model = ':x'", f"model = ':x': {MODEL}"),
            ("model = 'openai:gpt 5'", f"model = 'openai:gpt 5': {MODEL}"),
            (f"model = 'openai:{'x' * 999}'", "model: a model name has at most 300 characters."),
            ("wieght = 1", 'wieght: there is no such setting (did you mean "weight"?); known: name, weight, '),
            (f"'{'x' * 9000}' = 1", "x" * 60 + "…: there is no such setting; known: name, "),
            ("'a\\nb' = 1", "a\\nb: there is no such setting; known: name, "),
            ("\"a\\nb\" = 1", "a\\nb: there is no such setting; known: name, "),
        ],
    )  # fmt: skip
    def test_b8_errors_of_a_metric(self, line: str, told: str) -> None:
        assert refusal(f"[[metrics]]\nname = 'Coverage'\n[[metrics]]\nname = 'B'\n{line}").startswith(
            f"metrics[2].{told}"
        )

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (
                "[metrics]\nname = 'Coverage'",
                "metrics: must be a list: write [[metrics]], in double brackets, above each",
            ),
            ("metrics = 3", "metrics = 3: must be a list: write [[metrics]], in double brackets, above each entry."),
            ("metrics = ['A']", "metrics[1] = 'A': must be an entry of its own: write [[metrics]] above its settings."),
            ("metrics = [[]]", "metrics[1]: must be an entry of its own: write [[metrics]] above its settings."),
            ("[[metrics]]\nweight = 1", "metrics[1].name: this is missing; add it."),
            ("[[metrics]]\nname = 3", "metrics[1].name = 3: must be text in quotes."),
            ("llm_default = 'x'", "llm_default = 'x': must be a section: write [llm_default] above its settings."),
            ("[[llm_default]]", "llm_default: must be a section: write [llm_default] above its settings."),
            ("[llm_default]\nmodle = 'a:b'", 'llm_default.modle: there is no such setting (did you mean "model"?);'),
            ("[llm_default]\nweight = 1", "llm_default.weight: there is no such setting; known: model, "),
            ("[llm_default]\nmodel = 'gpt-5'", f"llm_default.model = 'gpt-5': {MODEL}"),
            ("default_model = 'gpt-5'", f"default_model = 'gpt-5': {MODEL}"),
            ("default_model = 3", "default_model = 3: must be text in quotes."),
            ("default_model = ['a:b']", "default_model: must be text in quotes."),
            ("default_model = 'a:b'\nllm_default = 3", "llm_default = 3: must be a section"),
            ("[evaluator]", "evaluator: there is no such setting; known: metrics, llm_default, default_model."),
            ("metric_weights = {}", "metric_weights: there is no such setting; known: metrics, "),
            ("custom_metrics = {}", "custom_metrics: there is no such setting; known: metrics, "),
        ],
    )
    def test_b8_errors_outside_of_metrics(self, text: str, told: str) -> None:
        assert refusal(text).startswith(told)

    @pytest.mark.parametrize("key", KEYS)
    def test_b13_credentials_are_refused_and_not_shown(self, key: str) -> None:
        for text in (f"[llm_default]\nmodel = 'openai:{key}'", f"[[metrics]]\nname = '{key}'", f"'{key}' = 1"):
            assert "looks like a credential (not shown)" in refusal(text) and key not in refusal(text)

    @pytest.mark.parametrize("text", [text for text in ORDINARY if text])
    def test_b13_ordinary_text_is_accepted(self, text: str) -> None:
        content = f"[[metrics]]\nname = 'LLMPlain'\nmax_tokens = 100\nsystem_instruction = '''{text}'''"
        assert load(content).metrics[0].system_instruction == text


class TestWeights:
    def test_b4_no_weights_are_equal_weights(self) -> None:
        assert shares(metrics(None, None), "f") == {"M0": 0.5, "M1": 0.5}
        assert shares(metrics(None, None, None, disabled=(1,)), "f") == {"M0": 0.5, "M2": 0.5}

    @pytest.mark.parametrize("second", [0.5, 0.5005, 0.4991, 0.499, 0.501])
    def test_b4_the_sum_is_1_within_a_thousandth(self, second: float) -> None:
        found = shares(metrics(0.5, second), "f")
        assert sum(found.values()) == pytest.approx(1, abs=1e-12)
        assert found["M1"] == pytest.approx(second / (0.5 + second))

    @pytest.mark.parametrize(
        ("second", "total"), [(0.49, "0.99"), (0.5011, "1.0011"), (0.49899, "0.99899"), (0, "0.5")]
    )
    def test_b4_another_sum_is_an_error(self, second: float, total: str) -> None:
        told = f"f: the weights sum to {total}, not to 1.0; change them (M0 = 0.5, M1 = {second:g})."
        assert share_refusal(0.5, second) == told

    def test_b4_ten_tenths_and_three_thirds_are_1(self) -> None:
        assert len(shares(metrics(*[0.1] * 10), "f")) == 10
        assert len(shares(metrics(*[1 / 3] * 3), "f")) == 3

    def test_b4_some_weights_but_not_all(self) -> None:
        told = "f: some metrics have a weight, but not M1; give each metric a weight, or none."
        assert share_refusal(1.0, None) == told
        assert share_refusal(1.0, None, disabled=(1,)) == told

    def test_b4_weights_of_enabled_metrics_are_scaled(self) -> None:
        assert shares(metrics(0.5, 0.3, 0.2, disabled=(0,)), "f") == pytest.approx({"M1": 0.6, "M2": 0.4})
        assert shares(metrics(0.0, 0.5, 0.5), "f") == {"M0": 0, "M1": 0.5, "M2": 0.5}

    def test_b4_the_sum_includes_disabled_metrics(self) -> None:
        assert share_refusal(1.0, 0.5, disabled=(1,)).startswith("f: the weights sum to 1.5, not to 1.0")

    def test_b4_zero_total_weight_is_an_error(self) -> None:
        assert share_refusal(None, None, disabled=(0, 1)) == "f: every metric is disabled; enable at least one."
        assert share_refusal(1.0, 0.0, disabled=(0,)) == (
            "f: the weights of the enabled metrics are all 0; give one of them a weight."
        )

    def test_b4_tiny_weights(self) -> None:
        assert shares(metrics(1.0, 5e-324, 5e-324, disabled=(0,)), "f") == {"M1": 0.5, "M2": 0.5}


class TestListing:
    def test_b8_a_metric_listed_twice(self) -> None:
        config = EvaluationConfig(metrics=[*metrics(None, None), *metrics(None)])
        with pytest.raises(ConfigurationError, match=re.escape('f: the metric "M0" is listed 2 times; list it once.')):
            listed_metrics(config, "f")
        with pytest.raises(ConfigurationError, match=r'f: the metric "A" is listed 2 times'):
            listed_metrics(EvaluationConfig(enabled_metrics=["A", "A"]), "f")

    def test_b6_the_short_form(self) -> None:
        chosen = listed_metrics(EvaluationConfig(enabled_metrics=["A", "B"]), "f")
        assert [(metric.name, metric.weight, metric.enabled) for metric in chosen] == [
            ("A", None, True),
            ("B", None, True),
        ]
        weighted = listed_metrics(EvaluationConfig(metric_weights={"A": 0.25, "B": 0.75}), "f")
        assert shares(weighted, "f") == {"A": 0.25, "B": 0.75}

    def test_b4_in_the_short_form_a_weighted_metric_that_is_not_enabled_is_disabled(self) -> None:
        config = EvaluationConfig(enabled_metrics=["B"], metric_weights={"A": 0.25, "B": 0.75})
        assert shares(listed_metrics(config, "f"), "f") == {"B": 1.0}

    def test_b4_the_short_form_with_some_weights(self) -> None:
        config = EvaluationConfig(enabled_metrics=["A", "B"], metric_weights={"A": 1.0})
        with pytest.raises(ConfigurationError, match="some metrics have a weight, but not B"):
            shares(listed_metrics(config, "f"), "f")

    def test_b6_one_form_or_the_other(self) -> None:
        agreeing = EvaluationConfig(metrics=metrics(None), enabled_metrics=["M0"])
        assert listed_metrics(agreeing, "f") == metrics(None)
        for short in ({"enabled_metrics": ["M1"]}, {"metric_weights": {"M0": 1.0}}):
            self.refuse_both(EvaluationConfig(metrics=metrics(None), **short))

    def refuse_both(self, config: EvaluationConfig) -> None:
        with pytest.raises(ConfigurationError, match="f: use either metrics, or enabled_metrics and metric_weights"):
            listed_metrics(config, "f")
