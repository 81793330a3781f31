"""Drafts that are sent back with a note (SPEC D10), with the real graph and ledger."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail, judged
from tests.runs.websites import SearchServer
from veracity.errors import DecidedError, InputError, ModelUnreachableError
from veracity.experiments.proposals import cases_from_approvals
from veracity.testing import ScriptedLLM

BETTER = (
    "Full-time staff have 25 days of paid annual leave a year. [1] Up to 5 days may be carried over until March. [1]"
)
NOTE = "Say what happens to unused days."


def script(*drafts: Any, scores: tuple[float, ...], reviews: Any = PASS) -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=list(drafts), reviewer=reviews, judge=judged(*scores))


def test_d10_the_next_draft_passes_the_same_gates(gated: MakeEngine) -> None:
    llm = script(GOOD, BETTER, scores=(30, 90))
    engine = gated(llm)
    waiting = engine.ask(QUESTION)
    assert engine.approval(waiting.approval_id).send_backs == 2
    answer = engine.decide(waiting.approval_id, "send_back", reason=NOTE, by="ana")
    assert (answer.status, answer.text, answer.score, answer.attempt) == ("answered", BETTER, 0.9, 2)
    assert [(decision.verdict, decision.reason) for decision in answer.decisions] == [("send_back", NOTE)]
    assert "sent_back" in [notice.code for notice in answer.notices]
    prompt = [call for call in llm.calls if call.role == "writer"][-1].messages[-1].text
    assert NOTE in prompt and GOOD in prompt
    receipt = engine.receipt(answer.run_id)
    assert [(draft.attempt, draft.epoch, draft.text) for draft in receipt.drafts] == [(1, 0, GOOD), (2, 0, BETTER)]
    assert [approval.state for approval in receipt.approvals] == ["sent_back"]


def test_d10_a_low_score_waits_again_and_the_number_of_send_backs_is_limited(gated: MakeEngine) -> None:
    engine = gated(script(GOOD, BETTER, GOOD, scores=(30, 40, 50)))
    waiting = engine.ask(QUESTION)
    for left in (1, 0):
        waiting = engine.decide(waiting.approval_id, "send_back", reason=NOTE)
        assert waiting.status == "awaiting_approval"
        assert engine.approval(waiting.approval_id).send_backs == left
    with pytest.raises(InputError, match="cannot be sent back again"):
        engine.decide(waiting.approval_id, "send_back", reason=NOTE)
    answer = engine.decide(waiting.approval_id, "approve")
    assert (answer.text, answer.attempt) == (GOOD, 3)
    assert [approval.state for approval in engine.approvals(state="any")] == ["approved", "sent_back", "sent_back"]


def test_d10_the_setting_switches_it_off(gated: MakeEngine) -> None:
    engine = gated(script(GOOD, scores=(30,)), approval={"send_backs": 0})
    with pytest.raises(InputError, match="cannot be sent back"):
        engine.decide(engine.ask(QUESTION).approval_id, "send_back", reason=NOTE)


def test_a_note_is_required(gated: MakeEngine) -> None:
    engine = gated(script(GOOD, scores=(30,)))
    approval_id = engine.ask(QUESTION).approval_id
    with pytest.raises(InputError, match="with a note"):
        engine.decide(approval_id, "send_back", reason="  ")
    assert engine.approval(approval_id).state == "pending"


def test_d10_the_draft_does_not_count_among_the_redrafts(gated: MakeEngine) -> None:
    """With one redraft allowed and used, the note still leads to a draft, and its failed review to no further one."""
    llm = script(WRONG, GOOD, BETTER, scores=(30, 40), reviews=[fail("It is 25."), PASS, fail("Too long.")])
    engine = gated(llm, answering={"gener_epoch": 1})
    waiting = engine.ask(QUESTION)
    waiting = engine.decide(waiting.approval_id, "send_back", reason=NOTE)
    approval = engine.approval(waiting.approval_id)
    assert (approval.why, approval.draft.text) == ("review_failed", BETTER)
    assert [draft.text for draft in engine.receipt(approval.run_id).drafts] == [WRONG, GOOD, BETTER]


def test_d10_a_redraft_after_a_failed_review_gets_the_note_again(gated: MakeEngine) -> None:
    llm = script(GOOD, WRONG, BETTER, scores=(30, 90), reviews=[PASS, fail("It is 25."), PASS])
    engine = gated(llm, answering={"gener_epoch": 2})
    answer = engine.decide(engine.ask(QUESTION).approval_id, "send_back", reason=NOTE)
    assert answer.text == BETTER
    prompts = [call.messages[-1].text for call in llm.calls if call.role == "writer"]
    assert NOTE in prompts[-1] and "It is 25." in prompts[-1]


def test_a_draft_that_cannot_be_written_leaves_the_earlier_one(gated: MakeEngine) -> None:
    unreachable = ModelUnreachableError("The model cannot be reached.")
    engine = gated(script(GOOD, unreachable, scores=(30, 30)))
    waiting = engine.decide(engine.ask(QUESTION).approval_id, "send_back", reason=NOTE)
    approval = engine.approval(waiting.approval_id)
    assert (approval.draft.text, approval.attempt) == (GOOD, 2)
    assert "redraft_failed" in [notice.code for notice in approval.draft.notices]


def test_d7_a_rejection_after_a_send_back_searches_the_web(gated: MakeEngine, website: SearchServer) -> None:
    website.finds("Full-time staff have 26 days of paid annual leave a year.")
    from_web = "Full-time staff have 26 days of paid annual leave a year. [1]"
    llm = script(GOOD, BETTER, from_web, scores=(30, 40, 90))
    engine = gated(llm, web=website.settings)
    waiting = engine.decide(engine.ask(QUESTION).approval_id, "send_back", reason=NOTE)
    answer = engine.decide(waiting.approval_id, "reject", reason="Look it up.")
    assert (answer.text, answer.attempt) == (from_web, 3)
    prompt = [call for call in llm.calls if call.role == "writer"][-1].messages[-1].text
    assert "Look it up." in prompt and NOTE not in prompt


def test_x2_an_abstention_cannot_be_sent_back(gated: MakeEngine, website: SearchServer) -> None:
    engine = gated(script("NO ANSWER: the price of the permit", scores=(0,)), web=website.settings)
    approval = engine.approval(engine.ask("What does a parking permit cost?").approval_id)
    assert (approval.why, approval.send_backs) == ("abstained", 0)
    with pytest.raises(InputError, match="no draft"):
        engine.decide(approval.approval_id, "send_back", reason=NOTE)


def test_a_draft_that_was_sent_back_is_no_expected_answer(gated: MakeEngine) -> None:
    engine = gated(script(GOOD, BETTER, scores=(30, 90)))
    engine.decide(engine.ask(QUESTION).approval_id, "send_back", reason=NOTE)
    assert list(cases_from_approvals(engine.approvals(state="any"))) == []


def test_without_a_model_the_note_widens_what_is_quoted(gated: MakeEngine) -> None:
    engine = gated(approval={"policy": "always"})
    first = engine.ask(QUESTION)
    waiting = engine.decide(first.approval_id, "send_back", reason="How many days may be carried over?")
    drafts = [approval.draft.text for approval in reversed(engine.approvals(state="any"))]
    assert "25 days" in drafts[0] and "carried over" not in drafts[0]
    assert "25 days" in drafts[1] and "carried over" in drafts[1]
    assert waiting.status == "awaiting_approval"


class TestHeldDecisions:
    """Decisions that take effect after some seconds, and can be withdrawn until then."""

    def test_the_run_waits_until_the_decision_takes_effect(self, gated: MakeEngine) -> None:
        engine = gated(script(GOOD, scores=(30,)))
        waiting = engine.ask(QUESTION)
        held = engine.inbox.hold(waiting.approval_id, "approve", by="ana", seconds=60)
        assert held.state == "approved" and held.effective and held.effective > datetime.now(UTC)
        assert engine.interrupted() == [] and engine.recover() == []
        assert engine.progress(waiting.run_id).answer == waiting
        with pytest.raises(DecidedError, match="ana"):
            engine.decide(waiting.approval_id, "reject", by="bo")

    def test_it_is_resumed_once_it_has_taken_effect(self, gated: MakeEngine) -> None:
        engine = gated(script(GOOD, scores=(30,)))
        waiting = engine.ask(QUESTION)
        held = engine.inbox.hold(waiting.approval_id, "approve", by="ana", seconds=0.2)
        assert held.effective
        while datetime.now(UTC) < held.effective:
            pass
        assert [answer.text for answer in engine.recover()] == [GOOD]
        with pytest.raises(DecidedError, match="no longer be withdrawn"):
            engine.inbox.withdraw(waiting.approval_id, by="ana")

    def test_a_withdrawn_decision_leaves_no_trace(self, gated: MakeEngine) -> None:
        engine = gated(script(GOOD, scores=(30,)))
        approval = engine.approval(engine.ask(QUESTION).approval_id)
        engine.inbox.hold(approval.approval_id, "approve", by="ana", seconds=60, edit="Ask Ana.", key="k")
        with pytest.raises(DecidedError, match="only they can withdraw"):
            engine.inbox.withdraw(approval.approval_id, by="bo")
        assert engine.inbox.withdraw(approval.approval_id, by="ana") == approval
        answer = engine.decide(approval.approval_id, "reject", by="bo")
        assert [(decision.verdict, decision.by) for decision in answer.decisions] == [("reject", "bo")]

    def test_how_long_a_decision_is_held_is_limited(self, gated: MakeEngine) -> None:
        engine = gated(script(GOOD, scores=(30,)))
        approval_id = engine.ask(QUESTION).approval_id
        with pytest.raises(InputError, match="up to 60 seconds"):
            engine.inbox.hold(approval_id, "approve", seconds=3600)


class TestExpiry:
    def test_d11_an_expired_draft_is_not_released(self, gated: MakeEngine, website: SearchServer) -> None:
        engine = gated(script(GOOD, scores=(30,)), approval={"expires": 1e-6}, web=website.settings)
        waiting = engine.ask(QUESTION)
        with pytest.raises(DecidedError, match="has expired"):
            engine.decide(waiting.approval_id, "approve")
        [answer] = engine.recover()
        assert (answer.status, answer.run_id) == ("rejected", waiting.run_id)
        assert GOOD not in answer.text and "nobody approved it in time" in answer.text
        assert [notice.code for notice in answer.notices] == ["expired"]
        assert engine.approval(waiting.approval_id).state == "expired"
        assert engine.receipt(answer.run_id).web == []
        assert engine.recover() == []

    def test_d11_an_expired_abstention_stays_one(self, gated: MakeEngine, website: SearchServer) -> None:
        llm = script("NO ANSWER: the price of the permit", scores=(0,))
        engine = gated(llm, approval={"expires": 1e-6}, web=website.settings)
        engine.ask("What does a parking permit cost?")
        [answer] = engine.recover()
        assert (answer.status, engine.receipt(answer.run_id).web) == ("abstained", [])
        assert "expired" in [notice.code for notice in answer.notices]

    def test_d11_it_is_off_by_default_and_a_decision_in_time_counts(self, gated: MakeEngine) -> None:
        engine = gated(script(GOOD, scores=(30,)))
        assert engine.approval(engine.ask(QUESTION).approval_id).expires is None
        later = gated(script(GOOD, scores=(30,)), approval={"expires": 24})
        approval = later.approval(later.ask(QUESTION).approval_id)
        assert approval.expires and approval.expires - approval.created > timedelta(hours=23)
        assert later.inbox.expire() == 0
        assert later.decide(approval.approval_id, "approve").text == GOOD


class TestAssignment:
    def test_d11_a_pending_draft_is_assigned(self, gated: MakeEngine) -> None:
        engine = gated(script(GOOD, scores=(30,)))
        approval_id = engine.ask(QUESTION).approval_id
        assert engine.inbox.assign(approval_id, "ana").assignee == "ana"
        assert engine.inbox.assign(approval_id, "").assignee == ""
        engine.decide(approval_id, "approve", by="bo")
        with pytest.raises(DecidedError, match="bo"):
            engine.inbox.assign(approval_id, "ana")

    def test_the_person_must_be_able_to_decide(self, gated: MakeEngine) -> None:
        engine = gated(script(GOOD, scores=(30,)))
        engine.users.add("ana", "approver")
        engine.users.add("cy", "asker")
        approval_id = engine.ask(QUESTION).approval_id
        for name in ("cy", "nobody"):
            with pytest.raises(InputError, match=f'is called "{name}"'):
                engine.inbox.assign(approval_id, name)
        assert engine.inbox.assign(approval_id, "ana").assignee == "ana"
