"""A ledger of version 1 is brought to the tables of today, with all it holds."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.ledger.killed import run_alone
from tests.ledger.material import answered, waits
from veracity.errors import LedgerError
from veracity.ledger import Ledger, Observations, migrating

VERSION_1 = Path(__file__).with_name("version1.sql")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    folder = tmp_path / "ledger"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection:
        connection.executescript(VERSION_1.read_text(encoding="utf-8"))
    return folder


def shape(ledger: Ledger) -> dict[str, list[str]]:
    """By table and index, what the database says of its columns."""
    pragmas = {"table": "table_info", "index": "index_info"}
    with ledger._database.reading() as connection:
        named = connection.execute(text("SELECT name, type FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")).all()
        return {
            name: sorted(str(tuple(row)[1:]) for row in connection.execute(text(f"PRAGMA {pragmas[kind]}({name})")))
            for name, kind in named
            if kind == "table"
        } | {
            name: [row.name for row in connection.execute(text(f"PRAGMA index_info({name})"))]
            for name, kind in named
            if kind == "index"
        }


def test_what_version_1_held_is_there(old: Path, tmp_path: Path) -> None:
    ledger = Ledger(old)
    assert [run.run_id for run in ledger.runs()] == ["old-running", "old-answered"]
    answer = ledger.answer("old-answered")
    assert answer is not None
    assert (answer.text, answer.conversation, answer.attempt) == ("24 days [1].", "", 1)
    assert ledger.evidence("old-answered")["p1"].text == "Staff receive 24 days."
    assert ledger.steps("old-answered")[0].texts == {"query": "days"}
    assert [point.run_id for point in ledger.weak_points("ann", "How many days?")] == ["old-answered"]
    assert ledger.deliver(Observations(tmp_path / "observational_data.json")) == 1
    known = ledger.parameters("old-answered")
    assert (known.conversation, known.max_rewrites, known.deadline) == ("", 0, 120.0)
    ledger.close()


def test_a_run_that_was_under_way_then_has_ended(old: Path) -> None:
    ledger = Ledger(old)
    summary = ledger.summary("old-running")
    assert (summary.status, summary.problem) == ("failed", "The process that worked on it ended.")
    assert ledger.interrupted() == []
    assert ledger.take_over("old-running", 60.0) is None
    ledger.close()


def test_its_tables_are_those_of_a_new_one(old: Path, tmp_path: Path) -> None:
    migrated, new = Ledger(old), Ledger(tmp_path / "new")
    waits(new, "r1")
    waits(migrated, "r1")
    assert shape(migrated) == shape(new)
    with migrated._database.reading() as connection:
        assert connection.execute(text("SELECT max(version) FROM ledger_version")).scalar() == migrating.CURRENT == 2
        assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
        assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
    migrated.close()
    new.close()


def test_it_works_as_a_new_one_does(old: Path) -> None:
    ledger = Ledger(old)
    answered(ledger, "r1", "How long do refunds take?", "14 days.", "c")
    waits(ledger, "r2")
    assert [turn.run_id for turn in ledger.past_turns("ann", None, "refunds", None, 5)] == ["r1"]
    ledger.forget_documents(["d1"])
    assert ledger.summary("r2").status == "failed"
    forgotten = ledger.answer("old-answered")
    assert forgotten is not None
    assert forgotten.text == ""
    ledger.close()


def test_many_processes_bring_it_up_to_date_at_once(old: Path) -> None:
    assert run_alone("open_at_once", old, 6) == [f"opened r{number}" for number in range(6)]
    ledger = Ledger(old)
    assert len(ledger.runs()) == 8
    ledger.close()


def test_who_fails_in_the_midst_of_it_has_changed_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(connection: object) -> None:
        migrating._to_conversations(connection)  # type: ignore[arg-type]
        raise OSError("killed")

    with closing(sqlite3.connect(old / "ledger.sqlite")) as connection:
        before = list(connection.iterdump())
    monkeypatch.setattr(migrating, "CHANGES", (failing,))
    with pytest.raises(LedgerError, match="killed"):
        Ledger(old).runs()
    with closing(sqlite3.connect(old / "ledger.sqlite")) as connection:
        assert list(connection.iterdump()) == before
