"""Audits: a random share of the released answers is checked afterwards, and its decisions change nothing (SPEC X6)."""

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.runs.websites import SearchServer
from veracity.errors import DecidedError
from veracity.testing import ScriptedLLM

ALL = {"audit": 1.0}


def scored(score: float) -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(score))


@pytest.mark.both_engines
def test_an_audited_answer_is_released_at_once(gated: MakeEngine) -> None:
    engine = gated(scored(90), approval=ALL)
    answer = engine.ask(QUESTION)
    assert (answer.status, answer.text) == ("answered", GOOD)
    [audit] = engine.approvals()
    assert (audit.why, audit.on_reject, audit.inclusion, audit.draft.text) == ("audit", "record", 1.0, GOOD)
    assert engine.runs()[0].status == "answered"
    assert (engine.pending(), engine.pending(user="local")) == (1, 0), "nobody waits for it"
    assert engine.interrupted() == []


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_decision_on_an_audit_is_recorded_and_changes_nothing(gated: MakeEngine, verdict: str) -> None:
    with SearchServer() as server:
        engine = gated(scored(90), approval=ALL, web={"provider": "searxng", **server.settings})
        before = engine.ask(QUESTION)
        [audit] = engine.approvals()
        after = engine.decide(audit.approval_id, verdict, reason="Checked.", by="ann")  # type: ignore[arg-type]
        assert after == before
        assert server.asked == []
    [decided] = engine.approvals(state="any")
    assert decided.decision
    assert (decided.decision.verdict, decided.decision.by, decided.decision.reason) == (verdict, "ann", "Checked.")
    assert engine.runs()[0].status == "answered"
    assert engine.receipt(before.run_id).approvals == [decided]
    assert len(list(engine.observations())) == 1, "it stays what it was"
    with pytest.raises(DecidedError):
        engine.decide(audit.approval_id, verdict, by="bob")  # type: ignore[arg-type]


def test_only_what_the_gate_released_is_audited(gated: MakeEngine) -> None:
    engine = gated(scored(10), approval=ALL)
    assert engine.ask(QUESTION).status == "awaiting_approval"
    assert [approval.why for approval in engine.approvals()] == ["low_score"]


def test_without_the_setting_nothing_is_audited(gated: MakeEngine) -> None:
    engine = gated(scored(90))
    engine.ask(QUESTION)
    assert engine.approvals() == []


def test_the_share_is_drawn_at_random(gated: MakeEngine) -> None:
    engine = gated(scored(90), approval={"audit": 0.5})
    for number in range(24):
        engine.ask(QUESTION, user=f"user{number}")
    audits = engine.approvals()
    assert 2 <= len(audits) <= 22
    assert {audit.inclusion for audit in audits} == {0.5}


def test_a_forgotten_document_withdraws_a_pending_audit(gated: MakeEngine) -> None:
    engine = gated(scored(90), approval=ALL)
    answer = engine.ask(QUESTION)
    engine.forget(answer.evidence[0].document_id)
    assert engine.approvals() == []
    assert GOOD not in "".join(approval.model_dump_json() for approval in engine.approvals(state="any"))
