"""Workers that share the ledger answer the cases of an experiment (SPEC X6, X11)."""

import json
from pathlib import Path

from tests.cluster.conftest import MakeEngine, StartWorker
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.waiting import until
from veracity.testing import ScriptedLLM


def scripted() -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(90))


def write_suite(root: Path, cases: int) -> None:
    (root / "evals").mkdir()
    rows = ({"id": str(number), "question": QUESTION} for number in range(cases))
    (root / "evals" / "team.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_workers_answer_the_cases(sharing: MakeEngine, work: StartWorker, root: Path) -> None:
    write_suite(root, 6)
    theirs, own = scripted(), scripted()
    work(sharing(theirs))
    engine = sharing(own)
    until(lambda: any(member.kind == "worker" for member in engine.membership.list_alive()))
    summary = engine.experiment("team", name="shared", concurrency=6)
    assert (summary.finished, summary.not_run) == (6, 0)
    assert len([call for call in theirs.calls if call.role == "writer"]) == 6
    assert own.calls == []
    assert engine.pending() == 0
    assert {run.status for run in engine.runs(user="experiment:shared")} == {"answered"}


def test_other_settings_are_run_here(sharing: MakeEngine, work: StartWorker, root: Path) -> None:
    write_suite(root, 2)
    theirs, own = scripted(), scripted()
    work(sharing(theirs))
    engine = sharing(own)
    summary = engine.experiment("team", overrides=["answering.evidence=3"])
    assert summary.finished == 2
    assert theirs.calls == []


def test_without_a_worker_the_cases_run_here(sharing: MakeEngine, root: Path) -> None:
    write_suite(root, 2)
    own = scripted()
    assert sharing(own).experiment("team").finished == 2
    assert len([call for call in own.calls if call.role == "writer"]) == 2
