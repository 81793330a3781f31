"""Turns are counted, remembered and summed up for the user whose they are, and never for another one (SPEC D2)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from tests.ledger.material import USED, answered, begin, make_answer, make_draft, ran, waits
from veracity.errors import InputError
from veracity.ledger import Ledger
from veracity.models import Decision, Review, ReviewOutcome, RunStatus, Verdict
from veracity.models.conversation import TurnStatus

HOSTILE = ["a'; DROP TABLE runs; --", 'a"b', "%", "_", "\\", "休假", "あ\u3000い", "x' OR '1'='1", " ", "c" * 500]


def test_turns_are_counted_by_user_and_conversation(ledger: Ledger) -> None:
    for user, conversation in (("ann", "leave"), ("bob", "leave"), ("ann", "leave"), ("ann", "Leave"), ("ann", "")):
        number = len(ledger.runs())
        begin(ledger, f"r{number}", user=user, conversation=conversation)
    assert [turn.number for turn in ledger.turns("ann", "leave")] == [1, 2]
    assert [turn.run_id for turn in ledger.turns("ann", "leave")] == ["r0", "r2"]
    assert [turn.run_id for turn in ledger.turns("bob", "leave")] == ["r1"]
    assert [turn.run_id for turn in ledger.turns("ann", "Leave")] == ["r3"]
    assert ledger.summary("r2").conversation == "leave"
    assert ledger.summary("r4").conversation == ""


def test_answers_are_remembered_where_they_may_be_used(ledger: Ledger) -> None:
    answered(ledger, "r1", "How long do refunds take?", "14 days.", "c")
    answered(ledger, "r2", "Who pays?", "Nobody knows.", "c", status="abstained")
    answered(ledger, "r3", "And in Osaka?", "Wrong.", "c", status="rejected")
    answered(ledger, "r4", "まだですか？", "壊れた", "c", status="failed")
    waits(ledger, "r5", conversation="c")
    begin(ledger, "r6", conversation="c")
    begin(ledger, "r7", conversation="c")
    kept = ledger.remembered("ann", "c", "r7")
    assert (kept.summary, kept.folded) == ("", 0)
    assert [(turn.number, turn.answer) for turn in kept.turns] == [
        (1, "14 days."),
        (2, "Nobody knows."),
        (3, ""),
        (4, ""),
        (5, ""),
        (6, ""),
    ]
    assert [turn.number for turn in ledger.remembered("ann", "c", "r3").turns] == [1, 2]
    assert len(ledger.remembered("ann", "c").turns) == 7
    assert ledger.remembered("ann", "c", "unknown").turns == []
    assert ledger.remembered("bob", "c", "r7").turns == []


def reviewed(ledger: Ledger, run_id: str, outcome: ReviewOutcome | None, *verdicts: Verdict) -> None:
    """A run whose answer came out of its review so, and what people said to it."""
    token = begin(ledger, run_id, "How long do refunds take?", conversation="c")
    review = None if outcome is None else Review(passed=False, outcome=outcome)
    said = [Decision(verdict=one, by="bob", at=datetime.now(UTC), attempt=at) for at, one in enumerate(verdicts, 1)]
    answer = make_answer(run_id, [], f"14 days, says {run_id}.")
    answer = answer.model_copy(update={"review": review, "decisions": said})
    ledger.finish(run_id, "answered", token=token, answer=answer, usage=USED, seconds=1.0, recallable=True)


def test_what_failed_its_review_is_not_used_again_d4(ledger: Ledger) -> None:
    reviewed(ledger, "r1", "failed")
    reviewed(ledger, "r2", "not_reviewed")
    reviewed(ledger, "r3", "failed", "approve")
    reviewed(ledger, "r4", "not_reviewed", "reject", "approve")
    reviewed(ledger, "r5", "failed", "reject")  # what the web gave then went out without a person
    reviewed(ledger, "r6", "doubtful")
    reviewed(ledger, "r7", "passed")
    reviewed(ledger, "r8", None)  # small talk
    used = ["r3", "r4", "r6", "r7", "r8"]
    for turns in (ledger.turns("ann", "c"), ledger.remembered("ann", "c").turns):
        assert len(turns) == 8
        assert [turn.run_id for turn in turns if turn.answer] == used
    assert {turn.run_id for turn in ledger.past_turns("ann", "c", "refunds", None, 9)} == set(used)


def test_a_turn_that_ends_after_it_was_summed_up_is_summed_up_anew_d2(ledger: Ledger) -> None:
    waits(ledger, "r1", conversation="c")
    waits(ledger, "r2", conversation="c")
    for number in range(3, 8):
        answered(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.keep_summary("ann", "c", "Nothing was answered.", 1)
    begin(ledger, "r8", conversation="c")  # it has read that
    for run_id, summary, folded in (("r2", "Nothing was answered.", 1), ("r1", "", 0)):
        ledger.decide(run_id, "approve", by="bob")
        token = ledger.take_over(run_id, 60.0)
        assert token is not None
        ledger.finish(run_id, "answered", token=token, answer=make_draft(run_id), usage=USED, seconds=1.0)
        kept = ledger.remembered("ann", "c")
        assert (kept.summary, kept.folded) == (summary, folded)
    assert [turn.answer for turn in ledger.remembered("ann", "c").turns][:3] == ["24 days [1]."] * 2 + ["Answer 3."]
    ledger.keep_summary("ann", "c", "Nothing was answered, and more.", 5)
    assert ledger.remembered("ann", "c").summary == ""
    ledger.finish("r8", "answered", token=1, answer=None, usage=USED, seconds=1.0)
    ledger.keep_summary("ann", "c", "24 days.", 5)
    assert ledger.remembered("ann", "c").summary == "24 days."


def test_a_summary_takes_the_place_of_the_older_turns(ledger: Ledger) -> None:
    for number in range(1, 8):
        answered(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.keep_summary("ann", "c", "最初の三つ", 3)
    kept = ledger.remembered("ann", "c", "r7")
    assert (kept.summary, kept.folded, [turn.number for turn in kept.turns]) == ("最初の三つ", 3, [4, 5, 6])
    assert len(ledger.turns("ann", "c")) == 7  # nothing is lost from what is stored


def test_a_summary_only_goes_forward(ledger: Ledger) -> None:
    for number in range(1, 8):
        answered(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.keep_summary("ann", "c", "four", 4)
    for folded in (0, 3, 4, 8, 1000):  # the last two sum up what was never said
        ledger.keep_summary("ann", "c", "wrong", folded)
    ledger.keep_summary("bob", "c", "wrong", 5)
    ledger.keep_summary("ann", "unknown", "wrong", 5)
    assert (ledger.remembered("ann", "c").summary, ledger.remembered("ann", "c").folded) == ("four", 4)
    assert ledger.remembered("bob", "c").summary == ledger.remembered("ann", "unknown").summary == ""
    ledger.keep_summary("ann", "c", "five", 5)
    assert ledger.remembered("ann", "c").summary == "five"


def test_conversations_are_listed_newest_first(ledger: Ledger) -> None:
    for number, conversation in enumerate(("a", "b", "a", "", "休暇")):
        ran(ledger, f"single{number}", user="bob")
        begin(ledger, f"r{number}", f"Question {number}?", conversation=conversation)
    found = ledger.conversations("ann")
    assert [(one.conversation, one.title, one.turns, one.user) for one in found] == [
        ("休暇", "Question 4?", 1, "ann"),
        ("a", "Question 0?", 2, "ann"),
        ("b", "Question 1?", 1, "ann"),
    ]
    assert found[1].started == ledger.summary("r0").started
    assert found[1].last == ledger.summary("r2").started
    assert [one.conversation for one in ledger.conversations("ann", limit=1)] == ["休暇"]
    assert ledger.conversations("bob") == []


def test_the_newest_turns_come_in_order(ledger: Ledger) -> None:
    for number in range(60):
        begin(ledger, f"r{number}", conversation="c")
    assert [turn.number for turn in ledger.turns("ann", "c")] == list(range(11, 61))
    assert [turn.number for turn in ledger.turns("ann", "c", limit=2)] == [59, 60]
    assert ledger.turns("ann", "unknown") == []


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_values_and_nothing_else(ledger: Ledger, name: str) -> None:
    answered(ledger, "other", "How long do refunds take?", "Other.", "other", user="other")
    answered(ledger, "r1", "How long do refunds take?", "14 days.", name, user=name)
    ledger.keep_summary(name, name, name, 1)
    assert ledger.remembered(name, name).summary == name
    assert [turn.run_id for turn in ledger.turns(name, name)] == ["r1"]
    assert [one.conversation for one in ledger.conversations(name)] == [name]
    assert [turn.run_id for turn in ledger.past_turns(name, name, "refunds", None, 5)] == ["r1"]
    assert [turn.run_id for turn in ledger.past_turns(name, None, "refunds", None, 5)] == ["r1"]
    assert ledger.turns("other", name) == ledger.turns(name, "other") == []
    assert ledger.forget_conversation(name, name) == 1
    assert [turn.answer for turn in ledger.turns("other", "other")] == ["Other."]


@pytest.mark.parametrize("name", ["a\0b", "half \ud83d", "x" * 501, "", "a\nb", "\x1b[31m", "a\u2029b"])
def test_a_name_that_cannot_be_stored_as_it_is_is_refused(ledger: Ledger, name: str) -> None:
    for call in (
        lambda: ledger.remembered("ann", name),
        lambda: ledger.keep_summary("ann", name, "s", 1),
        lambda: ledger.turns("ann", name),
        lambda: ledger.past_turns("ann", name, "refunds", None, 5),
        lambda: ledger.forget_conversation("ann", name),
    ):
        with pytest.raises(InputError, match="A conversation has a name"):
            call()
    if name:
        with pytest.raises(InputError, match="A conversation has a name"):
            begin(ledger, "r1", conversation=name)
        with pytest.raises(InputError, match="A user has a name"):
            ledger.conversations(name)
    assert ledger.runs() == []


def test_what_is_stored_grows_with_the_turns_and_not_faster(ledger: Ledger, tmp_path: Path) -> None:
    """DESIGN 1: with whole conversations in checkpoints it grew with their square."""
    sizes = []
    for number in range(1, 501):
        text = f"Answer {number} is that of topic{number}, which takes {number} days. " * 5
        token = begin(ledger, f"r{number}", f"What about topic{number}?", conversation="c")
        answer = make_answer(f"r{number}", [], text)
        ledger.finish(f"r{number}", "answered", token=token, answer=answer, usage=USED, seconds=1.0, recallable=True)
        if number > 10:
            ledger.keep_summary("ann", "c", "s" * 2000, number - 6)
        if number in (250, 500):
            ledger._database.scrub()
            sizes.append((tmp_path / "ledger" / "ledger.sqlite").stat().st_size)
    print(f"250 turns: {sizes[0] / 1000:.0f} kB, 500 turns: {sizes[1] / 1000:.0f} kB")
    assert sizes[1] < 2.2 * sizes[0]
    assert [turn.number for turn in ledger.remembered("ann", "c").turns] == list(range(495, 501))
    (found, *_) = ledger.past_turns("ann", "c", "topic7", None, 5)
    assert found.run_id == "r7"


def test_a_turn_tells_how_its_run_ended(ledger: Ledger) -> None:
    """What waits, was rejected or failed has no answer to show."""
    answered(ledger, "r1", "Who pays?", "You do.", "c")
    answered(ledger, "r2", "Who pays?", "Nobody knows.", "c", status="abstained")
    answered(ledger, "r3", "Who pays?", "Wrong.", "c", status="rejected")
    answered(ledger, "r4", "Who pays?", "Broken.", "c", status="failed")
    waits(ledger, "r5", conversation="c")
    begin(ledger, "r6", conversation="c")
    told = [("answered", "You do."), ("abstained", "Nobody knows."), ("rejected", ""), ("failed", "")]
    told += [("awaiting_approval", ""), ("running", "")]
    for to_show in (True, False):
        assert [(turn.status, turn.answer) for turn in ledger.turns("ann", "c", to_show=to_show)] == told
    assert get_args(TurnStatus) == get_args(RunStatus)


def test_people_are_shown_what_went_out_after_a_failed_review(ledger: Ledger) -> None:
    reviewed(ledger, "r1", "failed")
    assert [turn.answer for turn in ledger.turns("ann", "c")] == [""]
    assert [turn.answer for turn in ledger.turns("ann", "c", to_show=True)] == ["14 days, says r1."]
