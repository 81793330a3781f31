"""`evaluate` (exits with 0 scored, 1 failed, 2 invalid input or configuration) and `metrics`."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commands import Run
from tests.loopback import LoopbackServer, hang, reply_with, status, verdict

FIXED = """
from veracity import BaseMetric, EvaluationRequest, MetricScore

class Fixed(BaseMetric):
    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        return MetricScore(metric_name="Fixed", score={score}, evaluator_comment="as written")
"""


@pytest.fixture
def files(tmp_path: Path) -> list[object]:
    answer, evidence = tmp_path / "answer.txt", tmp_path / "evidence.txt"
    answer.write_text("The warranty lasts 24 months [1].")
    evidence.write_text("The warranty lasts 24 months from the day of purchase.")
    return ["--query", "How long is the warranty?", "--submission", answer, "--context", evidence]


def test_table(run: Run, files: list[object]) -> None:
    ran = run("evaluate", *files)
    assert ran.code == 0
    for word in ("Groundedness", "QuestionCoverage", "CitationAccuracy", "Overall score  100.0", "local metrics"):
        assert word in ran.out


def test_json(run: Run, files: list[object]) -> None:
    ran = run("evaluate", *files, "--json")
    result = json.loads(ran.out)
    assert result["overall_score"] == 100
    assert result["metric_set"] == "default-local"
    assert [metric["metric_name"] for metric in result["metrics"]] == [
        "Groundedness",
        "QuestionCoverage",
        "CitationAccuracy",
    ]


@pytest.mark.parametrize(("limit", "code"), [("0", 0), ("75", 0), ("75.0001", 1), ("100", 1)])
def test_fail_under(run: Run, files: list[object], workspace: Path, limit: str, code: int) -> None:
    """B2: the limit itself passes."""
    (workspace / "metrics/fixed.py").write_text(FIXED.format(score=75))
    (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Fixed"\n')
    ran = run("evaluate", *files, "-w", workspace, "--fail-under", limit, "--json")
    assert ran.code == code and json.loads(ran.out)["overall_score"] == 75
    assert ran.err == (f"veracity: The overall score 75 is below {limit} (--fail-under).\n" if code else "")


def test_fail_under_compares_the_unrounded_score(run: Run, files: list[object], workspace: Path) -> None:
    (workspace / "metrics/fixed.py").write_text(FIXED.format(score=74.99999))
    (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Fixed"\n')
    ran = run("evaluate", *files, "-w", workspace, "--fail-under", "75")
    assert (ran.code, ran.err) == (1, "veracity: The overall score 74.99 is below 75 (--fail-under).\n")
    assert "Overall score" in ran.out


@pytest.mark.parametrize("limit", ["-1", "100.5", "nan", "inf", "high"])
def test_fail_under_is_between_0_and_100(run: Run, files: list[object], limit: str) -> None:
    ran = run("evaluate", *files, "--fail-under", limit)
    assert (ran.code, ran.out) == (2, "") and "--fail-under" in ran.err


@pytest.mark.parametrize(
    ("query", "answer", "evidence"),
    [
        ("年假有几天？", "年假有15天[1]。", "年假有15天。"),
        ("締め切りはいつですか。", "締め切りは6月30日です[1]。", "締め切りは6月30日です。"),
    ],
)
def test_standard_input_in_chinese_and_japanese(
    run: Run, tmp_path: Path, query: str, answer: str, evidence: str
) -> None:
    path = tmp_path / "evidence.txt"
    path.write_text(evidence, encoding="utf-8")
    ran = run("evaluate", "-q", query, "-s", "-", "-c", path, "--json", stdin=answer.encode())
    assert (ran.code, json.loads(ran.out)["overall_score"]) == (0, 100)


def test_scores_of_a_judge_model(run: Run, files: list[object], server: LoopbackServer, workspace: Path) -> None:
    (workspace / "veracity.toml").write_text('[models]\njudge = "openai-chat:judge"\n')
    server.respond_with(verdict(65, "[red]Good[/red] \x1b[31mbut\x07 short."))
    ran = run("evaluate", *files, "--workspace", workspace)
    assert ran.code == 0
    assert "65.0" in ran.out and "openai-chat:judge" in ran.out and "3 calls" in ran.out
    assert "[red]Good[/red]" in ran.out  # shown as text,
    assert "\x1b" not in ran.out and "\x07" not in ran.out  # without control characters


def test_failed_evaluation_exits_with_1(run: Run, files: list[object], server: LoopbackServer, workspace: Path) -> None:
    (workspace / "veracity.toml").write_text('[models]\njudge = "openai-chat:judge"\n[llm]\nbackoff = 0\n')
    server.respond_with(verdict(65), status(500))
    ran = run("evaluate", *files, "--workspace", workspace)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith('veracity: The metric "Coverage" failed') and ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (None, "cannot be read"),
    ],
)
def test_bad_submissions_exit_with_2(run: Run, tmp_path: Path, content: bytes | None, expected: str) -> None:
    path = tmp_path / "answer.txt"
    if content is not None:
        path.write_bytes(content)
    ran = run("evaluate", "-q", "Q", "-s", path)
    assert (ran.code, ran.out) == (2, "")
    assert expected in ran.err and ran.err.count("\n") == 1


def test_bad_standard_input_exits_with_2(run: Run) -> None:
    ran = run("evaluate", "-q", "Q", "-s", "-", stdin=b"\xff\xfe")
    assert ran.code == 2 and "standard input" in ran.err


def test_directory_is_not_a_submission(run: Run, tmp_path: Path) -> None:
    assert run("evaluate", "-q", "Q", "-s", tmp_path).code == 2


def test_missing_evidence_names_the_option(run: Run) -> None:
    ran = run("evaluate", "-q", "Q", "-s", "-", stdin=b"An answer.")
    assert ran.code == 2 and "Groundedness" in ran.err and "--context" in ran.err


def test_bad_configuration_exits_with_2(run: Run, files: list[object], workspace: Path) -> None:
    (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Relevance"\nweight = 0.5\n')
    ran = run("evaluate", *files, "-w", workspace)
    assert ran.code == 2 and "evaluator.toml" in ran.err and "0.5" in ran.err


def test_missing_key_exits_with_2(run: Run, files: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai:gpt-5")
    ran = run("evaluate", *files)
    assert ran.code == 2 and "OPENAI_API_KEY" in ran.err


def test_missing_option_exits_with_2(run: Run) -> None:
    ran = run("evaluate", "-q", "Q")
    assert ran.code == 2 and "--submission" in ran.err


def test_current_directory_is_the_default_workspace(
    run: Run, files: list[object], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Groundedness"\n')
    monkeypatch.chdir(workspace)
    assert json.loads(run("evaluate", *files, "--json").out)["metric_set"] == "configured"


def test_folder_with_only_metrics_is_not_a_workspace(
    run: Run, files: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics/other.py").write_text("raise SystemExit('somebody else\\'s code')")
    monkeypatch.chdir(tmp_path)
    assert run("evaluate", *files).code == 0


def test_spread_of_samples_is_shown(run: Run, files: list[object], server: LoopbackServer, workspace: Path) -> None:
    (workspace / "configs/evaluator.toml").write_text(
        '[[metrics]]\nname = "Relevance"\nmodel = "openai-chat:m"\nsamples = 3\n'
    )
    server.respond_with(verdict(60), verdict(80), reply_with('{"reason": "ok", "score": 70}'))
    ran = run("evaluate", *files, "-w", workspace)
    assert "70.0" in ran.out and "60–80" in ran.out


def test_prints_of_a_metric_go_to_standard_error(run: Run, files: list[object], workspace: Path) -> None:
    (workspace / "metrics/loud.py").write_text(
        "from veracity import BaseMetric\n"
        "class Loud(BaseMetric):\n    def evaluate(self, request):\n"
        "        print('noise')\n        return self.score(1, '')\n"
    )
    (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Loud"\n')
    ran = run("evaluate", *files, "-w", workspace, "--json")
    assert json.loads(ran.out)["overall_score"] == 1 and "noise" in ran.err


def test_metric_that_exits_is_a_failure(run: Run, files: list[object], workspace: Path) -> None:
    (workspace / "metrics/quits.py").write_text(
        "from veracity import BaseMetric\n"
        "class Quits(BaseMetric):\n    def evaluate(self, request):\n        raise SystemExit(0)\n"
    )
    (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Quits"\n')
    ran = run("evaluate", *files, "-w", workspace)
    assert ran.code == 1 and '"Quits" failed: SystemExit' in ran.err


def test_error_cannot_control_the_terminal(
    run: Run, files: list[object], server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai-chat:m")
    server.respond_with(status(400, {"error": {"message": "\x1b]0;owned\x07 no\nnewline"}}))
    ran = run("evaluate", *files)
    assert ran.code == 1 and "\x1b" not in ran.err and "\x07" not in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize("option", ["--query", "--team"])
def test_argument_that_is_not_text_is_refused(run: Run, files: list[object], option: str) -> None:
    ran = run("evaluate", *files, option, "\udcff", "--json")
    assert ran.code == 2 and option in ran.err


def test_empty_evidence_is_refused(run: Run, files: list[object], tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    ran = run("evaluate", *files, "-c", tmp_path / "empty.txt")
    assert ran.code == 2 and "empty.txt is empty" in ran.err


@pytest.mark.parametrize("shell", ["PYTHONIOENCODING=ascii {}", "{} > /dev/full", "{} --json > /dev/full", "{} <&-"])
def test_unusual_streams_end_without_traceback(files: list[object], shell: str) -> None:
    options = ["evaluate", *map(str, files), "-q", "年假？"]
    if "<&-" in shell:
        options += ["-s", "-"]
    command = shell.format(shlex.join([sys.executable, "-m", "veracity", *options]))
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in ran.stderr
    assert ran.returncode == {"PYTHONIOENCODING=ascii {}": 0, "{} <&-": 2}.get(shell, 1)
    assert ran.stderr.count("\n") <= 1


def test_interrupt_ends_at_once_without_traceback(tmp_path: Path, server: LoopbackServer) -> None:
    server.respond_with(hang(180))
    answer = tmp_path / "answer.txt"
    answer.write_text("An answer.")
    command = [sys.executable, "-m", "veracity", "evaluate", "-q", "Q", "-s", str(answer)]
    environment = {**os.environ, "OPENAI_BASE_URL": server.url, "VERACITY_MODELS__JUDGE": "openai-chat:m"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not server.requests:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")


class TestMetrics:
    def test_lists_every_metric_with_its_origin(self, run: Run) -> None:
        ran = run("metrics")
        for name in ("ClarityCoherence", "Coverage", "Relevance", "LLMPlain", "Groundedness", "QuestionCoverage"):
            assert name in ran.out
        assert "built-in" in ran.out and "local metrics" in ran.out

    def test_json_has_weights_and_models(self, run: Run, workspace: Path) -> None:
        (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Relevance"\nmodel = "openai:gpt-5"\n')
        (workspace / "metrics/own.py").write_text(
            "from veracity import BaseMetric\n"
            "class Own(BaseMetric):\n    '''Mine.'''\n    def evaluate(self, request): ...\n"
        )
        metrics = {metric["name"]: metric for metric in json.loads(run("metrics", "-w", workspace, "--json").out)}
        assert metrics["Relevance"]["model"] == "openai:gpt-5" and metrics["Relevance"]["weight"] == 1
        assert metrics["Own"]["summary"] == "Mine." and metrics["Own"]["origin"].endswith("own.py")
        assert metrics["Coverage"]["weight"] is None

    def test_broken_metric_file_exits_with_2(self, run: Run, workspace: Path) -> None:
        (workspace / "metrics/own.py").write_text("import nothing_of_this_name")
        ran = run("metrics", "-w", workspace)
        assert ran.code == 2 and "own.py" in ran.err and "nothing_of_this_name" in ran.err
