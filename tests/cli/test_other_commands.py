"""`init`, `metrics`, `doctor`, `demo`, `--help` and `--version`."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.commands import Run
from tests.evaluator.requests import request
from tests.loopback import LoopbackServer, says, status
from veracity import Evaluator, __version__

# Sections, settings, and the two lines of the instruction that spans lines.
EXAMPLE = re.compile(r"(# )?(\[|\w+ = |Is the submission|Reason first)")
KEY = "sk-test-0123456789abcdefghij"


class TestInit:
    def test_creates_a_workspace_that_works(self, run: Run, tmp_path: Path) -> None:
        root = tmp_path / "new" / "place"
        ran = run("init", root)
        assert ran.code == 0 and ran.out.count("created") == 3
        assert Evaluator(root).evaluate(request()).metric_set == "default-local"
        assert "Brevity" in run("metrics", "-w", root).out

    def test_keeps_what_exists(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "veracity.toml").write_text("# mine\n")
        ran = run("init", tmp_path)
        assert "kept" in ran.out and (tmp_path / "veracity.toml").read_text() == "# mine\n"
        assert run("init", tmp_path).out.count("kept") == 3

    def test_the_current_directory_by_default(self, run: Run) -> None:
        assert run("init").code == 0
        assert Path("configs/evaluator.toml").is_file()

    def test_a_file_in_the_way_is_told(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "configs").write_text("")
        for directory in (tmp_path, tmp_path / "configs"):
            ran = run("init", directory)
            assert ran.code == 2 and "cannot be created" in ran.err

    def test_every_commented_example_is_valid_when_uncommented(self, run: Run, tmp_path: Path) -> None:
        """What the comments show must work: each setting line, uncommented, loads."""
        run("init", tmp_path)
        for path in (tmp_path / "configs/evaluator.toml", tmp_path / "veracity.toml"):
            examples = [line.removeprefix("# ") for line in path.read_text().splitlines() if EXAMPLE.match(line)]
            path.write_text("\n".join(line for line in examples if "openai" not in line))  # one judge of several
            tomllib.loads(path.read_text())
        planned = {one.name: one.weight for one in Evaluator(tmp_path).plan().metrics}
        assert planned == {"Relevance": 0.5, "Groundedness": 0.3, "LLMPlain": 0.2}


class TestMetrics:
    def test_lists_every_metric_with_its_origin(self, run: Run) -> None:
        ran = run("metrics")
        for name in ("ClarityCoherence", "Coverage", "Relevance", "LLMPlain", "Groundedness", "QuestionCoverage"):
            assert name in ran.out
        assert "built-in" in ran.out and "local metrics" in ran.out

    def test_json_tells_weights_and_models(self, run: Run, workspace: Path) -> None:
        (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Relevance"\nmodel = "openai:gpt-5"\n')
        (workspace / "metrics/own.py").write_text(
            "from veracity import BaseMetric\n"
            "class Own(BaseMetric):\n    '''Mine.'''\n    def evaluate(self, request): ...\n"
        )
        found = {one["name"]: one for one in json.loads(run("metrics", "-w", workspace, "--json").out)}
        assert found["Relevance"]["model"] == "openai:gpt-5" and found["Relevance"]["weight"] == 1
        assert found["Own"]["summary"] == "Mine." and found["Own"]["origin"].endswith("own.py")
        assert found["Coverage"]["weight"] is None

    def test_a_broken_metric_file_exits_with_2(self, run: Run, workspace: Path) -> None:
        (workspace / "metrics/own.py").write_text("import nothing_of_this_name")
        ran = run("metrics", "-w", workspace)
        assert ran.code == 2 and "own.py" in ran.err and "nothing_of_this_name" in ran.err


class TestDoctor:
    def test_without_anything(self, run: Run) -> None:
        ran = run("doctor")
        assert ran.code == 0
        assert "Workspace: none" in ran.out and "present: none" in ran.out and "No language model" in ran.out
        assert "The embedder bundled answers" in ran.out and "(384 dimensions)" in ran.out

    def test_an_embedder_or_reranker_that_cannot_be_used_exits_with_1(
        self, run: Run, workspace: Path, server: LoopbackServer
    ) -> None:
        server.behaves(status(500), status(500), status(500), status(500))
        (workspace / "veracity.toml").write_text(
            '[models]\nembedder = "openai:e"\n[retrieval]\nreranker = "cross-encoder:nowhere"\n[llm]\nbackoff = 0.0\n'
        )
        ran = run("doctor", "-w", workspace)
        assert ran.code == 1
        assert "The embedder openai:e does not answer" in ran.out
        assert "The reranker cross-encoder:nowhere does not answer" in ran.out

    def test_keys_are_named_and_never_shown(
        self, run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer
    ) -> None:
        """B13."""
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        (workspace / "veracity.toml").write_text('[models]\njudge = "openai-chat:m"\n')
        server.behaves(says('{"word": "pong"}'))
        ran = run("doctor", "--workspace", workspace)
        assert ran.code == 0
        assert "OPENAI_API_KEY" in ran.out and "openai-chat:m answers" in ran.out and "veracity.toml" in ran.out
        assert KEY not in ran.out + ran.err

    def test_a_model_that_does_not_answer_exits_with_1(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai-chat:m")
        server.behaves(status(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}))
        ran = run("doctor")
        assert ran.code == 1 and "does not answer" in ran.out
        assert KEY not in ran.out + ran.err
        assert len(server.requests) == 1

    def test_no_ask_sends_nothing(self, run: Run, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer) -> None:
        monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai-chat:m")
        assert run("doctor", "--no-ask").code == 0
        assert server.requests == []

    def test_a_missing_key_is_told(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("VERACITY_MODELS__JUDGE", "anthropic:claude-x")
        ran = run("doctor")
        assert ran.code == 1 and "ANTHROPIC_API_KEY" in ran.out

    def test_a_judge_that_no_metric_uses_is_asked_too(
        self, run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch, server: LoopbackServer
    ) -> None:
        monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai-chat:m")
        (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "Groundedness"\n')
        server.behaves(says('{"word": "pong"}'))
        assert "openai-chat:m answers" in run("doctor", "-w", workspace).out

    def test_bad_configuration_exits_with_2(self, run: Run, workspace: Path) -> None:
        (workspace / "veracity.toml").write_text("[llm]\nworkers = 0\n")
        ran = run("doctor", "-w", workspace)
        assert ran.code == 2 and "llm.workers" in ran.err


class TestDemo:
    def test_good_answers_score_high_and_bad_ones_low(self, run: Run) -> None:
        results = json.loads(run("demo", "--json").out)["evaluations"]
        assert {result["id"][:2] for result in results} == {"en", "zh", "ja"}
        good = [result["overall_score"] for result in results if result["good"]]
        bad = [result["overall_score"] for result in results if not result["good"]]
        assert len(good) == len(bad) == 6
        assert min(good) >= 75 and max(bad) < 60

    def test_a_table_for_people(self, run: Run) -> None:
        ran = run("demo")
        assert ran.code == 0
        for word in ("en-returns-good", "zh-leave-bad", "ja-visa-bad", "Overall", "What was wrong"):
            assert word in ran.out

    def test_with_the_metrics_of_a_workspace(self, run: Run, workspace: Path, server: LoopbackServer) -> None:
        (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "LLMPlain"\nmodel = "openai-chat:m"\n')
        ran = run("demo", "-w", workspace)
        assert ran.code == 0 and "LLMPlain" in ran.out and "80.0" in ran.out
        assert len(server.requests) == 12


def test_version(run: Run) -> None:
    assert run("--version").out == f"veracity {__version__}\n"


@pytest.mark.parametrize("command", [(), ("evaluate",), ("metrics",), ("doctor",), ("init",), ("demo",)])
def test_every_command_explains_itself(run: Run, command: tuple[str, ...]) -> None:
    ran = run(*command, "--help")
    assert ran.code == 0 and "Usage: veracity" in ran.out


def test_an_unknown_command_exits_with_2(run: Run) -> None:
    assert run("nonsense").code == 2


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m veracity demo | head -1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert ran.stderr == "" and ran.stdout.startswith("A handbook of 36 documents")
