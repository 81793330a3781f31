"""A ledger of an earlier version is brought to the tables of today, with all it holds."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.ledger.killed import run_alone
from tests.ledger.material import answered, waits
from veracity.errors import LedgerError
from veracity.ledger import Ledger, Observations, database

EARLIER = [1, 2]


def written_by(version: int, tmp_path: Path) -> Path:
    folder = tmp_path / "ledger"
    folder.mkdir()
    script = Path(__file__).with_name(f"version{version}.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection:
        connection.executescript(script)
    return folder


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return written_by(1, tmp_path)


@pytest.fixture
def version_2(tmp_path: Path) -> Path:
    return written_by(2, tmp_path)


@pytest.fixture(params=EARLIER, ids=lambda version: f"version{version}")
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return written_by(request.param, tmp_path)


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


def test_its_tables_are_those_of_a_new_one(earlier: Path, tmp_path: Path) -> None:
    migrated, new = Ledger(earlier), Ledger(tmp_path / "new")
    waits(new, "r1")
    waits(migrated, "r1")
    assert shape(migrated) == shape(new)
    with migrated._database.reading() as connection:
        assert connection.execute(text("SELECT max(version) FROM ledger_version")).scalar() == database.CURRENT == 3
        assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
        assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
    migrated.close()
    new.close()


def test_it_works_as_a_new_one_does(earlier: Path) -> None:
    ledger = Ledger(earlier)
    answered(ledger, "r1", "How long do refunds take?", "14 days.", "c")
    waits(ledger, "r2")
    assert ledger.past_turns("ann", None, "refunds", None, 5)[0].run_id == "r1"
    ledger.rate("r1", "down", by="bob")
    assert "r1" not in {turn.run_id for turn in ledger.past_turns("ann", None, "refunds", None, 5)}
    assert ledger.users.who(ledger.users.add("bob", "admin")) is not None
    ledger.forget_documents(["d1"])
    assert ledger.summary("r2").status == "failed"
    forgotten = ledger.answer("old-answered")
    assert forgotten is not None
    assert forgotten.text == ""
    ledger.close()


def test_many_processes_bring_it_up_to_date_at_once(earlier: Path) -> None:
    with closing(sqlite3.connect(earlier / "ledger.sqlite")) as connection:
        ((before,),) = connection.execute("SELECT count(*) FROM runs")
    assert run_alone("open_at_once", earlier, 6) == [f"opened r{number}" for number in range(6)]
    ledger = Ledger(earlier)
    assert len(ledger.runs()) == before + 6
    ledger.close()


def test_who_fails_in_the_midst_of_it_has_changed_nothing(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(connection: object) -> None:
        database._to_users(connection)  # type: ignore[arg-type]
        raise OSError("killed")

    with closing(sqlite3.connect(earlier / "ledger.sqlite")) as connection:
        before = list(connection.iterdump())
    monkeypatch.setattr(database, "CHANGES", (database._to_conversations, failing))
    with pytest.raises(LedgerError, match="killed"):
        Ledger(earlier).runs()
    with closing(sqlite3.connect(earlier / "ledger.sqlite")) as connection:
        assert list(connection.iterdump()) == before


def test_what_version_2_held_is_there(version_2: Path) -> None:
    ledger = Ledger(version_2)
    assert [run.run_id for run in ledger.runs()] == [
        "old-running",
        "old-rejected",
        "old-waiting",
        "old-recalled",
        "old-answered",
    ]
    assert [point.reason for point in ledger.weak_points("ann", "How long do refunds take?")] == ["low_score"]
    assert [turn.answer for turn in ledger.turns("ann", "money")] == ["Refunds take 14 days [1].", "", ""]
    vector = ledger.past_turns("ann", "money", "money back", b"\0\0\x80?\0\0\0\0", 5)
    assert [turn.run_id for turn in vector] == ["old-answered"]
    assert [turn.run_id for turn in ledger.past_turns("bob", None, "有給休暇", None, 5)] == ["old-recalled"]
    assert [one.approval_id for one in ledger.approvals()] == ["old-waiting.1"]
    assert ledger.feedback("old-answered") == []
    assert ledger.users.list() == []
    ledger.close()


def test_how_approvals_of_version_2_stand_is_known(version_2: Path) -> None:
    ledger = Ledger(version_2)
    known = {one.approval_id: (one.state, one.by, one.user) for one in ledger.approval_states()}
    assert known == {"old-waiting.1": ("pending", "", "ann"), "old-rejected.1": ("rejected", "bob", "ann")}
    ledger.decide("old-waiting", "approve", by="bob")
    assert (ledger.approval_states()[0].approval_id, ledger.approval_states()[0].state) == ("old-waiting.1", "approved")
    ledger.close()


def test_a_run_of_version_2_that_was_left_is_taken_up(version_2: Path) -> None:
    with closing(sqlite3.connect(version_2 / "ledger.sqlite")) as connection:  # its lease, on another machine, is over
        connection.execute("UPDATE leases SET expires = '2026-01-01 00:00:00' WHERE owner IS NOT NULL")
        connection.commit()
    ledger = Ledger(version_2)
    assert ledger.interrupted() == ["old-running"]
    assert ledger.take_over("old-running", 60.0) == 2
    ledger.close()
