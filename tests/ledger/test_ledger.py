"""Runs: storing, finding, ending and stopping them, by name, thread and process."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.ledger.material import (
    USED,
    begin,
    fail,
    finish,
    finish_run,
    make_answer,
    make_evidence,
    make_step,
    suspend_run,
)
from veracity.errors import InputError, LedgerError, LostLeaseError, NotFoundError
from veracity.ledger import Ledger
from veracity.models import NOTHING_USED

HOSTILE = ["ann'; DROP TABLE runs; --", 'a"b', "%", "_", "a%", "\\", "安", "あ\u3000い", "x' OR '1'='1"]


def test_a_run_is_stored_completely(ledger: Ledger, ledger_engine: str) -> None:
    evidence = [make_evidence("p1"), make_evidence("p2", text="年休假12天。", team="人事")]
    nul = "\0" if ledger_engine == "sqlite" else "\ufffd"  # Postgres has no NUL: it is replaced
    steps = [
        make_step("decide_route"),
        make_step("retrieve", query=f"有給休暇 \u2028 {nul} days"),
        make_step("retrieve"),
    ]
    answer = make_answer("r1", evidence)
    begin(ledger, "r1", "有給休暇は何日？")
    for step in steps:
        ledger.record("r1", step, token=1)
    ledger.keep_evidence("r1", evidence, given=True)
    assert ledger.summary("r1").status == "running"
    assert ledger.parameters("r1").usage == NOTHING_USED
    ledger.finish(answer.model_copy(update={"seconds": 2.5}), token=1)
    assert ledger.steps("r1") == steps
    assert list(ledger.evidence("r1").values()) == evidence
    assert ledger.answer("r1") == answer.model_copy(update={"seconds": 2.5})
    assert ledger.parameters("r1").usage == USED
    assert ledger.models("r1") == {"writer": "openai:gpt-5"}
    summary = ledger.summary("r1")
    assert (summary.question, summary.user, summary.status, summary.seconds) == (
        "有給休暇は何日？",
        "ann",
        "answered",
        2.5,
    )
    assert abs((datetime.now(UTC) - summary.started).total_seconds()) < 60


@pytest.mark.only_sqlite
def test_reading_creates_no_files(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "ledger"
    ledger = Ledger(folder)
    assert ledger.runs() == []
    assert ledger.weak_points("ann", "How many days?") == []
    ledger.forget_documents(["d1"])
    with pytest.raises(InputError, match="There is no run yet"):
        ledger.find("last")
    with pytest.raises(InputError, match='There is no run "r1"'):
        ledger.answer("r1")
    assert not folder.parent.exists()
    other = Ledger(folder)
    begin(other, "r1")
    assert [run.run_id for run in ledger.runs()] == ["r1"]
    ledger.close()
    other.close()


def test_ending_a_run_twice_is_a_no_op(ledger: Ledger) -> None:
    begin(ledger, "r1")
    finish(ledger, "r1", 1, weak_point="low_score")
    fail(ledger, "r1", "late", 1)
    finish(ledger, "r1", 1, weak_point="rejected")
    assert (ledger.summary("r1").status, ledger.summary("r1").problem, ledger.parameters("r1").usage) == (
        "answered",
        "",
        USED,
    )
    assert [point.reason for point in ledger.weak_points("ann", "How many days?")] == ["low_score"]


def test_runs_are_listed_newest_first_and_by_user(ledger: Ledger) -> None:
    for number in range(25):
        begin(ledger, f"r{number}", user="ann" if number % 2 else "bob")
    assert [run.run_id for run in ledger.runs(3)] == ["r24", "r23", "r22"]
    assert [run.run_id for run in ledger.runs(2, user="ann")] == ["r23", "r21"]
    assert len(ledger.runs()) == 20
    assert ledger.runs(user="carl") == []


def test_a_run_is_found_by_id_prefix_or_last(ledger: Ledger) -> None:
    for run_id in ("abc1", "abc2", "abc", "Xyz", "a%c"):
        begin(ledger, run_id)
    assert ledger.find("abc") == "abc"  # the id of one run and a prefix of others
    assert (ledger.find("abc1"), ledger.find("X"), ledger.find("a%"), ledger.find("last")) == (
        "abc1",
        "Xyz",
        "a%c",
        "a%c",
    )
    with pytest.raises(InputError, match=r'3 run ids start with "ab" \(abc, abc2, abc1\): write more'):
        ledger.find("ab")
    for name in ("x", "%", "_", "abc11", "a' OR '1'='1"):
        with pytest.raises(InputError, match="There is no run"):
            ledger.find(name)
    with pytest.raises(InputError, match="Name a run by its id"):
        ledger.find("")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_stored_literally(ledger: Ledger, name: str) -> None:
    begin(ledger, "other", user="other")
    begin(ledger, name, user=name)
    ledger.record(name, make_step(query=name), token=1)
    ledger.keep_evidence(name, [make_evidence(name, document=name)], given=True)
    finish(ledger, name, 1, weak_point="rejected")
    assert [run.run_id for run in ledger.runs(user=name)] == [name]
    assert ledger.find(name) == name
    assert [point.passage_ids for point in ledger.weak_points(name, "How many days?")] == [(name,)]
    ledger.forget_documents([name])
    assert ledger.evidence(name)[name].text == ""
    assert ledger.summary("other").status == "running"


@pytest.mark.parametrize("name", ["a\0b", "half \ud83d", "x" * 501])
def test_an_invalid_name_is_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(InputError, match="The name of a user must have"):
        begin(ledger, "r1", user=name)
    with pytest.raises(InputError, match="The name of a user must have"):
        ledger.weak_points(name, "How many days?")
    with pytest.raises(InputError, match="The name of a run must have"):
        begin(ledger, name)


def test_unstorable_characters_are_replaced(ledger: Ledger) -> None:
    begin(ledger, "r1", question="half \ud83d and \0")
    ledger.record("r1", make_step("generate_answer", draft="half \ud83d", score=float("nan")), token=1)
    assert ledger.summary("r1").question == "half \ufffd and \ufffd"
    texts = ledger.steps("r1")[0].texts
    assert texts is not None and texts.model_dump() == {"draft": "half \ufffd", "score": None}


def test_evidence_is_stored_once_and_stays_given(ledger: Ledger) -> None:
    first, second = make_evidence("p1", text="old"), make_evidence("p2")
    begin(ledger, "r1")
    ledger.keep_evidence("r1", [first, second, second], given=False)
    ledger.keep_evidence("r1", [make_evidence("p1", text="new")], given=True)
    ledger.keep_evidence("r1", [make_evidence("p1", text="newest"), make_evidence("p3")], given=False)
    finish(ledger, "r1", 1, weak_point="failed_review")
    assert {name: item.text for name, item in ledger.evidence("r1").items()} == {
        "p1": "newest",
        "p2": second.text,
        "p3": second.text,
    }
    assert [point.passage_ids for point in ledger.weak_points("ann", "How many days?")] == [("p1", "p2", "p3")]


def test_an_unknown_or_duplicate_run_is_refused(ledger: Ledger) -> None:
    begin(ledger, "r1")
    with pytest.raises(LedgerError, match='The run "r1" exists already'):
        begin(ledger, "r1")
    for call in (
        lambda: ledger.record("r2", make_step(), token=1),
        lambda: ledger.keep_evidence("r2", [make_evidence()], given=True),
        lambda: fail(ledger, "r2", token=1),
        lambda: ledger.summary("r2"),
    ):
        with pytest.raises(InputError, match='There is no run "r2"'):
            call()


def test_threads_can_share_a_ledger(ledger: Ledger) -> None:
    """Eight threads write to their own runs and to a shared one: no step is lost or overwritten."""
    begin(ledger, "shared")

    def write_runs(thread: int) -> None:
        for number in range(15):
            name = f"{thread}-{number}"
            begin(ledger, name, user=f"u{thread}")
            ledger.record(name, make_step(), token=1)
            ledger.record("shared", make_step(query=name), token=1)
            finish(ledger, name, 1, weak_point="low_score")
            assert ledger.summary(name).status == "answered"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write_runs, range(8)))
    assert len(ledger.runs(1000)) == 1 + 8 * 15
    names = [step.texts.model_dump()["query"] for step in ledger.steps("shared") if step.texts]
    assert set(names) == {f"{a}-{b}" for a in range(8) for b in range(15)}
    for thread in range(8):
        own = [name for name in names if name.startswith(f"{thread}-")]
        assert own == [f"{thread}-{number}" for number in range(15)]


def test_a_finished_run_survives_a_kill(tmp_path: Path) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from tests.ledger.material import finish_run
from tests.postgres import use_postgres_of_parent
from veracity.ledger import Ledger
use_postgres_of_parent()
finish_run(Ledger(Path(sys.argv[1])), "r1")
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", program, tmp_path / "ledger"], cwd=root, check=False).returncode == -9
    ledger = Ledger(tmp_path / "ledger")
    assert ledger.summary("r1").status == "answered"
    ledger.close()


def test_a_closed_ledger_reopens_on_use(ledger: Ledger) -> None:
    finish_run(ledger, "r1")
    ledger.close()
    assert ledger.find("last") == "r1"


def test_importing_veracity_does_not_import_the_database() -> None:
    code = "import sys, veracity; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_reading_does_not_wait_for_writing(ledger: Ledger) -> None:
    finish_run(ledger, "r1")
    read: list[str] = []
    with ledger._database.writing():
        reader = threading.Thread(target=lambda: read.append(ledger.find("last")))
        reader.start()
        reader.join(60)
    assert read == ["r1"]


def test_a_stopped_run_fails_and_cannot_be_resumed(ledger: Ledger) -> None:
    token = begin(ledger, "r1")
    stopped = ledger.stop("r1", by="ann")
    assert (stopped.status, stopped.problem) == ("failed", "Stopped by ann.")
    with pytest.raises(LostLeaseError):
        ledger.record("r1", make_step(), token=token)
    assert (ledger.interrupted(), ledger.unfinished(), ledger.acquire_lease("r1")) == ([], [], None)
    assert ledger.stop("r1", by="bob").problem == "Stopped by ann."


def test_a_released_run_can_be_stopped(ledger: Ledger) -> None:
    ledger.release("r1", begin(ledger, "r1"))
    assert ledger.interrupted() == ["r1"]
    ledger.stop("r1", by="ann")
    assert ledger.interrupted() == []


def test_stopping_an_ended_pending_or_decided_run_is_a_no_op(ledger: Ledger) -> None:
    finish_run(ledger, "ended")
    suspend_run(ledger, "pending")
    suspend_run(ledger, "decided")
    ledger.decide("decided", "approve", by="bob")
    ledger.acquire_lease("decided")
    run_ids = ("ended", "pending", "decided")
    states = [(ledger.stop(run_id, by="ann").status, ledger.summary(run_id).problem) for run_id in run_ids]
    assert states == [("answered", ""), ("awaiting_approval", ""), ("running", "")]
    assert [approval.approval_id for approval in ledger.approvals()] == ["pending.1"]


def test_an_unknown_run_cannot_be_stopped(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError):
        ledger.stop("r1", by="ann")
