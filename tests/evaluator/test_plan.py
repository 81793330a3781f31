"""From a configuration to what will run (SPEC B1, B3, B4, B8, B18)."""

from pathlib import Path

import pytest

from veracity.errors import ConfigurationError
from veracity.evaluator.config import load_configuration
from veracity.evaluator.judge import JudgeOptions
from veracity.evaluator.plan import Plan, make_plan
from veracity.evaluator.registry import Registry, built_in
from veracity.models import DEFAULT_JUDGE, EvaluationConfig
from veracity.settings import ModelSettings, Settings

LLM = ["ClarityCoherence", "Coverage", "Relevance"]
LOCAL = ["Groundedness", "QuestionCoverage", "CitationAccuracy"]
WITH_JUDGE = Settings(models=ModelSettings(judge="openai:judge"))


def plan(config: str | EvaluationConfig = "", settings: Settings | None = None) -> Plan:
    if isinstance(config, str):
        config = load_configuration(config.encode(), Path("f"))
    return make_plan(config, Registry(built_in()), settings or Settings(), "f")


def names(plan: Plan) -> list[str]:
    return [one.name for one in plan.metrics]


def options(metric: str = "", default: str = "", settings: Settings | None = None) -> JudgeOptions:
    text = f"[llm_default]\n{default}\n[[metrics]]\nname = 'Coverage'\n{metric}"
    judge = plan(text, settings).metrics[0].judge
    assert judge is not None
    return judge


def refusal(config: str | EvaluationConfig, settings: Settings | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        plan(config, settings)
    assert str(caught.value).isprintable()
    return str(caught.value)


class TestDefaultSet:
    def test_b1_local_without_a_judge(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert (names(plan()), plan().metric_set) == (LOCAL, "default-local")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "  ")
        monkeypatch.setenv("OPENAI_API_KEY", "a key of another provider")
        assert plan().metric_set == "default-local"
        assert plan("[llm_default]\ntemperature = 1.0").metric_set == "default-local"

    def test_b1_llm_with_a_judge(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for text, settings in (
            ("", WITH_JUDGE),
            ("default_model = 'a:b'", None),
            ("[llm_default]\nmodel = 'a:b'", None),
        ):
            assert (names(plan(text, settings)), plan(text, settings).metric_set) == (LLM, "default-llm")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
        assert (names(plan()), plan().metric_set, plan().models) == (LLM, "default-llm", [DEFAULT_JUDGE])

    def test_b4_llm_metrics_weigh_the_same(self) -> None:
        assert [one.weight for one in plan("", WITH_JUDGE).metrics] == pytest.approx([1 / 3] * 3)

    def test_d5_question_coverage_weighs_most(self) -> None:
        """Else an answer that repeats the evidence, beside the point, would score 67 of 100 for that alone."""
        assert [one.weight for one in plan().metrics] == pytest.approx([0.3, 0.4, 0.3])

    def test_b1_listed_metrics_are_configured(self) -> None:
        chosen = plan("[[metrics]]\nname = 'Groundedness'", WITH_JUDGE)
        assert (names(chosen), chosen.metric_set, chosen.models) == (["Groundedness"], "configured", [])


class TestPrecedence:
    def test_b3_built_in_defaults(self) -> None:
        assert options() == JudgeOptions("anthropic:claude-sonnet-5-5", None, 0.0, None, 3, 1)

    def test_b3_metric_then_llm_default_then_setting(self) -> None:
        own, default = "model = 'openai:own'", "model = 'openai:default'"
        assert options(own, default, WITH_JUDGE).model == "openai:own"
        assert options("", default, WITH_JUDGE).model == "openai:default"
        assert options("", "", WITH_JUDGE).model == "openai:judge"
        assert options(own, "", None).model == "openai:own"

    def test_b3_every_parameter(self) -> None:
        own = "system_instruction = 'own'\ntemperature = 1.0\nmax_tokens = 1\nmax_retries = 1\nsamples = 2"
        default = "system_instruction = 'default'\ntemperature = 2.0\nmax_tokens = 9\nmax_retries = 9\nsamples = 9"
        assert options(own, default) == JudgeOptions(DEFAULT_JUDGE, "own", 1.0, 1, 1, 2)
        assert options("", default) == JudgeOptions(DEFAULT_JUDGE, "default", 2.0, 9, 9, 9)

    def test_b3_zero_is_a_valid_value(self) -> None:
        judge = options("temperature = 0.0\nmax_retries = 0", "temperature = 1.0\nmax_retries = 5")
        assert (judge.temperature, judge.max_retries) == (0.0, 0)
        judge = options("", "temperature = 0\nmax_retries = 0")
        assert (judge.temperature, judge.max_retries) == (0.0, 0)

    def test_b18_a_metric_without_a_judge_ignores_llm_parameters(self) -> None:
        text = "[[metrics]]\nname = 'Groundedness'\nmodel = 'antropic:x'\ntemperature = 1.0\nsystem_instruction = 'x'"
        assert plan(text).metrics[0].judge is None
        assert plan(text).models == []


class TestMetrics:
    def test_b12_the_order_of_the_file(self) -> None:
        text = "".join(f"[[metrics]]\nname = '{name}'\n" for name in ("Relevance", "Groundedness", "Coverage"))
        assert names(plan(text)) == ["Relevance", "Groundedness", "Coverage"]

    def test_b4_a_disabled_metric_does_not_run(self) -> None:
        chosen = plan(
            "[[metrics]]\nname = 'Coverage'\nweight = 0.5\nenabled = false\nmodel = 'openai:off'\n"
            "[[metrics]]\nname = 'Relevance'\nweight = 0.4\n[[metrics]]\nname = 'Groundedness'\nweight = 0.1"
        )
        assert names(chosen) == ["Relevance", "Groundedness"]
        assert [one.weight for one in chosen.metrics] == pytest.approx([0.8, 0.2])
        assert chosen.models == [DEFAULT_JUDGE]

    def test_b8_a_disabled_metric_is_validated(self) -> None:
        off = "[[metrics]]\nname = 'Relevance'\n[[metrics]]\nenabled = false\n"
        assert refusal(off + "name = 'Nothing'").startswith('f: there is no metric "Nothing"; known: ')
        assert "did you mean" in refusal(off + "name = 'Coverage'\nmodel = 'antropic:x'")

    def test_b6_the_short_form(self) -> None:
        chosen = plan(
            EvaluationConfig(enabled_metrics=["Coverage"], metric_weights={"Coverage": 0.5, "Relevance": 0.5})
        )
        assert [(one.name, one.weight) for one in chosen.metrics] == [("Coverage", 1.0)]
        assert refusal(EvaluationConfig(enabled_metrics=["Nothing"])).startswith('f: there is no metric "Nothing"')

    def test_b8_an_unknown_name_comes_before_its_weight(self) -> None:
        assert "there is no metric" in refusal(f"[[metrics]]\nname = '{'x' * 9999}'\nweight = 0.1")


class TestTypingErrors:
    def test_b8_a_misspelt_provider_names_its_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told = 'there is no provider "antropic"; did you mean "anthropic:claude"?'
        metric = "[[metrics]]\nname = 'Coverage'\n"
        assert refusal(f"{metric}model = 'antropic:claude'") == f'f, the model of "Coverage": {told}'
        assert refusal("default_model = 'antropic:claude'") == f"f, the default model: {told}"
        assert refusal("[llm_default]\nmodel = 'antropic:claude'") == f"f, the default model: {told}"
        settings = Settings(models=ModelSettings(judge="antropic:claude"))
        assert refusal("", settings) == f"veracity.toml, models.judge: {told}"
        monkeypatch.setenv("VERACITY_MODELS__JUDGE", "antropic:claude")
        assert refusal("", settings) == f"the environment variable VERACITY_MODELS__JUDGE: {told}"

    def test_b8_overridden_models_are_validated(self) -> None:
        text = "default_model = 'antropic:x'\n[[metrics]]\nname = 'Coverage'\nmodel = 'openai:gpt-5'"
        assert refusal(text).startswith("f, the default model: ")

    @pytest.mark.parametrize("model", ["brandnew:x", "gateway/openai:gpt-5", "google-gla:gemini-2.5-pro", "test:x"])
    def test_b8_a_provider_newer_than_our_list_is_not_refused(self, model: str) -> None:
        assert plan(f"default_model = '{model}'").models == [model]

    def test_b13_no_key_is_repeated(self) -> None:
        key = "sk-proj-Ab3dE6gH9jKl2mNo5pQr8sTu1vWx4yZ"
        assert key not in refusal("", Settings(models=ModelSettings(judge=f"antropic:{key}")))
