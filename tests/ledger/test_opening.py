"""A ledger is opened by many at once, refused when it is too new, and told of in one sentence when it is broken."""

import os
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import insert, text

from tests.ledger.killed import run_alone
from tests.ledger.material import begin, make_step
from veracity.errors import LedgerError
from veracity.ledger import Ledger, database
from veracity.ledger import database as database_module
from veracity.ledger.tables import ledger_version

OPENERS = 8


def test_many_processes_open_a_fresh_workspace_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "ledger"
    assert run_alone("open_at_once", folder, OPENERS) == [f"opened r{number}" for number in range(OPENERS)]
    ledger = Ledger(folder)
    assert {run.run_id for run in ledger.runs()} == {f"r{number}" for number in range(OPENERS)}
    with ledger._database.reading() as connection:
        assert connection.execute(text("SELECT version FROM ledger_version")).all() == [(database_module.CURRENT,)]
    ledger.close()


def test_a_ledger_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    begin(ledger, "r1")
    with ledger._database.writing() as connection:
        connection.execute(insert(ledger_version), {"version": database_module.CURRENT + 1})
    ledger.close()
    newer = Ledger(tmp_path / "ledger")
    for call in (newer.runs, lambda: begin(newer, "r2")):
        with pytest.raises(LedgerError, match="written by a newer Veracity .* update Veracity"):
            call()
    newer.close()


def test_the_file_is_as_safe_as_is_said(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    begin(ledger, "r1")
    wanted = {"journal_mode": "wal", "synchronous": 1, "secure_delete": 1, "foreign_keys": 1}
    with ledger._database.reading() as connection:
        told = {name: connection.execute(text(f"PRAGMA {name}")).scalar() for name in wanted}
        assert connection.execute(text("PRAGMA busy_timeout")).scalar_one() >= 10_000
    assert told == wanted
    ledger.close()


def test_a_locked_ledger_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_bytes_that_someone_still_reads_are_not_said_to_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_what_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "ledger.sqlite").write_text("no database at all" * 100)
    ledger = Ledger(tmp_path / "ledger")
    for call in (ledger.runs, lambda: begin(ledger, "r1")):
        with pytest.raises(
            LedgerError, match=r"cannot be used \(file is not a database\): if it stays so, bring it back"
        ):
            call()
    ledger.close()


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text("a file")
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(LedgerError, match="make it a folder that can be read and written"):
        begin(ledger, "r1")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(LedgerError, match="make it a folder that can be read and written"):
        begin(Ledger(tmp_path / "ledger"), "r1")
    tmp_path.chmod(0o700)
