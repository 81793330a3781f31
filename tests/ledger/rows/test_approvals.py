"""Approvals: drafts stay pending across processes, and exactly one decision counts (SPEC D6)."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.ledger.leased import read_output, start
from tests.ledger.material import USED, begin, fail, finish_run, make_approval, make_draft, make_evidence, suspend_run
from veracity.errors import DecidedError, InputError, SupersededError
from veracity.ledger import Ledger, draft_hash

RACES = 100


def test_a_draft_is_stored_completely(ledger: Ledger, tmp_path: Path) -> None:
    token = begin(ledger, "r1", user="安", conversation="休假")
    draft = make_draft("r1", "有24天 [1]。")
    new = make_approval(draft, user="another user")
    stored = ledger.suspend("r1", token, new, USED, 2.5)
    assert stored == new.model_copy(update={"user": "安", "conversation": "休假"})  # those of the run
    other = Ledger(tmp_path / "ledger")
    assert other.approvals() == other.approvals_of("r1") == [stored]
    assert (other.summary("r1").status, other.summary("r1").seconds, other.parameters("r1").usage) == (
        "awaiting_approval",
        2.5,
        USED,
    )
    assert other.pending_runs() == ["r1"]
    assert other.decision("r1", 1) is None
    other.close()


def test_suspending_twice_is_a_no_op(ledger: Ledger) -> None:
    first = suspend_run(ledger, "r1")
    again = make_approval(make_draft("r1", "Another text."))
    assert ledger.suspend("r1", 1, again, USED, 9.0) == first
    decided = ledger.decide("r1.1", "reject", by="bob")
    token = ledger.acquire_lease("r1")
    assert token == 2
    assert ledger.suspend("r1", token, again, USED, 9.0) == decided  # as after a kill
    assert ledger.interrupted() == ["r1"]


def test_a_decision_is_stored_with_person_time_and_reason(ledger: Ledger) -> None:
    suspend_run(ledger, "r1")
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


def test_a_second_decision_is_refused(ledger: Ledger) -> None:
    suspend_run(ledger, "r1")
    ledger.decide("r1.1", "reject", by="bob", key="k1")
    for key in (None, "", "k2"):
        with pytest.raises(DecidedError) as refused:
            ledger.decide("r1.1", "approve", by="carl", key=key)
        when = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
        message = rf'The draft "r1\.1" was already rejected by "bob" at {when}: your decision is ignored\.'
        assert re.fullmatch(message, str(refused.value))
    assert ledger.approval("r1").state == "rejected"


def test_the_same_decision_with_the_same_key_is_a_no_op(ledger: Ledger) -> None:
    suspend_run(ledger, "r1")
    first = ledger.decide("r1.1", "reject", by="bob", reason="no", key="k1")
    assert ledger.decide("r1.1", "reject", by="bob", reason="no", key="k1") == first
    assert ledger.decide("r1", "reject", by="bob", reason="no", key="k1") == first
    suspend_run(ledger, "r2")
    ledger.decide("r2.1", "approve", by="bob", key="")
    with pytest.raises(DecidedError):
        ledger.decide("r2.1", "approve", by="bob", key="")


OTHER_DECISIONS = [
    {"verdict": "reject", "edit": None},
    {"edit": "26 日。"},
    {"edit": None},
    {"by": "carl"},
    {"reason": "別の理由"},
    {"key": "k2"},
    {"key": None},
]


@pytest.mark.parametrize("other", OTHER_DECISIONS)
def test_another_decision_with_the_same_key_is_refused(ledger: Ledger, other: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"verdict": "approve", "by": "bob", "edit": "25 日。\0", "key": "k1"}
    suspend_run(ledger, "r1")
    first = ledger.decide("r1.1", **arguments)
    assert ledger.decide("r1.1", **arguments) == first
    with pytest.raises(DecidedError, match='approved by "bob"'):
        ledger.decide("r1.1", **{**arguments, **other})
    assert ledger.approval("r1.1") == first


def suspend_twice(ledger: Ledger, run_id: str) -> None:
    """Reject the first draft and suspend a second one."""
    suspend_run(ledger, run_id)
    ledger.decide(f"{run_id}.1", "reject", by="bo")
    token = ledger.acquire_lease(run_id)
    assert token is not None
    ledger.suspend(run_id, token, make_approval(make_draft(run_id, "26 days.", attempt=2)), USED, 1.0)


@pytest.mark.parametrize("name", ["20261115-0933-ab", "20261115-0933", "20261115-0933-ab.", "last"])
def test_a_run_with_several_drafts_needs_the_full_id_d6(ledger: Ledger, name: str) -> None:
    run_id = "20261115-0933-ab"
    suspend_twice(ledger, run_id)
    assert ledger.approval(name).approval_id == f"{run_id}.2"  # enough for reading
    for verdict in ("approve", "reject"):
        with pytest.raises(InputError, match=rf'has 2 drafts, .* write its full id, "{run_id}\.2"\.$'):
            ledger.decide(name, verdict, by="ana")
    with pytest.raises(DecidedError, match='rejected by "bo"'):
        ledger.decide(f"{run_id}.1", "approve", by="ana")
    assert ledger.approval(run_id).state == "pending"
    assert ledger.decide(f"{run_id}.2", "approve", by="ana").state == "approved"


@pytest.mark.parametrize("name", ["20261115-0933-ab", "20261115-0933", "last"])
def test_a_single_draft_can_be_decided_by_run_prefix_or_last(ledger: Ledger, name: str) -> None:
    suspend_run(ledger, "20261115-0933-ab")
    assert ledger.decide(name, "approve", by="ana").approval_id == "20261115-0933-ab.1"


def test_an_ambiguous_prefix_cannot_be_decided(ledger: Ledger) -> None:
    for run_id in ("abc1", "abc2"):
        suspend_run(ledger, run_id)
    with pytest.raises(InputError, match='Approvals of 2 runs start with "abc"'):
        ledger.decide("abc", "approve", by="ana")
    assert len(ledger.approvals()) == 2


@pytest.mark.parametrize("by", ["x" * 501, "ev\nil", "a\x1b[31m", "a\0b", "a\u2028b", "a\x85b", "half \ud83d"])
def test_an_invalid_name_of_the_deciding_person_is_refused(ledger: Ledger, by: str) -> None:
    suspend_run(ledger, "r1")
    with pytest.raises(InputError, match=r"^The name of the approver must have 0 to 500 characters and no line"):
        ledger.decide("r1.1", "approve", by=by)
    assert ledger.approval("r1").state == "pending"


def test_invalid_reasons_keys_and_hashes_are_refused(ledger: Ledger) -> None:
    suspend_run(ledger, "r1")
    with pytest.raises(InputError, match="The reason has 2,001 characters: shorten it to 2,000"):
        ledger.decide("r1.1", "reject", by="bob", reason="理" * 2001)
    for wrong in ({"key": 5}, {"draft_hash": 5}):
        with pytest.raises(InputError, match="must be text"):
            ledger.decide("r1.1", "reject", by="bob", **wrong)  # type: ignore[arg-type]
    decided = ledger.decide("r1.1", "reject", by="bob", reason="理" * 2000).decision
    assert decided is not None and decided.reason == "理" * 2000


def test_a_decision_on_a_changed_draft_is_refused(ledger: Ledger) -> None:
    suspend_run(ledger, "r1")
    with pytest.raises(SupersededError, match=r'The draft "r1\.1" has changed'):
        ledger.decide("r1.1", "approve", by="bob", draft_hash=draft_hash(make_draft("r1", "25 days.")))
    assert ledger.approval("r1").state == "pending"


def test_invalid_decisions_and_approvals_are_refused(ledger: Ledger) -> None:
    suspend_run(ledger, "r1")
    with pytest.raises(InputError, match='There is no approval "r2.1"'):
        ledger.decide("r2.1", "approve", by="bob")
    with pytest.raises(InputError, match="Only an approved draft can be edited"):
        ledger.decide("r1.1", "reject", by="bob", edit="25 days")
    with pytest.raises(InputError, match="The edited answer is empty"):
        ledger.decide("r1.1", "approve", by="bob", edit=" ")
    with pytest.raises(InputError, match='"approve" or "reject"'):
        ledger.decide("r1.1", "maybe", by="bob")  # type: ignore[arg-type]
    begin(ledger, "r3")
    with pytest.raises(InputError, match="belongs to another run"):
        ledger.suspend("r3", 1, make_approval(make_draft("r1")), USED, 1.0)
    stolen = make_approval(make_draft("r3")).model_copy(update={"approval_id": "r1.1"})
    with pytest.raises(InputError, match="of another run"):
        ledger.suspend("r3", 1, stolen, USED, 1.0)
    assert ledger.summary("r3").status == "running"
    assert ledger.approval("r1").state == "pending"


def test_of_two_racing_decisions_one_counts(ledger: Ledger, tmp_path: Path) -> None:
    for number in range(RACES):
        suspend_run(ledger, f"r{number}")
    lines = read_output(start("race", tmp_path / "ledger", RACES, "decide"))
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
        suspend_run(ledger, f"r{number}", user=user)
    ledger.decide("r0.1", "approve", by="bob")
    assert [approval.run_id for approval in ledger.approvals()] == ["r1", "r2", "r3"]
    assert [approval.run_id for approval in ledger.approvals(limit=1)] == ["r1"]
    assert [approval.run_id for approval in ledger.approvals(user="ann")] == ["r2"]
    assert [approval.run_id for approval in ledger.approvals(user="ann", state="any")] == ["r2", "r0"]
    assert [approval.run_id for approval in ledger.approvals(state="approved")] == ["r0"]


def test_an_approval_is_found_by_id_run_prefix_or_last(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="No approval is pending"):
        ledger.approval("last")
    for run_id in ("abc1", "abc2", "abc", "x%"):
        suspend_run(ledger, run_id)
    ledger.decide("abc.1", "reject", by="bob")
    token = ledger.acquire_lease("abc")
    assert token is not None
    ledger.suspend("abc", token, make_approval(make_draft("abc", attempt=2)), USED, 1.0)
    names = {"abc": "abc.2", "abc.1": "abc.1", "abc.": "abc.2", "abc1": "abc1.1", "abc2.": "abc2.1", "x": "x%.1"}
    assert {name: ledger.approval(name).approval_id for name in names} == names
    assert ledger.approval("last").approval_id == "abc.2"
    with pytest.raises(InputError, match=r'of 3 runs start with "ab" \(3 pending: abc, abc2, abc1\)'):
        ledger.approval("ab")
    ledger.decide("abc2", "reject", by="bob")
    with pytest.raises(InputError, match=r'of 3 runs start with "ab" \(2 pending: abc, abc1\): write more of the id'):
        ledger.approval("ab")
    for name in ("%", "_", "y", "abc.3", "abc' OR '1'='1"):
        with pytest.raises(InputError, match="There is no approval"):
            ledger.approval(name)
    with pytest.raises(InputError, match="Name an approval by its id"):
        ledger.approval("")


def test_a_pending_run_cannot_be_ended(ledger: Ledger) -> None:
    suspend_run(ledger, "r1")
    fail(ledger, "r1", token=1)  # a no-op
    assert (ledger.summary("r1").status, ledger.approval("r1").state) == ("awaiting_approval", "pending")
    ledger.decide("r1.1", "approve", by="bob")
    token = ledger.acquire_lease("r1")
    assert token == 2
    ledger.finish(make_draft("r1"), token=token)
    assert (ledger.approval("r1").state, ledger.pending_runs(), ledger.interrupted()) == ("approved", [], [])


def test_the_draft_hash_covers_text_evidence_and_attempt() -> None:
    draft = make_draft("r1")
    same = draft.model_copy(update={"seconds": 99.0, "notices": [], "score": 0.1})
    others = [
        draft.model_copy(update={"text": "25 days [1]."}),
        draft.model_copy(update={"attempt": 2}),
        draft.model_copy(update={"evidence": [make_evidence("p2")]}),
        draft.model_copy(update={"text": "half \ud83d"}),
    ]
    assert draft_hash(draft) == draft_hash(same)
    assert len({draft_hash(other) for other in (draft, *others)}) == 5


def test_a_run_without_approvals(ledger: Ledger) -> None:
    assert (ledger.approvals(), ledger.pending_runs()) == ([], [])
    finish_run(ledger, "r1")
    assert ledger.approvals_of("r1") == []
    with pytest.raises(InputError, match="There is no approval"):
        ledger.approval("r1")


def test_the_latest_states_come_without_drafts_d6(ledger: Ledger) -> None:
    assert ledger.approval_states() == []
    for number, user in enumerate(("ann", "bob", "ann", "王芳")):
        suspend_run(ledger, f"r{number}", user=user, question=f"Question {number}?")
    ledger.decide("r0", "reject", by="carl")
    ledger.forget_documents(["d1"])  # supersedes the pending drafts
    states = ledger.approval_states()
    assert {state.approval_id: (state.run_id, state.user, state.state, state.by) for state in states} == {
        "r0.1": ("r0", "ann", "rejected", "carl"),
        "r1.1": ("r1", "bob", "superseded", ""),
        "r2.1": ("r2", "ann", "superseded", ""),
        "r3.1": ("r3", "王芳", "superseded", ""),
    }
    assert "24 days" not in str([state.model_dump() for state in states])


def test_the_latest_decision_comes_first_even_on_an_old_draft(ledger: Ledger) -> None:
    for number in range(12):
        suspend_run(ledger, f"r{number:02}")
    assert [state.run_id for state in ledger.approval_states(3)] == ["r11", "r10", "r09"]
    ledger.decide("r00", "approve", by="bob")
    assert [(state.run_id, state.state) for state in ledger.approval_states(3)] == [
        ("r00", "approved"),
        ("r11", "pending"),
        ("r10", "pending"),
    ]


def test_approvals_are_listed_by_state(ledger: Ledger) -> None:
    for run_id in ("r0", "r1", "r2", "r3"):
        suspend_run(ledger, run_id)
    ledger.decide("r1", "approve", by="bob")
    ledger.decide("r2", "reject", by="bob")
    listed = {
        state: [approval.run_id for approval in ledger.approvals(state=state)]
        for state in ("pending", "approved", "rejected", "superseded", "any")
    }
    assert listed == {
        "pending": ["r0", "r3"],
        "approved": ["r1"],
        "rejected": ["r2"],
        "superseded": [],
        "any": ["r3", "r2", "r1", "r0"],
    }
    with pytest.raises(InputError, match='The state must be one of pending, .*, any, not "waiting"'):
        ledger.approvals(state="waiting")
