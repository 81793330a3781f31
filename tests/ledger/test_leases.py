"""Leases: one owner per run, dead owners are detected at once, and stale tokens are refused (DESIGN 2)."""

import os
import signal
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import event, text

from tests.ledger.leased import read_output, start
from tests.ledger.material import (
    USED,
    begin,
    fail,
    finish_run,
    make_answer,
    make_approval,
    make_draft,
    make_evidence,
    make_step,
    suspend_run,
)
from tests.waiting import until
from veracity.errors import LedgerError, LostLeaseError
from veracity.ledger import Ledger, RunRecords, leases
from veracity.ledger.owners import FileOwners
from veracity.ledger.sqlite import SqliteDatabase
from veracity.models import NOTHING_USED, RunParameters, Usage


def expires(ledger: Ledger) -> datetime:
    with ledger._database.reading() as connection:
        return datetime.fromisoformat(str(connection.execute(text("SELECT expires FROM leases")).scalar()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def test_a_live_owner_renews_its_lease(ledger: Ledger, folder: Path) -> None:
    owner = start("own", folder, "r1", 6.0)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "1\n"
    first = expires(ledger)
    until(lambda: expires(ledger) > first)
    assert ledger.interrupted() == []
    assert ledger.acquire_lease("r1") is None
    owner.kill()
    owner.communicate()


def test_a_process_that_hangs_loses_its_run_when_the_lease_expires(ledger: Ledger, folder: Path) -> None:
    owner = start("own", folder, "r1", 1.0)
    assert owner.stdout is not None
    owner.stdout.readline()
    os.kill(owner.pid, signal.SIGSTOP)
    until(lambda: ledger.interrupted() == ["r1"])
    assert ledger.acquire_lease("r1") == 2
    assert ledger.interrupted() == []
    os.kill(owner.pid, signal.SIGCONT)
    with pytest.raises(LostLeaseError):
        ledger.record("r1", make_step(), token=1)
    ledger.record("r1", make_step(), token=2)
    owner.kill()
    owner.communicate()


def test_a_killed_owner_loses_its_run_before_the_lease_expires(
    ledger: Ledger, folder: Path, ledger_engine: str
) -> None:
    owner = start("own", folder, "r1", 1e6)
    assert owner.stdout is not None
    owner.stdout.readline()
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate()
    assert ledger.interrupted() == ["r1"]
    assert ledger.acquire_lease("r1") == 2
    assert ledger.interrupted() == []
    assert ledger.acquire_lease("r1") is None
    if ledger_engine == "sqlite":
        assert len(list((folder / "owners").glob("*-*.lock"))) == 1  # ours; the dead owner's was removed


def test_closing_a_ledger_frees_its_runs(ledger: Ledger, folder: Path) -> None:
    owner = start("own", folder, "r1", 1e6)
    read_output(owner)
    assert ledger.interrupted() == ["r1"]
    assert not list((folder / "owners").glob("*-*.lock"))


def test_a_forked_child_is_another_owner(ledger: Ledger, folder: Path) -> None:
    parent = start("own_and_fork", folder, "r1")
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.wait(60)
    assert ledger.interrupted() == ["r1"]
    assert ledger.acquire_lease("r1") == 2
    os.kill(child, signal.SIGKILL)
    parent.stdout.read()  # end of file: the child has ended
    assert ledger.interrupted() == ["r1 of the child"]
    parent.communicate()


@pytest.mark.only_sqlite
def test_an_owner_on_another_machine_is_dead_when_its_lease_expired(
    ledger: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(socket, "gethostname", lambda: "elsewhere")
        other = Ledger(folder)
    begin(other, "long")
    monkeypatch.setattr(leases, "LEASE_SECONDS", -1.0)
    begin(other, "short")
    assert ledger.interrupted() == ["short"]
    assert (ledger.acquire_lease("long"), ledger.acquire_lease("short")) == (None, 2)
    assert list((folder / "owners").glob(f"{other._owners.register()}.lock"))  # another machine cleans up its own
    other.close()
    assert ledger.interrupted() == []  # its free lock means nothing on this machine


def test_a_stale_token_cannot_write(ledger: Ledger, folder: Path) -> None:
    old = Ledger(folder)
    token = begin(old, "r1")
    old._owners.close()
    new = ledger.acquire_lease("r1")
    assert (token, new) == (1, 2)
    answer = make_answer("r1", [])
    for call in (
        lambda: old.record("r1", make_step(), token=token, usage=USED),
        lambda: old.keep_evidence("r1", [make_evidence()], given=True, token=token),
        lambda: old.suspend("r1", token, make_approval(make_draft("r1")), USED, 1.0),
        lambda: old.finish(answer, RunRecords(weak_point="rejected"), token=token),
        lambda: old.record("r1", make_step(), token=3),
    ):
        with pytest.raises(LostLeaseError, match=r'The lease on run "r1" was lost: .* discarded'):
            call()
    assert (ledger.steps("r1"), ledger.evidence("r1"), ledger.approvals_of("r1"), ledger.answer("r1")) == (
        [],
        {},
        [],
        None,
    )
    assert (ledger.parameters("r1").usage, ledger.summary("r1").status) == (NOTHING_USED, "running")
    ledger.finish(answer, token=2)
    with pytest.raises(LostLeaseError):
        fail(old, "r1", token=token)
    assert ledger.summary("r1").status == "answered"
    assert ledger.weak_points("ann", "How many days?") == []
    old.close()


def test_a_released_run_can_be_acquired(ledger: Ledger, folder: Path) -> None:
    token = begin(ledger, "r1")
    with pytest.raises(LostLeaseError):
        ledger.release("r1", token + 1)
    assert ledger.interrupted() == []
    ledger.release("r1", token)
    assert ledger.interrupted() == ["r1"]
    other = Ledger(folder)
    assert other.acquire_lease("r1") == 2
    with pytest.raises(LostLeaseError):
        ledger.record("r1", make_step(), token=token)
    other.close()


def test_only_interrupted_and_decided_runs_can_be_acquired(ledger: Ledger, folder: Path) -> None:
    finish_run(ledger, "done")
    begin(ledger, "mine")
    suspend_run(ledger, "undecided")
    suspend_run(ledger, "approved")
    suspend_run(ledger, "rejected")
    ledger.decide("approved.1", "approve", by="bob")
    ledger.decide("rejected.1", "reject", by="bob")
    other = Ledger(folder)
    assert other.interrupted() == ["approved", "rejected"]
    assert [other.acquire_lease(run_id) for run_id in ("done", "mine", "undecided", "unknown")] == [None] * 4
    assert (other.acquire_lease("rejected"), other.summary("rejected").status) == (2, "running")
    assert other.interrupted() == ["approved"]
    second = make_approval(make_draft("rejected", "From the web.", attempt=2))
    other.suspend("rejected", 2, second, USED, 2.0)
    assert other.interrupted() == ["approved"]  # its newest approval is pending
    other.close()


def test_of_two_processes_one_acquires_the_lease(ledger: Ledger, folder: Path) -> None:
    old = Ledger(folder)
    for number in range(40):
        begin(old, f"r{number}")
    old.close()
    lines = [line.split() for line in read_output(start("race", folder, 40, "acquire_lease"))]
    assert Counter(token for _, _, token in lines) == {"2": 40, "None": 40}
    assert {number for number, _, token in lines if token == "2"} == {str(number) for number in range(40)}


def test_of_many_threads_one_acquires_the_lease(ledger: Ledger, folder: Path) -> None:
    old = Ledger(folder)
    begin(old, "r1")
    old.close()
    ledgers = [Ledger(folder) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda number: ledgers[number % 4].acquire_lease("r1"), range(16)))
    assert sorted(tokens, key=str) == [2, *[None] * 15]
    for other in ledgers:
        other.close()


def test_the_parameters_of_a_run_are_stored(ledger: Ledger, folder: Path) -> None:
    names = {"run_id": "r1", "question": "何日？", "user": "安", "conversation": "休暇"}
    run = RunParameters(**names, max_rewrites=2, deadline=33.0, only=("規程/", "*.pdf"))
    ledger.begin(run, "ja", {})
    spent = Usage(calls=1, input_tokens=10)
    ledger.record("r1", make_step(), token=1, usage=spent, seconds=4.5, usage_by_role={"writer": spent})
    ledger.record("r1", make_step(), token=1)
    assert Ledger(folder).parameters("r1").model_dump() == {
        "run_id": "r1",
        "question": "何日？",
        "user": "安",
        "conversation": "休暇",
        "max_rewrites": 2,
        "deadline": 33.0,
        "only": ("規程/", "*.pdf"),
        "status": "running",
        "seconds": 4.5,
        "usage": spent.model_dump(),
        "usage_by_role": {"writer": spent.model_dump()},
    }


@pytest.mark.only_sqlite
def test_lock_files_of_dead_owners_are_removed(ledger: Ledger, folder: Path) -> None:
    (folder / "owners").mkdir(parents=True)
    assert isinstance(ledger._owners, FileOwners)
    for number in range(20):
        (folder / "owners" / f"{ledger._owners._prefix}-{number}.lock").touch()
    begin(ledger, "r1")
    assert [path.stem for path in (folder / "owners").glob("*-*.lock")] == [ledger._owners.register()]
    ledger.close()
    assert not list((folder / "owners").glob("*-*.lock"))


@pytest.mark.only_sqlite
def test_looking_for_interrupted_runs_creates_no_files(ledger: Ledger, folder: Path) -> None:
    assert ledger.interrupted() == []
    assert ledger.acquire_lease("r1") is None
    assert not folder.exists()


@pytest.mark.only_sqlite
def test_an_unusable_lock_folder_is_reported(ledger: Ledger, folder: Path) -> None:
    folder.mkdir()
    (folder / "owners").write_text("a file")
    with pytest.raises(LedgerError, match="make it a folder that can be read and written"):
        begin(ledger, "r1")


@pytest.mark.only_sqlite
def test_interrupted_runs_are_found_by_one_query(ledger: Ledger) -> None:
    for number in range(20):
        suspend_run(ledger, f"r{number}")
    ledger.decide("r7.1", "approve", by="bob")
    statements: list[str] = []
    assert isinstance(ledger._database, SqliteDatabase)
    event.listen(ledger._database._open(), "before_cursor_execute", lambda *args: statements.append(args[2]))
    assert ledger.interrupted() == ["r7"]
    assert len([statement for statement in statements if statement.startswith("SELECT")]) == 1
