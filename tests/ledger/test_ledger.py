"""Runs are kept whole, found by what a person types, and safe from names that mean something in SQL."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.ledger.material import USED, begin, make_answer, make_evidence, make_step, ran
from veracity.errors import InputError, LedgerError
from veracity.ledger import Ledger
from veracity.models import NOTHING_USED

HOSTILE = ["ann'; DROP TABLE runs; --", 'a"b', "%", "_", "a%", "\\", "安", "あ\u3000い", "x' OR '1'='1"]


def test_what_is_recorded_comes_back(ledger: Ledger) -> None:
    evidence = [make_evidence("p1"), make_evidence("p2", text="年休假12天。", team="人事")]
    steps = [make_step("decide_route"), make_step("retrieve", query="有給休暇 \u2028 \0 days"), make_step("retrieve")]
    answer = make_answer("r1", evidence)
    begin(ledger, "r1", "有給休暇は何日？")
    for step in steps:
        ledger.record("r1", step, token=1)
    ledger.keep_evidence("r1", evidence, given=True)
    assert ledger.summary("r1").status == "running"
    assert ledger.usage("r1") == NOTHING_USED
    ledger.finish("r1", "answered", token=1, answer=answer, usage=USED, seconds=2.5)
    assert ledger.steps("r1") == steps
    assert list(ledger.evidence("r1").values()) == evidence
    assert ledger.answer("r1") == answer
    assert ledger.usage("r1") == USED
    assert ledger.models("r1") == {"writer": "openai:gpt-5"}
    summary = ledger.summary("r1")
    assert (summary.question, summary.user, summary.status, summary.seconds) == (
        "有給休暇は何日？",
        "ann",
        "answered",
        2.5,
    )
    assert abs((datetime.now(UTC) - summary.started).total_seconds()) < 60


def test_nothing_is_made_before_the_first_write(tmp_path: Path) -> None:
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


def test_finishing_twice_changes_nothing(ledger: Ledger) -> None:
    begin(ledger, "r1")
    ledger.finish("r1", "abstained", token=1, answer=None, usage=USED, seconds=1.0, weak_point="low_score")
    ledger.finish(
        "r1", "failed", token=1, answer=None, usage=NOTHING_USED, seconds=9.0, problem="late", weak_point="rejected"
    )
    assert (ledger.summary("r1").status, ledger.summary("r1").problem, ledger.usage("r1")) == ("abstained", "", USED)
    assert [point.reason for point in ledger.weak_points("ann", "How many days?")] == ["low_score"]


def test_runs_come_newest_first_and_by_user(ledger: Ledger) -> None:
    for number in range(25):
        begin(ledger, f"r{number}", user="ann" if number % 2 else "bob")
    assert [run.run_id for run in ledger.runs(3)] == ["r24", "r23", "r22"]
    assert [run.run_id for run in ledger.runs(2, user="ann")] == ["r23", "r21"]
    assert len(ledger.runs()) == 20
    assert ledger.runs(user="carl") == []


def test_a_run_is_found_by_its_id_its_beginning_or_as_the_last(ledger: Ledger) -> None:
    for run_id in ("abc1", "abc2", "abc", "Xyz", "a%c"):
        begin(ledger, run_id)
    assert ledger.find("abc") == "abc"  # the whole id of one, the beginning of others
    assert (ledger.find("abc1"), ledger.find("X"), ledger.find("a%"), ledger.find("last")) == (
        "abc1",
        "Xyz",
        "a%c",
        "a%c",
    )
    with pytest.raises(InputError, match=r'3 runs begin with "ab" \(abc, abc2, abc1\): write more'):
        ledger.find("ab")
    for name in ("x", "%", "_", "abc11", "a' OR '1'='1"):
        with pytest.raises(InputError, match="There is no run"):
            ledger.find(name)
    with pytest.raises(InputError, match="by its id"):
        ledger.find("")


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_values_and_nothing_else(ledger: Ledger, name: str) -> None:
    begin(ledger, "other", user="other")
    begin(ledger, name, user=name)
    ledger.record(name, make_step(name), token=1)
    ledger.keep_evidence(name, [make_evidence(name, document=name)], given=True)
    ledger.finish(name, "answered", token=1, answer=None, usage=USED, seconds=1.0, weak_point="rejected", problem=name)
    assert [run.run_id for run in ledger.runs(user=name)] == [name]
    assert ledger.find(name) == name
    assert [point.passage_ids for point in ledger.weak_points(name, "How many days?")] == [(name,)]
    ledger.forget_documents([name])
    assert ledger.evidence(name)[name].text == ""
    assert ledger.summary("other").status == "running"


@pytest.mark.parametrize("name", ["a\0b", "half \ud83d", "x" * 501])
def test_a_name_that_cannot_be_stored_as_it_is_is_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(InputError, match="A user has a name"):
        begin(ledger, "r1", user=name)
    with pytest.raises(InputError, match="A user has a name"):
        ledger.weak_points(name, "How many days?")
    with pytest.raises(InputError, match="A run has a name"):
        begin(ledger, name)


def test_texts_that_no_database_takes_are_stored_with_a_mark(ledger: Ledger) -> None:
    begin(ledger, "r1", question="half \ud83d and \0")
    ledger.record("r1", make_step("generate_answer", draft="half \ud83d", score=float("nan")), token=1)
    assert ledger.summary("r1").question == "half \ufffd and \ufffd"
    assert ledger.steps("r1")[0].texts == {"draft": "half \ufffd", "score": None}


def test_evidence_is_kept_once_and_stays_given(ledger: Ledger) -> None:
    first, second = make_evidence("p1", text="old"), make_evidence("p2")
    begin(ledger, "r1")
    ledger.keep_evidence("r1", [first, second, second], given=False)
    ledger.keep_evidence("r1", [make_evidence("p1", text="new")], given=True)
    ledger.keep_evidence("r1", [make_evidence("p1", text="newest"), make_evidence("p3")], given=False)
    ledger.finish("r1", "answered", token=1, answer=None, usage=USED, seconds=1.0, weak_point="failed_review")
    assert {name: item.text for name, item in ledger.evidence("r1").items()} == {
        "p1": "newest",
        "p2": second.text,
        "p3": second.text,
    }
    assert [point.passage_ids for point in ledger.weak_points("ann", "How many days?")] == [("p1", "p2", "p3")]


def test_a_run_that_nobody_began_or_that_is_begun_twice_is_told(ledger: Ledger) -> None:
    begin(ledger, "r1")
    with pytest.raises(LedgerError, match='The run "r1" was begun already'):
        begin(ledger, "r1")
    for call in (
        lambda: ledger.record("r2", make_step(), token=1),
        lambda: ledger.keep_evidence("r2", [make_evidence()], given=True),
        lambda: ledger.finish("r2", "failed", token=1, answer=None, usage=USED, seconds=1.0),
        lambda: ledger.summary("r2"),
    ):
        with pytest.raises(InputError, match='There is no run "r2"'):
            call()


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    """Eight at once, and one run that all of them write to: no step is lost, none takes the place of another."""
    begin(ledger, "shared")

    def many(thread: int) -> None:
        for number in range(15):
            name = f"{thread}-{number}"
            begin(ledger, name, user=f"u{thread}")
            ledger.record(name, make_step(), token=1)
            ledger.record("shared", make_step(name), token=1)
            ledger.finish(name, "answered", token=1, answer=None, usage=USED, seconds=1.0, weak_point="low_score")
            assert ledger.summary(name).status == "answered"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(many, range(8)))
    assert len(ledger.runs(1000)) == 1 + 8 * 15
    assert {step.name for step in ledger.steps("shared")} == {f"{a}-{b}" for a in range(8) for b in range(15)}
    for thread in range(8):
        mine = [step.name for step in ledger.steps("shared") if step.name.startswith(f"{thread}-")]
        assert mine == [f"{thread}-{number}" for number in range(15)]


def test_a_kill_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    dying = """
import os, signal, sys
from pathlib import Path
from tests.ledger.material import ran
from veracity.ledger import Ledger
ran(Ledger(Path(sys.argv[1])), "r1")
os.kill(os.getpid(), signal.SIGKILL)
"""
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", dying, tmp_path / "ledger"], cwd=root, check=False).returncode == -9
    ledger = Ledger(tmp_path / "ledger")
    assert ledger.summary("r1").status == "answered"
    ledger.close()


def test_the_ledger_can_be_used_again_after_it_was_closed(ledger: Ledger) -> None:
    ran(ledger, "r1")
    ledger.close()
    assert ledger.find("last") == "r1"


def test_importing_veracity_does_not_import_the_database() -> None:
    code = "import sys, veracity; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_reading_goes_on_while_another_writes(ledger: Ledger) -> None:
    ran(ledger, "r1")
    read: list[str] = []
    with ledger._database.writing():
        reader = threading.Thread(target=lambda: read.append(ledger.find("last")))
        reader.start()
        reader.join(60)
    assert read == ["r1"]
