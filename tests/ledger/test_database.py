"""The database: opening, migrating, locking, and the messages of storage errors."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert, text

from tests.ledger.killed import run_alone
from tests.ledger.material import answer_run, begin, make_step, suspend_run
from veracity.errors import BusyLedgerError, LedgerError
from veracity.ledger import Ledger, Observations, database, migrations
from veracity.ledger.sqlite import SqliteDatabase, WriteQueue
from veracity.ledger.tables import ledger_version

pytestmark = pytest.mark.only_sqlite

OLD_VERSIONS = [1, 2]
OPENERS = 8


def write_old_ledger(version: int, tmp_path: Path) -> Path:
    folder = tmp_path / "ledger"
    folder.mkdir()
    script = Path(__file__).with_name(f"version{version}.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(folder / "ledger.sqlite")) as connection:
        connection.executescript(script)
    return folder


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    return write_old_ledger(1, tmp_path)


@pytest.fixture
def version_2(tmp_path: Path) -> Path:
    return write_old_ledger(2, tmp_path)


@pytest.fixture(params=OLD_VERSIONS, ids=lambda version: f"version{version}")
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_old_ledger(request.param, tmp_path)


def describe_schema(ledger: Ledger) -> dict[str, list[str]]:
    """The columns of every table and index."""
    pragmas = {"table": "table_info", "index": "index_info"}
    with ledger._database.reading() as connection:
        names = connection.execute(text("SELECT name, type FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")).all()
        return {
            name: sorted(str(tuple(row)[1:]) for row in connection.execute(text(f"PRAGMA {pragmas[kind]}({name})")))
            for name, kind in names
            if kind == "table"
        } | {
            name: [row.name for row in connection.execute(text(f"PRAGMA index_info({name})"))]
            for name, kind in names
            if kind == "index"
        }


def test_the_content_of_version_1_is_kept(version_1: Path, tmp_path: Path) -> None:
    ledger = Ledger(version_1)
    assert [run.run_id for run in ledger.runs()] == ["old-running", "old-answered"]
    answer = ledger.answer("old-answered")
    assert answer is not None
    assert (answer.text, answer.conversation, answer.attempt) == ("24 days [1].", "", 1)
    assert ledger.evidence("old-answered")["p1"].text == "Staff receive 24 days."
    texts = ledger.steps("old-answered")[0].texts
    assert texts is not None and texts.model_dump() == {"query": "days"}
    assert [point.run_id for point in ledger.weak_points("ann", "How many days?")] == ["old-answered"]
    assert ledger.deliver(Observations(tmp_path / "observational_data.json")) == 1
    run = ledger.parameters("old-answered")
    assert (run.conversation, run.max_rewrites, run.deadline, run.only) == ("", 0, 120.0, ())
    assert (run.usage_by_role, ledger.calls("old-answered")) == ({}, [])
    ledger.close()


def test_a_running_run_of_version_1_has_failed(version_1: Path) -> None:
    ledger = Ledger(version_1)
    summary = ledger.summary("old-running")
    assert (summary.status, summary.problem) == ("failed", "The process that worked on this run ended.")
    assert ledger.interrupted() == []
    assert ledger.acquire_lease("old-running") is None
    ledger.close()


def test_a_migrated_schema_equals_a_new_one(old: Path, tmp_path: Path) -> None:
    migrated, new = Ledger(old), Ledger(tmp_path / "new")
    suspend_run(new, "r1")
    suspend_run(migrated, "r1")
    assert describe_schema(migrated) == describe_schema(new)
    with migrated._database.reading() as connection:
        assert (
            connection.execute(text("SELECT max(version) FROM ledger_version")).scalar()
            == migrations.SCHEMA_VERSION
            == 10
        )
        assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
        assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"
    migrated.close()
    new.close()


def test_a_migrated_ledger_works(old: Path) -> None:
    ledger = Ledger(old)
    answer_run(ledger, "r1", "How long do refunds take?", "14 days.", "c")
    suspend_run(ledger, "r2")
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


def test_processes_can_migrate_at_the_same_time(old: Path) -> None:
    with closing(sqlite3.connect(old / "ledger.sqlite")) as connection:
        ((before,),) = connection.execute("SELECT count(*) FROM runs")
    assert run_alone("open_at_once", old, 6) == [f"opened r{number}" for number in range(6)]
    ledger = Ledger(old)
    assert len(ledger.runs()) == before + 6
    ledger.close()


def test_a_failed_migration_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_migration(connection: object) -> None:
        migrations._add_users(connection)  # type: ignore[arg-type]
        raise OSError("killed")

    with closing(sqlite3.connect(old / "ledger.sqlite")) as connection:
        before = list(connection.iterdump())
    monkeypatch.setattr(migrations, "MIGRATIONS", (migrations._add_conversations, fail_migration))
    with pytest.raises(LedgerError, match="killed"):
        Ledger(old).runs()
    with closing(sqlite3.connect(old / "ledger.sqlite")) as connection:
        assert list(connection.iterdump()) == before


def test_the_content_of_version_2_is_kept(version_2: Path) -> None:
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
    assert [approval.approval_id for approval in ledger.approvals()] == ["old-waiting.1"]
    assert ledger.feedback("old-answered") == []
    assert ledger.users.list() == []
    ledger.close()


def test_approval_states_of_version_2_are_kept(version_2: Path) -> None:
    ledger = Ledger(version_2)
    states = {state.approval_id: (state.state, state.by, state.user) for state in ledger.approval_states()}
    assert states == {"old-waiting.1": ("pending", "", "ann"), "old-rejected.1": ("rejected", "bob", "ann")}
    ledger.decide("old-waiting", "approve", by="bob")
    assert (ledger.approval_states()[0].approval_id, ledger.approval_states()[0].state) == ("old-waiting.1", "approved")
    ledger.close()


def test_an_interrupted_run_of_version_2_can_be_resumed(version_2: Path) -> None:
    with closing(
        sqlite3.connect(version_2 / "ledger.sqlite")
    ) as connection:  # expire the lease, which is of another machine
        connection.execute("UPDATE leases SET expires = '2026-01-01 00:00:00' WHERE owner IS NOT NULL")
        connection.commit()
    ledger = Ledger(version_2)
    assert ledger.interrupted() == ["old-running"]
    assert ledger.acquire_lease("old-running") == 2
    ledger.close()


def test_processes_can_create_a_ledger_at_the_same_time(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "ledger"
    assert run_alone("open_at_once", folder, OPENERS) == [f"opened r{number}" for number in range(OPENERS)]
    ledger = Ledger(folder)
    assert {run.run_id for run in ledger.runs()} == {f"r{number}" for number in range(OPENERS)}
    with ledger._database.reading() as connection:
        assert connection.execute(text("SELECT version FROM ledger_version")).all() == [(migrations.SCHEMA_VERSION,)]
    ledger.close()


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    begin(ledger, "r1")
    with ledger._database.writing() as connection:
        connection.execute(insert(ledger_version), {"version": migrations.SCHEMA_VERSION + 1})
    ledger.close()
    newer = Ledger(tmp_path / "ledger")
    for call in (newer.runs, lambda: begin(newer, "r2")):
        with pytest.raises(LedgerError, match="written by a newer Veracity .* update Veracity"):
            call()
    newer.close()


def test_pragmas_of_the_database(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    begin(ledger, "r1")
    expected = {"journal_mode": "wal", "synchronous": 1, "secure_delete": 1, "foreign_keys": 1}
    with ledger._database.reading() as connection:
        pragmas = {name: connection.execute(text(f"PRAGMA {name}")).scalar() for name in expected}
        assert connection.execute(text("PRAGMA busy_timeout")).scalar_one() >= 10_000
    assert pragmas == expected
    ledger.close()


def test_a_locked_database_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    ledger = Ledger(tmp_path / "ledger")
    begin(ledger, "r1")
    holder = sqlite3.connect(tmp_path / "ledger" / "ledger.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match='ledger" is being written by another process: try again'):
        ledger.record("r1", make_step(), token=1)
    assert ledger.find("last") == "r1"
    holder.execute("ROLLBACK")
    holder.close()
    ledger.record("r1", make_step(), token=1)
    ledger.close()


def test_forgetting_fails_while_another_process_reads_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    ledger = Ledger(tmp_path / "ledger")
    begin(ledger, "r1")
    reader = sqlite3.connect(tmp_path / "ledger" / "ledger.sqlite", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM runs").fetchall()
    with pytest.raises(LedgerError, match="being written by another process"):
        ledger.forget_documents(["d1"])
    reader.close()
    with ledger._database.reading() as connection:
        assert connection.execute(text("SELECT is_scrubbed FROM forgotten_documents")).scalar() == 0
    ledger.forget_documents(["d1"])
    with ledger._database.reading() as connection:
        assert connection.execute(text("SELECT is_scrubbed FROM forgotten_documents")).scalar() == 1
    ledger.close()


HOLD_CHECKPOINT_LOCK = """
import fcntl, sys, time
file = open(sys.argv[1], "rb+")
fcntl.lockf(file, fcntl.LOCK_EX, 1, 121)  # SQLite's WAL_CKPT_LOCK
print("held", flush=True)
time.sleep(1)
"""


def test_forgetting_waits_for_the_checkpoint_of_another_process(tmp_path: Path) -> None:
    """SQLite's own busy timeout does not apply to it."""
    ledger = Ledger(tmp_path / "ledger")
    begin(ledger, "r1")
    log = tmp_path / "ledger" / "ledger.sqlite-shm"
    with subprocess.Popen([sys.executable, "-c", HOLD_CHECKPOINT_LOCK, str(log)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline() == b"held\n"
        ledger.forget_documents(["d1"])
    ledger.close()


def test_a_file_that_is_not_a_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "ledger.sqlite").write_text("no database at all" * 100)
    ledger = Ledger(tmp_path / "ledger")
    for call in (ledger.runs, lambda: begin(ledger, "r1")):
        with pytest.raises(
            LedgerError, match=r"cannot be used \(file is not a database\): if the problem persists, restore it"
        ):
            call()
    ledger.close()


def test_a_file_instead_of_the_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text("a file")
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(LedgerError, match="make it a folder that can be read and written"):
        begin(ledger, "r1")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(LedgerError, match="make it a folder that can be read and written"):
        begin(Ledger(tmp_path / "ledger"), "r1")
    tmp_path.chmod(0o700)


def test_a_priority_write_goes_before_waiting_writes() -> None:
    queue, done = WriteQueue(), list[str]()

    def write(name: str, priority: bool) -> None:
        with queue.turn(20, priority=priority):
            done.append(name)

    others = [threading.Thread(target=write, args=(f"ask{number}", False)) for number in range(3)]
    decides = threading.Thread(target=write, args=("decide", True))
    with queue.turn(1):
        for thread in (*others, decides):
            thread.start()
        end = time.monotonic() + 20
        while not queue._waiting_with_priority and time.monotonic() < end:
            time.sleep(0.01)
    for thread in (*others, decides):
        thread.join(20)
    assert done[0] == "decide" and sorted(done[1:]) == ["ask0", "ask1", "ask2"]


def test_a_write_that_times_out_leaves_the_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    shared = SqliteDatabase(tmp_path)
    for priority in (False, True):
        with shared.writing(), pytest.raises(BusyLedgerError), shared.writing(priority=priority):
            raise AssertionError("two writers")
    with shared.writing(), shared.reading():
        pass
    shared.close()
