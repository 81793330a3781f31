"""Drafts wait for a person across processes, and of the decisions on one of them exactly one counts (SPEC D6)."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.leased import start, told
from tests.ledger.material import USED, begin, make_approval, make_draft, make_evidence, ran, waits
from veracity.errors import DecidedError, InputError, SupersededError
from veracity.ledger import Ledger, draft_hash

RACES = 100


def test_a_draft_waits_and_comes_back_whole(ledger: Ledger, tmp_path: Path) -> None:
    token = begin(ledger, "r1", user="安", conversation="休假")
    draft = make_draft("r1", "有24天 [1]。")
    sent = make_approval(draft, user="someone else")
    kept = ledger.suspend("r1", token, sent, USED, 2.5)
    assert kept == sent.model_copy(update={"user": "安", "conversation": "休假"})  # whose run it is
    other = Ledger(tmp_path / "ledger")
    assert other.approvals() == other.approvals_of("r1") == [kept]
    assert (other.summary("r1").status, other.summary("r1").seconds, other.usage("r1")) == (
        "awaiting_approval",
        2.5,
        USED,
    )
    assert other.waiting() == ["r1"]
    assert other.decision("r1", 1) is None
    other.close()


def test_suspending_again_changes_nothing(ledger: Ledger) -> None:
    first = waits(ledger, "r1")
    again = make_approval(make_draft("r1", "Another text."))
    assert ledger.suspend("r1", 1, again, USED, 9.0) == first
    decided = ledger.decide("r1.1", "reject", by="bob")
    token = ledger.take_over("r1", 60.0)
    assert token == 2
    assert ledger.suspend("r1", token, again, USED, 9.0) == decided  # as after a kill: it is decided, and so free again
    assert ledger.interrupted() == ["r1"]


def test_a_decision_is_kept_with_who_when_and_why(ledger: Ledger) -> None:
    waits(ledger, "r1")
    ledger.decide(
        "r1.1", "approve", by="ボブ", reason="良い", edit="25日です。", draft_hash=draft_hash(make_draft("r1"))
    )
    decision = ledger.decision("r1", 1)
    assert decision is not None
    assert (decision.verdict, decision.by, decision.reason, decision.edit, decision.attempt) == (
        "approve",
        "ボブ",
        "良い",
        "25日です。",
        1,
    )
    assert (ledger.approval("r1.1").state, ledger.approval("r1.1").decision) == ("approved", decision)
    assert ledger.decision("r1", 2) is None
    assert ledger.summary("r1").status == "awaiting_approval"


def test_a_second_decision_is_told_who_decided(ledger: Ledger) -> None:
    waits(ledger, "r1")
    ledger.decide("r1.1", "reject", by="bob", key="k1")
    for key in (None, "", "k2"):
        with pytest.raises(DecidedError) as problem:
            ledger.decide("r1.1", "approve", by="carl", key=key)
        when = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
        told_so = rf'The draft of "r1\.1" was rejected by "bob" at {when}: this decision does not count\.'
        assert re.fullmatch(told_so, str(problem.value))
    assert ledger.approval("r1").state == "rejected"


def test_the_same_key_names_the_same_decision(ledger: Ledger) -> None:
    waits(ledger, "r1")
    first = ledger.decide("r1.1", "reject", by="bob", reason="no", key="k1")
    assert ledger.decide("r1.1", "reject", by="bob", reason="no", key="k1") == first
    assert ledger.decide("r1", "reject", by="bob", reason="no", key="k1") == first
    waits(ledger, "r2")
    ledger.decide("r2.1", "approve", by="bob", key="")
    with pytest.raises(DecidedError):
        ledger.decide("r2.1", "approve", by="bob", key="")


OTHERS = [
    {"verdict": "reject", "edit": None},
    {"edit": "26 日。"},
    {"edit": None},
    {"by": "carl"},
    {"reason": "別の理由"},
    {"key": "k2"},
    {"key": None},
]


@pytest.mark.parametrize("other", OTHERS)
def test_a_key_excuses_no_other_decision(ledger: Ledger, other: dict[str, Any]) -> None:
    said: dict[str, Any] = {"verdict": "approve", "by": "bob", "edit": "25 日。\0", "key": "k1"}
    waits(ledger, "r1")
    first = ledger.decide("r1.1", **said)
    assert ledger.decide("r1.1", **said) == first
    with pytest.raises(DecidedError, match='approved by "bob"'):
        ledger.decide("r1.1", **{**said, **other})
    assert ledger.approval("r1.1") == first


def waits_again(ledger: Ledger, run_id: str) -> None:
    """It was rejected, and what was found on the web waits in its place."""
    waits(ledger, run_id)
    ledger.decide(f"{run_id}.1", "reject", by="bo")
    token = ledger.take_over(run_id, 60.0)
    assert token is not None
    ledger.suspend(run_id, token, make_approval(make_draft(run_id, "26 days.", attempt=2)), USED, 1.0)


@pytest.mark.parametrize("name", ["20261115-0933-ab", "20261115-0933", "20261115-0933-ab.", "last"])
def test_a_decision_lands_on_no_draft_that_was_not_named_d6(ledger: Ledger, name: str) -> None:
    run_id = "20261115-0933-ab"
    waits_again(ledger, run_id)
    assert ledger.approval(name).approval_id == f"{run_id}.2"  # who looks may say it so
    for verdict in ("approve", "reject"):
        with pytest.raises(InputError, match=rf'has 2 drafts, .* name its whole id, "{run_id}\.2"\.$'):
            ledger.decide(name, verdict, by="ana")
    with pytest.raises(DecidedError, match='rejected by "bo"'):
        ledger.decide(f"{run_id}.1", "approve", by="ana")
    assert ledger.approval(run_id).state == "pending"
    assert ledger.decide(f"{run_id}.2", "approve", by="ana").state == "approved"


@pytest.mark.parametrize("name", ["20261115-0933-ab", "20261115-0933", "last"])
def test_a_decision_is_named_as_a_person_types_it(ledger: Ledger, name: str) -> None:
    waits(ledger, "20261115-0933-ab")
    assert ledger.decide(name, "approve", by="ana").approval_id == "20261115-0933-ab.1"


def test_a_decision_on_several_runs_is_refused(ledger: Ledger) -> None:
    for run_id in ("abc1", "abc2"):
        waits(ledger, run_id)
    with pytest.raises(InputError, match='Approvals of 2 runs begin with "abc"'):
        ledger.decide("abc", "approve", by="ana")
    assert len(ledger.approvals()) == 2


@pytest.mark.parametrize("by", ["x" * 501, "ev\nil", "a\x1b[31m", "a\0b", "a\u2028b", "a\x85b", "half \ud83d"])
def test_whoever_decides_has_a_name_of_one_line(ledger: Ledger, by: str) -> None:
    waits(ledger, "r1")
    with pytest.raises(InputError, match=r"^Whoever decides has a name of 0 to 500 characters, none of them a line"):
        ledger.decide("r1.1", "approve", by=by)
    assert ledger.approval("r1").state == "pending"


def test_a_reason_has_its_limit(ledger: Ledger) -> None:
    waits(ledger, "r1")
    with pytest.raises(InputError, match="The reason has 2,001 characters: at most 2,000 are kept"):
        ledger.decide("r1.1", "reject", by="bob", reason="理" * 2001)
    for wrong in ({"key": 5}, {"draft_hash": 5}):
        with pytest.raises(InputError, match="are text"):
            ledger.decide("r1.1", "reject", by="bob", **wrong)  # type: ignore[arg-type]
    decided = ledger.decide("r1.1", "reject", by="bob", reason="理" * 2000).decision
    assert decided is not None and decided.reason == "理" * 2000


def test_a_decision_on_another_draft_is_refused(ledger: Ledger) -> None:
    waits(ledger, "r1")
    with pytest.raises(SupersededError, match=r'The draft of "r1\.1" is not the one'):
        ledger.decide("r1.1", "approve", by="bob", draft_hash=draft_hash(make_draft("r1", "25 days.")))
    assert ledger.approval("r1").state == "pending"


def test_what_makes_no_sense_is_told(ledger: Ledger) -> None:
    waits(ledger, "r1")
    with pytest.raises(InputError, match='There is no approval "r2.1"'):
        ledger.decide("r2.1", "approve", by="bob")
    with pytest.raises(InputError, match="Only a draft that is approved can be edited"):
        ledger.decide("r1.1", "reject", by="bob", edit="25 days")
    with pytest.raises(InputError, match="The edited answer is empty"):
        ledger.decide("r1.1", "approve", by="bob", edit=" ")
    with pytest.raises(InputError, match='"approve" or "reject"'):
        ledger.decide("r1.1", "maybe", by="bob")  # type: ignore[arg-type]
    begin(ledger, "r3")
    with pytest.raises(InputError, match="the run it belongs to"):
        ledger.suspend("r3", 1, make_approval(make_draft("r1")), USED, 1.0)
    stolen = make_approval(make_draft("r3")).model_copy(update={"approval_id": "r1.1"})
    with pytest.raises(InputError, match="of another run"):
        ledger.suspend("r3", 1, stolen, USED, 1.0)
    assert ledger.summary("r3").status == "running"
    assert ledger.approval("r1").state == "pending"


def test_two_processes_race_and_one_decision_counts(ledger: Ledger, tmp_path: Path) -> None:
    for number in range(RACES):
        waits(ledger, f"r{number}")
    lines = told(start("race", tmp_path / "ledger", RACES, "decide"))
    won = dict(line.split()[:2] for line in lines if line.endswith("won"))
    lost = dict(line.split()[:2] for line in lines if " lost: " in line)
    assert set(won) == set(lost) == {str(number) for number in range(RACES)}
    assert all(won[number] != lost[number] for number in won)
    for run, winner in won.items():
        decision = ledger.decision(f"r{run}", 1)
        assert decision is not None
        assert (decision.by, decision.verdict) == (winner, "approve" if winner == "a" else "reject")
    print(Counter(won.values()))


def test_approvals_are_listed_by_user_and_state(ledger: Ledger) -> None:
    for number, user in enumerate(("ann", "bob", "ann", "ann%")):
        waits(ledger, f"r{number}", user=user)
    ledger.decide("r0.1", "approve", by="bob")
    assert [one.run_id for one in ledger.approvals()] == ["r1", "r2", "r3"]
    assert [one.run_id for one in ledger.approvals(limit=1)] == ["r1"]
    assert [one.run_id for one in ledger.approvals(user="ann")] == ["r2"]
    assert [one.run_id for one in ledger.approvals(user="ann", state="any")] == ["r2", "r0"]
    assert [one.run_id for one in ledger.approvals(state="approved")] == ["r0"]


def test_an_approval_is_found_by_what_a_person_types(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="Nothing waits"):
        ledger.approval("last")
    for run_id in ("abc1", "abc2", "abc", "x%"):
        waits(ledger, run_id)
    ledger.decide("abc.1", "reject", by="bob")
    token = ledger.take_over("abc", 60.0)
    assert token is not None
    ledger.suspend("abc", token, make_approval(make_draft("abc", attempt=2)), USED, 1.0)
    names = {"abc": "abc.2", "abc.1": "abc.1", "abc.": "abc.2", "abc1": "abc1.1", "abc2.": "abc2.1", "x": "x%.1"}
    assert {name: ledger.approval(name).approval_id for name in names} == names
    assert ledger.approval("last").approval_id == "abc.2"
    with pytest.raises(InputError, match=r'of 3 runs begin with "ab" \(3 of them wait: abc, abc2, abc1\)'):
        ledger.approval("ab")
    ledger.decide("abc2", "reject", by="bob")
    with pytest.raises(InputError, match=r'of 3 runs begin with "ab" \(2 of them wait: abc, abc1\): write more of it'):
        ledger.approval("ab")
    for name in ("%", "_", "y", "abc.3", "abc' OR '1'='1"):
        with pytest.raises(InputError, match="There is no approval"):
            ledger.approval(name)
    with pytest.raises(InputError, match="is named by its id"):
        ledger.approval("")


def test_a_run_that_ended_has_nothing_that_waits(ledger: Ledger) -> None:
    waits(ledger, "r1")
    ledger.finish("r1", "failed", token=1, answer=None, usage=USED, seconds=1.0)  # it waits: nobody may end it
    assert (ledger.summary("r1").status, ledger.approval("r1").state) == ("awaiting_approval", "pending")
    ledger.decide("r1.1", "approve", by="bob")
    token = ledger.take_over("r1", 60.0)
    assert token == 2
    ledger.finish("r1", "answered", token=token, answer=make_draft("r1"), usage=USED, seconds=1.0)
    assert (ledger.approval("r1").state, ledger.waiting(), ledger.interrupted()) == ("approved", [], [])


def test_a_draft_is_told_from_another_by_what_would_go_out() -> None:
    draft = make_draft("r1")
    same = draft.model_copy(update={"seconds": 99.0, "notices": [], "score": 0.1})
    others = [
        draft.model_copy(update={"text": "25 days [1]."}),
        draft.model_copy(update={"attempt": 2}),
        draft.model_copy(update={"evidence": [make_evidence("p2")]}),
        draft.model_copy(update={"text": "half \ud83d"}),
    ]
    assert draft_hash(draft) == draft_hash(same)
    assert len({draft_hash(one) for one in (draft, *others)}) == 5


def test_a_run_without_approvals_has_none(ledger: Ledger) -> None:
    assert (ledger.approvals(), ledger.waiting()) == ([], [])
    ran(ledger, "r1")
    assert ledger.approvals_of("r1") == []
    with pytest.raises(InputError, match="There is no approval"):
        ledger.approval("r1")


def test_how_the_latest_stand_is_told_without_their_drafts_d6(ledger: Ledger) -> None:
    """For a server that looks every second: what was made or decided last comes first, however old it is."""
    assert ledger.approval_states() == []
    for number, user in enumerate(("ann", "bob", "ann", "王芳")):
        waits(ledger, f"r{number}", user=user, question=f"Question {number}?")
    ledger.decide("r0", "reject", by="carl")
    ledger.forget_documents(["d1"])  # the drafts that wait rest on it
    told = ledger.approval_states()
    assert {one.approval_id: (one.run_id, one.user, one.state, one.by) for one in told} == {
        "r0.1": ("r0", "ann", "rejected", "carl"),
        "r1.1": ("r1", "bob", "superseded", ""),
        "r2.1": ("r2", "ann", "superseded", ""),
        "r3.1": ("r3", "王芳", "superseded", ""),
    }
    assert "24 days" not in str([one.model_dump() for one in told])


def test_a_decision_on_an_old_one_is_among_the_latest(ledger: Ledger) -> None:
    for number in range(12):
        waits(ledger, f"r{number:02}")
    assert [one.run_id for one in ledger.approval_states(3)] == ["r11", "r10", "r09"]
    ledger.decide("r00", "approve", by="bob")
    assert [(one.run_id, one.state) for one in ledger.approval_states(3)] == [
        ("r00", "approved"),
        ("r11", "pending"),
        ("r10", "pending"),
    ]


def test_they_are_listed_by_state(ledger: Ledger) -> None:
    for run_id in ("r0", "r1", "r2", "r3"):
        waits(ledger, run_id)
    ledger.decide("r1", "approve", by="bob")
    ledger.decide("r2", "reject", by="bob")
    listed = {
        state: [one.run_id for one in ledger.approvals(state=state)]
        for state in ("pending", "approved", "rejected", "superseded", "any")
    }
    assert listed == {
        "pending": ["r0", "r3"],
        "approved": ["r1"],
        "rejected": ["r2"],
        "superseded": [],
        "any": ["r3", "r2", "r1", "r0"],
    }
    with pytest.raises(InputError, match='The state of an approval is pending, .*, any, not "waiting"'):
        ledger.approvals(state="waiting")
