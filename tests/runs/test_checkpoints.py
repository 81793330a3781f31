"""Checkpoints: what a waiting run keeps, and what happens to a damaged file."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from veracity.testing import ScriptedLLM


def waiting(gated: MakeEngine) -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(10)[0])


def size(root: Path) -> int:
    with closing(sqlite3.connect(root / "ledger" / "checkpoints.sqlite")) as connection:
        return int(
            connection.execute("SELECT sum(length(checkpoint) + length(metadata)) FROM checkpoints").fetchone()[0]
        )


def rows(root: Path, table: str) -> int:
    with closing(sqlite3.connect(root / "ledger" / "checkpoints.sqlite")) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.mark.both_engines
def test_a_run_resumes_from_the_one_checkpoint_that_it_kept(gated: MakeEngine, root: Path, ledger_engine: str) -> None:
    engine = gated(waiting(gated))
    answer = engine.ask(QUESTION)
    assert answer.status == "awaiting_approval"
    if ledger_engine == "sqlite":
        assert rows(root, "checkpoints") == 1
        assert size(root) < 40_000
    decided = engine.decide(answer.run_id, "approve", by="bob")
    assert (decided.status, decided.text) == ("answered", GOOD)
    assert engine._parts.runner._driver.runs_with_progress() == []


def test_a_damaged_file_is_renamed(gated: MakeEngine, root: Path, caplog: pytest.LogCaptureFixture) -> None:
    engine = gated(waiting(gated))
    answer = engine.ask(QUESTION)
    engine.close()
    path = root / "ledger" / "checkpoints.sqlite"
    path.write_bytes(b"rubbish" * 3000)
    with caplog.at_level(logging.WARNING, "veracity"):
        again = gated(waiting(gated))
        assert again.ask(QUESTION).status == "awaiting_approval"
    assert "is damaged" in caplog.text
    assert [found.read_bytes()[:7] for found in path.parent.glob("checkpoints.sqlite.damaged-*")] == [b"rubbish"]
    assert again.decide(answer.run_id, "approve", by="bob").text == GOOD  # by the decision alone
