"""Conversations: turns, summaries and search, separate for each user (SPEC D2)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest

from tests.ledger.material import (
    answer_run,
    begin,
    finish,
    finish_run,
    make_answer,
    make_draft,
    make_evidence,
    suspend_run,
)
from veracity.errors import InputError, NotFoundError
from veracity.ledger import Ledger, RunRecords
from veracity.models import AnswerSentence, Decision, Examination, Review, ReviewOutcome, RunStatus, Verdict
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


def test_reusable_answers_are_remembered(ledger: Ledger) -> None:
    answer_run(ledger, "r1", "How long do refunds take?", "14 days.", "c")
    answer_run(ledger, "r2", "Who pays?", "Nobody knows.", "c", status="abstained")
    answer_run(ledger, "r3", "And in Osaka?", "Wrong.", "c", status="rejected")
    answer_run(ledger, "r4", "まだですか？", "壊れた", "c", status="failed")
    suspend_run(ledger, "r5", conversation="c")
    begin(ledger, "r6", conversation="c")
    begin(ledger, "r7", conversation="c")
    memory = ledger.remembered("ann", "c", "r7")
    assert (memory.summary, memory.folded) == ("", 0)
    assert [(turn.number, turn.answer) for turn in memory.turns] == [
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


def answer_with_review(ledger: Ledger, run_id: str, outcome: ReviewOutcome | None, *verdicts: Verdict) -> None:
    """Answer a question with this review outcome and these decisions."""
    token = begin(ledger, run_id, "How long do refunds take?", conversation="c")
    review = None if outcome is None else Review(passed=False, outcome=outcome)
    decisions = [
        Decision(verdict=verdict, by="bob", at=datetime.now(UTC), attempt=attempt)
        for attempt, verdict in enumerate(verdicts, 1)
    ]
    answer = make_answer(run_id, [], f"14 days, says {run_id}.")
    answer = answer.model_copy(update={"review": review, "decisions": decisions})
    ledger.finish(answer, RunRecords(recallable=True), token=token)


def test_an_answer_that_failed_its_review_is_not_reused_d4(ledger: Ledger) -> None:
    answer_with_review(ledger, "r1", "failed")
    answer_with_review(ledger, "r2", "not_reviewed")
    answer_with_review(ledger, "r3", "failed", "approve")
    answer_with_review(ledger, "r4", "not_reviewed", "reject", "approve")
    answer_with_review(ledger, "r5", "failed", "reject")  # the answer from the web was not approved
    answer_with_review(ledger, "r6", "doubtful")
    answer_with_review(ledger, "r7", "passed")
    answer_with_review(ledger, "r8", None)  # small talk
    reusable = ["r3", "r4", "r6", "r7", "r8"]
    for turns in (ledger.turns("ann", "c"), ledger.remembered("ann", "c").turns):
        assert len(turns) == 8
        assert [turn.run_id for turn in turns if turn.answer] == reusable
    assert {turn.run_id for turn in ledger.past_turns("ann", "c", "refunds", None, 9)} == set(reusable)


def test_a_turn_that_ends_after_the_summary_empties_it_d2(ledger: Ledger) -> None:
    suspend_run(ledger, "r1", conversation="c")
    suspend_run(ledger, "r2", conversation="c")
    for number in range(3, 8):
        answer_run(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.keep_summary("ann", "c", "Nothing was answered.", 1)
    begin(ledger, "r8", conversation="c")  # it has read the summary
    for run_id, summary, folded in (("r2", "Nothing was answered.", 1), ("r1", "", 0)):
        ledger.decide(run_id, "approve", by="bob")
        token = ledger.acquire_lease(run_id)
        assert token is not None
        ledger.finish(make_draft(run_id), token=token)
        memory = ledger.remembered("ann", "c")
        assert (memory.summary, memory.folded) == (summary, folded)
    assert [turn.answer for turn in ledger.remembered("ann", "c").turns][:3] == ["24 days [1]."] * 2 + ["Answer 3."]
    ledger.keep_summary("ann", "c", "Nothing was answered, and more.", 5)
    assert ledger.remembered("ann", "c").summary == ""
    finish(ledger, "r8", 1)
    ledger.keep_summary("ann", "c", "24 days.", 5)
    assert ledger.remembered("ann", "c").summary == "24 days."


def test_a_summary_replaces_older_turns(ledger: Ledger) -> None:
    for number in range(1, 8):
        answer_run(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.keep_summary("ann", "c", "最初の三つ", 3)
    memory = ledger.remembered("ann", "c", "r7")
    assert (memory.summary, memory.folded, [turn.number for turn in memory.turns]) == ("最初の三つ", 3, [4, 5, 6])
    assert len(ledger.turns("ann", "c")) == 7  # all turns stay stored


def test_a_shorter_summary_is_ignored(ledger: Ledger) -> None:
    for number in range(1, 8):
        answer_run(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.keep_summary("ann", "c", "four", 4)
    for folded in (0, 3, 4, 8, 1000):  # the last two cover turns that do not exist
        ledger.keep_summary("ann", "c", "wrong", folded)
    ledger.keep_summary("bob", "c", "wrong", 5)
    ledger.keep_summary("ann", "unknown", "wrong", 5)
    assert (ledger.remembered("ann", "c").summary, ledger.remembered("ann", "c").folded) == ("four", 4)
    assert ledger.remembered("bob", "c").summary == ledger.remembered("ann", "unknown").summary == ""
    ledger.keep_summary("ann", "c", "five", 5)
    assert ledger.remembered("ann", "c").summary == "five"


def test_conversations_are_listed_newest_first(ledger: Ledger) -> None:
    for number, conversation in enumerate(("a", "b", "a", "", "休暇")):
        finish_run(ledger, f"single{number}", user="bob")
        begin(ledger, f"r{number}", f"Question {number}?", conversation=conversation)
    listed = ledger.conversations("ann")
    assert [(summary.conversation, summary.title, summary.turns, summary.user) for summary in listed] == [
        ("休暇", "Question 4?", 1, "ann"),
        ("a", "Question 0?", 2, "ann"),
        ("b", "Question 1?", 1, "ann"),
    ]
    assert listed[1].started == ledger.summary("r0").started
    assert listed[1].last == ledger.summary("r2").started
    assert [summary.conversation for summary in ledger.conversations("ann", limit=1)] == ["休暇"]
    assert ledger.conversations("bob") == []


def test_the_newest_turns_are_listed_in_order(ledger: Ledger) -> None:
    for number in range(60):
        begin(ledger, f"r{number}", conversation="c")
    assert [turn.number for turn in ledger.turns("ann", "c")] == list(range(11, 61))
    assert [turn.number for turn in ledger.turns("ann", "c", limit=2)] == [59, 60]
    assert ledger.turns("ann", "unknown") == []


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_stored_literally(ledger: Ledger, name: str) -> None:
    answer_run(ledger, "other", "How long do refunds take?", "Other.", "other", user="other")
    answer_run(ledger, "r1", "How long do refunds take?", "14 days.", name, user=name)
    ledger.keep_summary(name, name, name, 1)
    assert ledger.remembered(name, name).summary == name
    assert [turn.run_id for turn in ledger.turns(name, name)] == ["r1"]
    assert [summary.conversation for summary in ledger.conversations(name)] == [name]
    assert [turn.run_id for turn in ledger.past_turns(name, name, "refunds", None, 5)] == ["r1"]
    assert [turn.run_id for turn in ledger.past_turns(name, None, "refunds", None, 5)] == ["r1"]
    assert ledger.turns("other", name) == ledger.turns(name, "other") == []
    assert ledger.forget_conversation(name, name) == 1
    assert [turn.answer for turn in ledger.turns("other", "other")] == ["Other."]


@pytest.mark.parametrize("name", ["a\0b", "half \ud83d", "x" * 501, "", "a\nb", "\x1b[31m", "a\u2029b"])
def test_an_invalid_name_is_refused(ledger: Ledger, name: str) -> None:
    for call in (
        lambda: ledger.remembered("ann", name),
        lambda: ledger.keep_summary("ann", name, "s", 1),
        lambda: ledger.turns("ann", name),
        lambda: ledger.past_turns("ann", name, "refunds", None, 5),
        lambda: ledger.forget_conversation("ann", name),
    ):
        with pytest.raises(InputError, match="The name of a conversation must have"):
            call()
    if name:
        with pytest.raises(InputError, match="The name of a conversation must have"):
            begin(ledger, "r1", conversation=name)
        with pytest.raises(InputError, match="The name of a user must have"):
            ledger.conversations(name)
    assert ledger.runs() == []


@pytest.mark.only_sqlite
def test_storage_grows_linearly_with_the_turns(ledger: Ledger, tmp_path: Path) -> None:
    """DESIGN 1: with whole conversations in checkpoints it grew quadratically."""
    sizes = []
    for number in range(1, 501):
        text = f"Answer {number} is that of topic{number}, which takes {number} days. " * 5
        token = begin(ledger, f"r{number}", f"What about topic{number}?", conversation="c")
        answer = make_answer(f"r{number}", [], text)
        ledger.finish(answer, RunRecords(recallable=True), token=token)
        if number > 10:
            ledger.keep_summary("ann", "c", "s" * 2000, number - 6)
        if number in (250, 500):
            ledger._database.scrub()
            sizes.append((tmp_path / "ledger" / "ledger.sqlite").stat().st_size)
    print(f"250 turns: {sizes[0] / 1000:.0f} kB, 500 turns: {sizes[1] / 1000:.0f} kB")
    assert sizes[1] < 2.2 * sizes[0]
    assert [turn.number for turn in ledger.remembered("ann", "c").turns] == list(range(495, 501))
    assert ledger.past_turns("ann", "c", "topic7", None, 5)[0].run_id == "r7"


def test_a_turn_has_the_status_of_its_run(ledger: Ledger) -> None:
    """Pending, rejected and failed runs have no answer to show."""
    answer_run(ledger, "r1", "Who pays?", "You do.", "c")
    answer_run(ledger, "r2", "Who pays?", "Nobody knows.", "c", status="abstained")
    answer_run(ledger, "r3", "Who pays?", "Wrong.", "c", status="rejected")
    answer_run(ledger, "r4", "Who pays?", "Broken.", "c", status="failed")
    suspend_run(ledger, "r5", conversation="c")
    begin(ledger, "r6", conversation="c")
    expected = [("answered", "You do."), ("abstained", "Nobody knows."), ("rejected", ""), ("failed", "")]
    expected += [("awaiting_approval", ""), ("running", "")]
    for for_display in (True, False):
        assert [(turn.status, turn.answer) for turn in ledger.turns("ann", "c", for_display=for_display)] == expected
    assert get_args(TurnStatus) == get_args(RunStatus)


def test_people_see_released_answers_that_failed_their_review(ledger: Ledger) -> None:
    answer_with_review(ledger, "r1", "failed")
    assert [turn.answer for turn in ledger.turns("ann", "c")] == [""]
    assert [turn.answer for turn in ledger.turns("ann", "c", for_display=True)] == ["14 days, says r1."]


def search(ledger: Ledger, query: str, user: str = "ann", limit: int = 20) -> list[str]:
    return [summary.conversation for summary in ledger.conversations(user, limit, query)]


@pytest.fixture
def searchable(ledger: Ledger) -> Ledger:
    answer_run(ledger, "r1", "How long do REFUNDS take?", "Within 14 days, 100% of the price.", "money")
    answer_run(ledger, "r2", "上海员工每年有多少天年休假？", "上海员工有12天年休假。", "假期")
    answer_run(ledger, "r3", "有給休暇は何日ですか？", "正社員は年に２０日、ｶｰﾄﾞは不要です。", "休暇")
    answer_run(ledger, "r4", "Who starts the café's A_B test?", "The café staff.", "coffee")
    answer_run(ledger, "r5", "And the price?", "4 euro.", "money")
    return ledger


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("refunds", ["money"]),
        ("Refund", ["money"]),
        ("refund days", ["money"]),
        ("refund euro", []),  # not in the same turn
        ("price", ["money"]),
        ("art", []),  # not the middle of "starts"
        ("start", ["coffee"]),
        ("CAFÉ", ["coffee"]),
        ("年休假", ["假期"]),
        ("休假 上海", ["假期"]),
        ("休", ["休暇", "假期"]),
        ("有給", ["休暇"]),
        ("20日", ["休暇"]),
        ("カード", ["休暇"]),
        ("正社員\u3000２０", ["休暇"]),
        ("100%", ["money"]),
        ("%", ["money"]),
        ("_", ["coffee"]),
        ("A_B", ["coffee"]),
        ("AxB", []),
        ("\\", []),
        ("[a-z]+", []),
        ("' OR 1=1", []),
        ("half \ud83d", []),
        ("nothing of the kind", []),
        (" ", ["money", "coffee", "休暇", "假期"]),
    ],
)
def test_conversations_are_found_by_words(searchable: Ledger, query: str, expected: list[str]) -> None:
    assert search(searchable, query) == expected


def test_matching_conversations_are_listed_newest_first(searchable: Ledger) -> None:
    answer_run(searchable, "r6", "Refunds again?", "No.", "later")
    begin(searchable, "r7", "And now?", conversation="money")
    assert search(searchable, "refunds") == ["money", "later"]
    assert search(searchable, "refunds", limit=1) == ["money"]
    (newest, _) = searchable.conversations("ann", 5, "refunds")
    assert (newest.title, newest.turns) == ("How long do REFUNDS take?", 3)


def test_other_users_conversations_are_not_found(searchable: Ledger) -> None:
    assert (
        search(searchable, "refunds", "bob")
        == search(searchable, "refunds", "")
        == search(searchable, "refunds", "%")
        == []
    )


def test_unreleased_answers_are_not_searched(ledger: Ledger) -> None:
    answer_run(ledger, "rejected", "Who pays?", "The secret one.", "rejected", status="rejected")
    answer_run(ledger, "failed", "Who pays?", "The secret one.", "failed", status="failed")
    suspend_run(ledger, "pending", "The secret one.", conversation="pending")
    evidence = [make_evidence(document="d9", text="The secret one.")]
    answer_run(ledger, "forgotten", "Who pays?", "The secret one.", "forgotten", evidence=evidence)
    answer_run(ledger, "single", "Who pays?", "The secret one.")
    ledger.forget_documents(["d9"])
    assert search(ledger, "secret") == []
    assert search(ledger, "pays") == ["forgotten", "failed", "rejected"]
    assert search(ledger, "days") == ["pending"]


def test_forgotten_conversations_are_not_found(searchable: Ledger) -> None:
    searchable.forget_conversation("ann", "money")
    assert search(searchable, "refunds") == []


def test_a_conversation_is_found_among_many(ledger: Ledger) -> None:
    for number in range(200):
        answer_run(ledger, f"r{number}", f"Question {number}?", "Refunds take 14 days. " * 50, f"c{number // 5}")
    assert search(ledger, "question 77") == ["c15"]


def test_a_conversation_has_a_title_and_a_pin(ledger: Ledger) -> None:
    for number, conversation in enumerate("abcd"):
        answer_run(ledger, f"r{number}", f"Question {number}?", "Yes.", conversation)
    answer_run(ledger, "r9", "Hers?", "Yes.", "a", user="bob")
    assert ledger.describe_conversation("ann", "b", title="  Refunds ", pinned=True).title == "Refunds"
    listed = ledger.conversations("ann")
    assert [(one.conversation, one.title, one.pinned) for one in listed] == [
        ("b", "Refunds", True),
        ("d", "Question 3?", False),
        ("c", "Question 2?", False),
        ("a", "Question 0?", False),
    ]
    assert [(one.title, one.pinned) for one in ledger.conversations("bob")] == [("Hers?", False)]
    assert ledger.describe_conversation("ann", "b", title="") == ledger.conversation("ann", "b")
    assert ledger.conversation("ann", "b").title == "Question 1?"
    assert ledger.describe_conversation("ann", "b", pinned=False).pinned is False
    assert [one.conversation for one in ledger.conversations("ann")] == ["d", "c", "b", "a"]


def test_pages_go_on_after_pinned_conversations(ledger: Ledger) -> None:
    for number, conversation in enumerate("abcdef"):
        answer_run(ledger, f"r{number}", "Why?", "Because.", conversation)
    for pinned in "be":
        ledger.describe_conversation("ann", pinned, pinned=True)
    everything = [one.conversation for one in ledger.conversations("ann")]
    assert everything == ["e", "b", "f", "d", "c", "a"]
    paged = [one.conversation for last in ("", "b", "d") for one in ledger.conversations("ann", 2, after=last)]
    assert paged == everything
    assert ledger.conversations("ann", after="unknown") == []


def test_titles_are_searched_and_forgotten(ledger: Ledger) -> None:
    answer_run(ledger, "r1", "Who pays?", "Nobody.", "c")
    ledger.describe_conversation("ann", "c", title="退款 Refunds", pinned=True)
    assert [one.conversation for one in ledger.conversations("ann", query="refund")] == ["c"]
    assert ledger.conversations("bob", query="refund") == []
    ledger.forget_conversation("ann", "c")
    answer_run(ledger, "r2", "Who pays?", "Nobody.", "c")
    assert [(one.title, one.pinned) for one in ledger.conversations("ann")] == [("Who pays?", False)]


def test_an_unknown_conversation_or_a_bad_title_is_refused(ledger: Ledger) -> None:
    answer_run(ledger, "r1", "Who pays?", "Nobody.", "c")
    for user, conversation in (("bob", "c"), ("ann", "d")):
        with pytest.raises(NotFoundError, match="There is no conversation"):
            ledger.describe_conversation(user, conversation, title="Mine")
    for title in ("two\nlines", "x" * 501):
        with pytest.raises(InputError, match="name of a conversation"):
            ledger.describe_conversation("ann", "c", title=title)


def test_a_summary_is_about_the_turn_that_waits_else_the_last_one(ledger: Ledger) -> None:
    answer_run(ledger, "r1", "How long do refunds take?", "14 days.", "c")
    [summary] = ledger.conversations("ann")
    assert summary.status == "answered"
    assert summary.examined is not None
    assert (summary.examined.status, summary.examined.form) == ("answered", "written")
    suspend_run(ledger, "r2", conversation="c")
    answer_run(ledger, "r3", "Who pays?", "Nobody knows.", "c", status="abstained")
    begin(ledger, "r4", conversation="other")
    running, waiting = ledger.conversations("ann")
    assert (running.status, running.examined) == ("running", None)
    assert (waiting.status, waiting.turns, waiting.examined) == ("awaiting_approval", 3, None)


def test_an_examination_is_what_the_verdict_rests_on(ledger: Ledger) -> None:
    sentence = AnswerSentence(text="14 days.", states=True, supported=False, support=0)
    approval = Decision(verdict="approve", by="anna", at=datetime.now(UTC))
    review = Review(passed=True, outcome="passed", reviewer="test:reviewer")
    stored = make_answer("r1", [], "14 days.").model_copy(
        update={"sentences": [sentence], "score": 0.5, "decisions": [approval], "review": review}
    )
    ledger.finish(stored, RunRecords(), token=begin(ledger, "r1", conversation="c"))
    [conversation], [run] = ledger.conversations("ann"), ledger.runs(user="ann")
    assert conversation.examined == run.examined == Examination.model_validate(stored.model_dump())
    assert run.examined is not None
    assert not run.examined.sentences[0].supported
    assert run.examined.decisions[0].by == "anna"
