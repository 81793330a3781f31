"""`veracity demo`."""

import json
import subprocess
import sys
from pathlib import Path

from tests.commands import Run
from tests.loopback import LoopbackServer


def test_good_answers_score_high_and_bad_ones_low(run: Run) -> None:
    results = json.loads(run("demo", "--json").out)["evaluations"]
    assert {result["id"][:2] for result in results} == {"en", "zh", "ja"}
    good = [result["overall_score"] for result in results if result["good"]]
    bad = [result["overall_score"] for result in results if not result["good"]]
    assert len(good) == len(bad) == 6
    assert min(good) >= 75 and max(bad) < 60


def test_metrics_of_a_workspace(run: Run, workspace: Path, server: LoopbackServer) -> None:
    (workspace / "configs/evaluator.toml").write_text('[[metrics]]\nname = "LLMPlain"\nmodel = "openai-chat:m"\n')
    ran = run("demo", "-w", workspace)
    assert ran.code == 0 and "LLMPlain" in ran.out and "80.0" in ran.out
    assert len(server.requests) == 12


def test_closed_pipe_is_not_an_error() -> None:
    command = f"{sys.executable} -m veracity demo | head -1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert ran.stderr == "" and ran.stdout.startswith("A handbook of 36 documents")
