"""A run is owned by one at a time, a dead owner is known at once, and who lost a run can write nothing (DESIGN 2)."""

import os
import signal
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import event

from tests.ledger.leased import start, told
from tests.ledger.material import (
    USED,
    begin,
    make_answer,
    make_approval,
    make_draft,
    make_evidence,
    make_step,
    ran,
    waits,
)
from veracity.errors import LedgerError, LostLeaseError
from veracity.ledger import Ledger
from veracity.models import NOTHING_USED, Usage


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


def test_a_living_owner_keeps_its_run_however_long_its_lease(ledger: Ledger, folder: Path) -> None:
    owner = start("own", folder, "r1", 0)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "1\n"
    assert ledger.interrupted() == []
    assert ledger.take_over("r1", 60.0) is None
    owner.kill()
    owner.communicate()


def test_a_killed_owner_is_known_at_once_however_long_its_lease(ledger: Ledger, folder: Path) -> None:
    owner = start("own", folder, "r1", 1e6)
    assert owner.stdout is not None
    owner.stdout.readline()
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate()
    assert ledger.interrupted() == ["r1"]
    assert ledger.take_over("r1", 60.0) == 2
    assert ledger.interrupted() == []
    assert ledger.take_over("r1", 60.0) is None
    assert len(list((folder / "owners").glob("*-*.lock"))) == 1  # ours; that of the dead one is gone


def test_who_closes_leaves_its_runs_to_others(ledger: Ledger, folder: Path) -> None:
    owner = start("own", folder, "r1", 1e6)
    told(owner)
    assert ledger.interrupted() == ["r1"]
    assert not list((folder / "owners").glob("*-*.lock"))


def test_a_forked_child_is_not_its_parent(ledger: Ledger, folder: Path) -> None:
    parent = start("own_and_fork", folder, "r1")
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.wait(60)
    assert ledger.interrupted() == ["r1"]
    assert ledger.take_over("r1", 60.0) == 2
    os.kill(child, signal.SIGKILL)
    parent.stdout.read()  # its end: the child is gone
    assert ledger.interrupted() == ["r1 of the child"]
    parent.communicate()


def test_an_owner_on_another_machine_is_dead_when_its_lease_has_expired(
    ledger: Ledger, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    other = Ledger(folder)
    begin(other, "short", lease=-1.0)
    begin(other, "long", lease=60.0)
    assert ledger.interrupted() == ["short"]
    assert (ledger.take_over("long", 60.0), ledger.take_over("short", 60.0)) == (None, 2)
    assert list((folder / "owners").glob(f"{other._owners.me()}.lock"))  # not ours to clean up
    other.close()
    assert ledger.interrupted() == []  # its lock is free, and says nothing to us


def test_the_old_owner_can_write_nothing(ledger: Ledger, folder: Path) -> None:
    old = Ledger(folder)
    token = begin(old, "r1")
    old._owners.close()
    new = ledger.take_over("r1", 60.0)
    assert (token, new) == (1, 2)
    answer = make_answer("r1", [])
    for call in (
        lambda: old.record("r1", make_step(), token=token, usage=USED),
        lambda: old.keep_evidence("r1", [make_evidence()], given=True, token=token),
        lambda: old.suspend("r1", token, make_approval(make_draft("r1")), USED, 1.0),
        lambda: old.finish(
            "r1", "answered", token=token, answer=answer, usage=USED, seconds=1.0, weak_point="rejected"
        ),
        lambda: old.record("r1", make_step(), token=3),
    ):
        with pytest.raises(LostLeaseError, match=r'The run "r1" was taken over .* not kept'):
            call()
    assert (ledger.steps("r1"), ledger.evidence("r1"), ledger.approvals_of("r1"), ledger.answer("r1")) == (
        [],
        {},
        [],
        None,
    )
    assert (ledger.usage("r1"), ledger.summary("r1").status) == (NOTHING_USED, "running")
    ledger.finish("r1", "answered", token=2, answer=answer, usage=USED, seconds=1.0)
    with pytest.raises(LostLeaseError):
        old.finish("r1", "failed", token=token, answer=None, usage=USED, seconds=1.0)
    assert ledger.summary("r1").status == "answered"
    assert ledger.weak_points("ann", "How many days?") == []
    old.close()


def test_who_gives_a_run_up_leaves_it_to_others(ledger: Ledger, folder: Path) -> None:
    token = begin(ledger, "r1")
    with pytest.raises(LostLeaseError):
        ledger.release("r1", token + 1)
    assert ledger.interrupted() == []
    ledger.release("r1", token)
    assert ledger.interrupted() == ["r1"]
    other = Ledger(folder)
    assert other.take_over("r1", 60.0) == 2
    with pytest.raises(LostLeaseError):
        ledger.record("r1", make_step(), token=token)
    other.close()


def test_only_what_is_interrupted_is_taken_over(ledger: Ledger, folder: Path) -> None:
    ran(ledger, "done")
    begin(ledger, "mine")
    waits(ledger, "undecided")
    waits(ledger, "approved")
    waits(ledger, "rejected")
    ledger.decide("approved.1", "approve", by="bob")
    ledger.decide("rejected.1", "reject", by="bob")
    other = Ledger(folder)
    assert other.interrupted() == ["approved", "rejected"]
    assert [other.take_over(run, 60.0) for run in ("done", "mine", "undecided", "nobody's")] == [None] * 4
    assert (other.take_over("rejected", 60.0), other.summary("rejected").status) == (2, "running")
    assert other.interrupted() == ["approved"]
    second = make_approval(make_draft("rejected", "From the web.", attempt=2))
    other.suspend("rejected", 2, second, USED, 2.0)
    assert other.interrupted() == ["approved"]  # its newest approval is pending
    other.close()


def test_of_two_processes_one_takes_over(ledger: Ledger, folder: Path) -> None:
    old = Ledger(folder)
    for number in range(40):
        begin(old, f"r{number}")
    old.close()
    lines = [line.split() for line in told(start("race", folder, 40, "take_over"))]
    assert Counter(token for _, _, token in lines) == {"2": 40, "None": 40}
    assert {number for number, _, token in lines if token == "2"} == {str(number) for number in range(40)}


def test_of_many_threads_one_takes_over(ledger: Ledger, folder: Path) -> None:
    old = Ledger(folder)
    begin(old, "r1")
    old.close()
    ledgers = [Ledger(folder) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda at: ledgers[at % 4].take_over("r1", 60.0), range(16)))
    assert sorted(tokens, key=str) == [2, *[None] * 15]
    for one in ledgers:
        one.close()


def test_a_run_can_be_taken_up_with_what_it_was_begun_with(ledger: Ledger, folder: Path) -> None:
    ledger.begin("r1", "何日？", "安", "ja", {}, conversation="休暇", max_rewrites=2, deadline=33.0)
    spent = Usage(calls=1, input_tokens=10)
    ledger.record("r1", make_step(), token=1, usage=spent, seconds=4.5)
    ledger.record("r1", make_step(), token=1)
    known = Ledger(folder).parameters("r1")
    assert known.model_dump() == {
        "run_id": "r1",
        "question": "何日？",
        "user": "安",
        "conversation": "休暇",
        "max_rewrites": 2,
        "deadline": 33.0,
        "status": "running",
        "seconds": 4.5,
        "usage": spent.model_dump(),
    }


def test_lock_files_of_the_dead_are_cleaned_up(ledger: Ledger, folder: Path) -> None:
    (folder / "owners").mkdir(parents=True)
    for number in range(20):
        (folder / "owners" / f"{ledger._owners._prefix}-{number}.lock").touch()
    begin(ledger, "r1")
    assert [path.stem for path in (folder / "owners").glob("*-*.lock")] == [ledger._owners.me()]
    ledger.close()
    assert not list((folder / "owners").glob("*-*.lock"))


def test_nothing_is_made_to_look_for_what_is_interrupted(ledger: Ledger, folder: Path) -> None:
    assert ledger.interrupted() == []
    assert ledger.take_over("r1", 60.0) is None
    assert not folder.exists()


def test_a_place_for_locks_that_cannot_be_used_is_one_sentence(ledger: Ledger, folder: Path) -> None:
    folder.mkdir()
    (folder / "owners").write_text("a file")
    with pytest.raises(LedgerError, match="make it a folder that can be read and written"):
        begin(ledger, "r1")


def test_what_to_take_up_is_one_look_however_many_wait(ledger: Ledger) -> None:
    for number in range(20):
        waits(ledger, f"r{number}")
    ledger.decide("r7.1", "approve", by="bob")
    looks: list[str] = []
    event.listen(ledger._database._opened(), "before_cursor_execute", lambda *told: looks.append(told[2]))
    assert ledger.interrupted() == ["r7"]
    assert len([one for one in looks if one.startswith("SELECT")]) == 1
