"""A changed file takes effect with the next evaluation; an invalid one raises or leaves the last valid in use (B16)."""

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.evaluator.requests import request
from veracity import EvaluationRequest, Evaluator
from veracity.errors import ConfigurationError
from veracity.testing import ScriptedLLM

TWO = '[[metrics]]\nname = "Relevance"\nweight = {0}\n[[metrics]]\nname = "Coverage"\nweight = {1}\n'


@pytest.fixture
def configuration(workspace: Path) -> Path:
    path = workspace / "configs/evaluator.toml"
    path.write_text(TWO.format(0.5, 0.5))
    return path


def judge() -> ScriptedLLM:
    return ScriptedLLM(lambda call: {"reason": "r", "score": 100 if "relevance" in call.instructions else 0})


def test_a_change_of_weights_is_used_at_once(workspace: Path, configuration: Path) -> None:
    evaluator = Evaluator(workspace, llm=judge())
    assert evaluator.evaluate(request()).overall_score == 50
    configuration.write_text(TWO.format(0.9, 0.1))  # the same size, within the same moment
    assert evaluator.evaluate(request()).overall_score == 90


@pytest.mark.parametrize("keep_last_good", [False, True])
def test_a_missing_configuration_does_not_mean_the_defaults(
    workspace: Path, configuration: Path, keep_last_good: bool
) -> None:
    evaluator = Evaluator(workspace, llm=judge(), keep_last_good=keep_last_good)
    for vanish in (configuration.unlink, lambda: configuration.write_text(" \n")):
        vanish()
        if keep_last_good:
            result = evaluator.evaluate(request())
            assert result.overall_score == 50 and "missing or empty" in result.warnings[0]
        else:
            with pytest.raises(
                ConfigurationError, match=r"evaluator\.toml held the configuration and is missing or empty"
            ):
                evaluator.evaluate(request())
    assert Evaluator(workspace).plan().metric_set == "default-local"


def test_a_partially_written_file_is_not_used(workspace: Path, configuration: Path) -> None:
    """`write_text` empties the file before it fills it."""
    evaluator = Evaluator(workspace, llm=judge(), keep_last_good=True)
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            configuration.write_text(TWO.format(0.5, 0.5))
            time.sleep(0.001)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert {evaluator.plan().metric_set for _ in range(200)} == {"configured"}
    finally:
        done.set()
        writer.join()


def test_a_changed_environment_is_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = Evaluator()
    assert evaluator.plan().metric_set == "default-local"
    monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai:gpt-5")
    assert evaluator.plan().models == ["openai:gpt-5"]


def test_a_changed_metric_file_is_used_at_once(workspace: Path) -> None:
    metric = workspace / "metrics/own.py"
    source = (
        "from veracity import BaseMetric\n"
        "class Own(BaseMetric):\n    def evaluate(self, request):\n        return self.score({}, '')\n"
    )
    metric.write_text(source.format(1))
    (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Own"\n')
    evaluator = Evaluator(workspace)
    assert evaluator.evaluate(request()).overall_score == 1
    metric.write_text(source.format(2))
    assert evaluator.evaluate(request()).overall_score == 2


def test_changed_settings_are_used_at_once(workspace: Path) -> None:
    evaluator = Evaluator(workspace)
    assert evaluator.settings.llm.workers == 16
    (workspace / "veracity.toml").write_text("[llm]\nworkers = 3\n")
    assert evaluator.llm.settings.workers == 3


@pytest.mark.parametrize("broken", ["[[metrics", TWO.format(0.5, 0.4), '[[metrics]]\nname = "Nonsense"', "\x00"])
def test_an_invalid_change_raises_until_it_is_fixed(workspace: Path, configuration: Path, broken: str) -> None:
    evaluator = Evaluator(workspace, llm=judge())
    good = configuration.read_text()
    configuration.write_text(broken)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"evaluator\.toml"):
            evaluator.evaluate(request())
    configuration.write_text(good)
    assert evaluator.evaluate(request()).overall_score == 50


def test_a_server_keeps_its_last_valid_configuration(
    workspace: Path, configuration: Path, caplog: pytest.LogCaptureFixture
) -> None:
    evaluator = Evaluator(workspace, llm=judge(), keep_last_good=True)
    configuration.write_text("[[metrics")
    with caplog.at_level(logging.WARNING, "veracity"):
        result = evaluator.evaluate(request())
    assert result.overall_score == 50
    assert "evaluator.toml" in result.warnings[0] and "evaluator.toml" in caplog.text
    configuration.write_text(TWO.format(1.0, 0.0))
    result = evaluator.evaluate(request())
    assert (result.overall_score, result.warnings) == (100, [])


def test_an_invalid_configuration_raises_at_construction(workspace: Path, configuration: Path) -> None:
    configuration.write_text("[[metrics")
    with pytest.raises(ConfigurationError):
        Evaluator(workspace, keep_last_good=True)


def test_one_call_for_many_requests_uses_one_configuration(workspace: Path, configuration: Path) -> None:
    evaluator = Evaluator(workspace, llm=judge())

    def requests() -> Iterator[EvaluationRequest]:
        yield request()
        configuration.write_text(TWO.format(0.9, 0.1))
        yield request()

    results = evaluator.evaluate_many(requests(), concurrency=1)
    assert [result.overall_score for result in results] == [50, 50]
    assert evaluator.evaluate(request()).overall_score == 90


def test_without_reloading_a_changed_file_has_no_effect(workspace: Path, configuration: Path) -> None:
    evaluator = Evaluator(workspace, llm=judge())
    evaluator.stop_reloading()
    configuration.write_text(TWO.format(0.9, 0.1))
    assert evaluator.evaluate(request()).overall_score == 50
