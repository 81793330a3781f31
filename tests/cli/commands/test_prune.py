"""`prune`: shows what has expired, asks, and removes it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.cli.terminal import Talk
from tests.commands import Run
from tests.runs.scripts import QUESTION
from veracity.engine import Veracity
from veracity.ledger.tables import runs


@pytest.fixture
def aged(filled: Path) -> Path:
    """A workspace with a question from 2020 and one from today."""
    with Veracity(filled) as engine:
        old = engine.ask(QUESTION, conversation="假期")
        engine.ask(QUESTION)
        with engine._parts.ledger._database.writing() as connection:
            moment = datetime(2020, 5, 17, tzinfo=UTC)
            connection.execute(sa.update(runs).where(runs.c.run_id == old.run_id).values(started=moment))
    return filled


def test_prune_shows_asks_and_removes(run: Run, talk: Talk, aged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def count() -> int:
        return len(json.loads(run("runs", "--json", "-w", aged).out))

    unset = run("prune", "--yes", "-w", aged)
    assert unset.code == 2 and "runs_days" in unset.err and "Traceback" not in unset.err
    monkeypatch.setenv("VERACITY_RETENTION__RUNS_DAYS", "365")
    both = run("prune", "--yes", "--dry-run", "-w", aged)
    assert both.code == 2 and "exclude" in both.err

    would = "Would remove 1 question with answers (1 whole conversation), asked from 2020-05-17 to 2020-05-17."
    assert run("prune", "--dry-run", "-w", aged).out.strip() == would
    assert run("prune", "-w", aged).out.splitlines() == [would, "Nothing was removed: use --yes to remove it."]
    shown = json.loads(run("prune", "--json", "-w", aged).out)
    assert (shown["dry_run"], shown["runs"], shown["conversations"]) == (True, 1, 1)
    assert talk("prune", "-w", aged, typed=[("Remove it?", "n\r")]).code == 0
    assert count() == 2
    assert "Removed 1 question" in talk("prune", "-w", aged, typed=[("Remove it?", "y\r")]).out
    assert count() == 1
    again = json.loads(run("prune", "--yes", "--json", "-w", aged).out)
    assert (again["dry_run"], again["runs"], again["oldest"]) == (False, 0, None)
    assert run("prune", "-w", aged).out.strip() == "Nothing has expired."
    (kept,) = json.loads(run("runs", "--json", "-w", aged).out)
    assert run("show", "last", "-w", aged).code == 0
    assert datetime.fromisoformat(kept["started"]) > datetime.now(UTC) - timedelta(days=1)
