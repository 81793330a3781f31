"""Runs that end while the ledger is locked or a document is forgotten."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION
from veracity.errors import LedgerError
from veracity.ledger import database
from veracity.models import Document, Step
from veracity.testing import ScriptedLLM

METRIC = """
from veracity import BaseMetric

class Quoting(BaseMetric):
    def evaluate(self, request):
        raise ValueError(f"cannot parse {request.submission!r}")
"""


def test_a_run_whose_end_cannot_be_stored_is_resumed(
    engine_with: MakeEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the same process and without another draft: its progress is kept."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    engine = engine_with(ScriptedLLM.by_role(writer=[GOOD], reviewer=[PASS]))
    events = engine.stream(QUESTION)
    while next(events).name != "evaluate":
        pass
    with closing(sqlite3.connect(root / "ledger" / "ledger.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="written by another process"):
            list(events)
        assert [run.status for run in engine.runs()] == ["interrupted"]
    (answer,) = engine.recover()
    assert (answer.status, answer.text) == ("answered", GOOD)
    assert engine.interrupted() == []
    assert [run.status for run in engine.runs()] == ["answered"]


def test_progress_of_a_run_that_fails_while_it_is_read(
    engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_with(approval={"policy": "always"})
    run_id = engine.ask(QUESTION).run_id
    read = engine._parts.ledger.steps

    def forget_while_reading(run_id: str) -> list[Step]:
        steps = read(run_id)
        engine.forget("leave")
        return steps

    with monkeypatch.context() as patched:
        patched.setattr(engine._parts.ledger, "steps", forget_while_reading)
        assert engine.progress(run_id).answer is None
    progress = engine.progress(run_id)
    assert (progress.run.status, progress.answer) == ("failed", None)


def test_x3_forgetting_removes_quotes_in_a_metrics_error(
    engine_with: MakeEngine, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (root / "configs").mkdir()
    (root / "configs" / "evaluator.toml").write_text('[[metrics]]\nname = "Quoting"\n')
    (root / "metrics").mkdir()
    (root / "metrics" / "quoting.py").write_text(METRIC)
    engine = engine_with()
    engine.add(Document(id="secret", text="The vault opens with the word Zarquon. Nobody else knows it."))
    answer = engine.ask("With which word does the vault open?")
    assert "Zarquon" in next(notice.text for notice in answer.notices if notice.code == "not_scored")
    assert "Zarquon" in engine.receipt(answer.run_id).scorings[0].problem
    assert "could not be scored (ValueError)" in caplog.text
    assert "Zarquon" not in caplog.text
    engine.forget("secret")
    kept = engine.receipt(answer.run_id)
    assert "Zarquon" not in kept.model_dump_json()
    assert kept.answer is not None
    assert "not_scored" in [notice.code for notice in kept.answer.notices]
