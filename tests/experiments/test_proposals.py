"""Cases from people's decisions and ratings (SPEC X6)."""

import json
from pathlib import Path

import pytest

from tests.commands import Run
from tests.runs.scripts import DOCUMENTS, GOOD, PASS, judged
from veracity import Veracity
from veracity.experiments.suite import open_suite
from veracity.settings import Settings
from veracity.testing import ScriptedLLM

QUESTIONS = [f"How many days of annual leave do staff of group {name} have?" for name in "ABCD"]


@pytest.fixture
def decided(tmp_path: Path) -> Path:
    """Four questions whose drafts were approved, edited, rejected and left alone."""
    root = tmp_path / "ws"
    models = {"embedder": "none", "writer": "test:writer", "reviewer": "test:reviewer", "judge": "test:judge"}
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(10))
    with Veracity(root, settings=Settings.model_validate({"models": models}), llm=llm) as engine:
        engine.add(DOCUMENTS)
        runs = [engine.ask(question) for question in QUESTIONS]
        engine.decide(runs[0].approval_id, "approve", by="ann")
        engine.decide(runs[1].approval_id, "approve", edit="It is 26 days. [1]", by="ann")
        engine.decide(runs[2].approval_id, "reject", reason="wrong office", by="ann")
        engine.rate(runs[0].run_id, "up", by="bob")
        engine.rate(runs[1].run_id, "down", "too long", by="bob")
    (root / "veracity.toml").write_text("[models]\nembedder = 'none'\n")
    return root


def test_decisions_become_cases(run: Run, decided: Path) -> None:
    where = ("--workspace", str(decided))
    ran = run("experiment", "cases", "--from", "approvals", *where)
    assert ran.code == 0
    assert ran.out.startswith("3 cases in ")
    cases = {case.question: case for case in open_suite(decided / "evals" / "proposed.jsonl").cases()}
    approved, edited, rejected = (cases[question] for question in QUESTIONS[:3])
    assert approved.answers == [GOOD.removesuffix(" [1]")]
    assert approved.must_cite
    assert edited.answers == ["It is 26 days."]
    assert rejected.forbid == [GOOD.removesuffix(" [1]")]
    assert rejected.origin == "rejected by ann: wrong office"
    again = run("experiment", "cases", "--from", "approvals", *where)
    assert (again.code, "exists" in again.err) == (2, True)
    assert run("experiment", "cases", "--from", "approvals", "--force", *where).code == 0


def test_ratings_become_cases(run: Run, decided: Path) -> None:
    output = decided / "rated.jsonl"
    where = ("--workspace", str(decided))
    assert run("experiment", "cases", "--from", "feedback", "-o", str(output), *where).code == 0
    rows = {row["question"]: row for row in map(json.loads, output.read_text().splitlines())}
    assert rows[QUESTIONS[0]]["answers"] == [GOOD.removesuffix(" [1]")]
    assert rows[QUESTIONS[1]]["origin"] == "thumb down by bob: too long"
    assert rows[QUESTIONS[1]]["forbid"]


def test_without_decisions_nothing_is_written(run: Run, workspace: Path) -> None:
    (workspace / "veracity.toml").touch()
    ran = run("experiment", "cases", "--from", "feedback", "--workspace", str(workspace))
    assert (ran.code, ran.out) == (0, "No cases: there are no ratings yet.\n")
    assert run("experiment", "cases", "--from", "dreams", "--workspace", str(workspace)).code == 2
