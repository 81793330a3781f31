"""How runs end where something comes in between: a ledger that cannot be written, a document that is forgotten."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION
from veracity.errors import LedgerError
from veracity.ledger import database
from veracity.models import Step
from veracity.testing import ScriptedLLM


def test_a_run_whose_end_cannot_be_written_is_taken_up_again(
    engine_with: MakeEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the process that was at it, and without another draft: its progress is kept."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
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


def test_progress_of_a_run_that_fails_meanwhile(engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_with(approval={"policy": "always"})
    run_id = engine.ask(QUESTION).run_id
    read = engine._ledger.steps

    def forgotten_meanwhile(wanted: str) -> list[Step]:
        steps = read(wanted)
        engine.forget("leave")
        return steps

    with monkeypatch.context() as patched:
        patched.setattr(engine._ledger, "steps", forgotten_meanwhile)
        assert engine.progress(run_id).answer is None
    progress = engine.progress(run_id)
    assert (progress.run.status, progress.answer) == ("failed", None)
