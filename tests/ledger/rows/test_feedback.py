"""Feedback and its effects: weak points (SPEC C3), no recall (SPEC D4) and no observation (SPEC A12)."""

from pathlib import Path
from typing import Any

import pytest

from tests.ledger.material import answer_run, begin, bytes_of, fail, finish_run, make_answer, make_evidence, suspend_run
from tests.ledger.test_observations import records
from veracity.errors import InputError, NotFoundError
from veracity.ledger import Ledger, Observations, RunRecords
from veracity.ledger.observations import make_observation
from veracity.models import Review

QUESTION, ANSWER = "How long do refunds take?", "Refunds take 14 days."
RARE = "zebrafinch"


def recalled_ids(ledger: Ledger, user: str = "ann") -> list[str]:
    return [turn.run_id for turn in ledger.past_turns(user, None, "refunds", None, 5)]


def weak_ids(ledger: Ledger, user: str = "ann") -> list[tuple[str, str]]:
    return [(point.run_id, point.reason) for point in ledger.weak_points(user, QUESTION)]


def test_one_rating_per_person_is_kept_oldest_first(ledger: Ledger) -> None:
    answer_run(ledger, "r1", QUESTION, ANSWER)
    assert ledger.feedback("r1") == []
    rating = ledger.rate("r1", "down", by="bob", why="  It changed in May.\n")
    assert (rating.run_id, rating.by, rating.thumb, rating.why) == ("r1", "bob", "down", "It changed in May.")
    ledger.rate("r1", "up", by="王芳", why="正しい")
    ledger.rate("r1", "up", by="bob")
    assert [(rating.by, rating.thumb, rating.why) for rating in ledger.feedback("r1")] == [
        ("王芳", "up", "正しい"),
        ("bob", "up", ""),
    ]


@pytest.mark.parametrize(
    ("question", "again", "answer", "topic"),
    [
        (QUESTION, "How long does a refund take?", ANSWER, "refunds"),
        ("上海员工每年有多少天年休假？", "请问上海的员工年休假是多少天？", "上海员工有12天年休假。", "年休假"),
        ("有給休暇は年に何日もらえますか？", "年間の有給休暇は何日ですか？", "有給休暇は年に20日です。", "有給休暇"),
    ],
    ids=["en", "zh", "ja"],
)
def test_a_disliked_answer_is_a_weak_point_and_not_recalled_c3_d4(
    ledger: Ledger, question: str, again: str, answer: str, topic: str
) -> None:
    answer_run(ledger, "r1", question, answer, "c", evidence=[make_evidence()])
    assert [turn.run_id for turn in ledger.past_turns("ann", "c", topic, None, 5)] == ["r1"]
    ledger.rate("r1", "down", by="ann")
    (weak_point,) = ledger.weak_points("ann", again)
    assert (weak_point.run_id, weak_point.reason, weak_point.passage_ids) == ("r1", "disliked", ("p1",))
    assert ledger.past_turns("ann", "c", topic, None, 5) == ledger.past_turns("ann", None, topic, None, 5) == []
    ledger.rate("r1", "up", by="ann")
    assert ledger.weak_points("ann", again) == []
    assert [turn.run_id for turn in ledger.past_turns("ann", "c", topic, None, 5)] == ["r1"]


def test_the_weak_point_belongs_to_the_user_who_asked(ledger: Ledger) -> None:
    answer_run(ledger, "r1", QUESTION, ANSWER)
    ledger.rate("r1", "down", by="bob")
    assert (weak_ids(ledger, "ann"), weak_ids(ledger, "bob")) == ([("r1", "disliked")], [])


def test_a_dislike_lasts_until_all_are_taken_back(ledger: Ledger) -> None:
    answer_run(ledger, "r1", QUESTION, ANSWER)
    ledger.rate("r1", "down", by="bob")
    ledger.rate("r1", "up", by="ann")
    assert (weak_ids(ledger), recalled_ids(ledger)) == ([("r1", "disliked")], [])
    ledger.rate("r1", "down", by="carl")
    ledger.rate("r1", "up", by="bob")
    assert (weak_ids(ledger), recalled_ids(ledger)) == ([("r1", "disliked")], [])  # carl still dislikes it
    ledger.rate("r1", "up", by="carl")
    assert (weak_ids(ledger), recalled_ids(ledger)) == ([], ["r1"])


def test_an_earlier_weak_point_keeps_its_reason(ledger: Ledger) -> None:
    answer_run(ledger, "r1", QUESTION, ANSWER, weak_point="low_score")
    for thumb in ("down", "down", "up"):
        ledger.rate("r1", thumb, by="ann")
        assert weak_ids(ledger) == [("r1", "low_score")]
    assert recalled_ids(ledger) == ["r1"]


def test_abstentions_can_be_disliked_and_rejected_answers_stay_rejected(ledger: Ledger) -> None:
    answer_run(ledger, "abstained", QUESTION, "It is not in the documents.", status="abstained")
    answer_run(ledger, "rejected", QUESTION, ANSWER, status="rejected", weak_point="rejected")
    for run_id in ("abstained", "rejected"):
        ledger.rate(run_id, "down", by="ann")
    assert weak_ids(ledger) == [("abstained", "disliked"), ("rejected", "rejected")]
    for run_id in ("abstained", "rejected"):
        ledger.rate(run_id, "up", by="ann")
    assert weak_ids(ledger) == [("rejected", "rejected")]
    assert recalled_ids(ledger) == ["abstained"]


def test_disliked_answers_are_hidden_from_models_only(ledger: Ledger) -> None:
    for number in (1, 2, 3):
        answer_run(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.keep_summary("ann", "c", "Answers 1 and 2.", 2)
    ledger.rate("r1", "down", by="ann")
    memory = ledger.remembered("ann", "c")
    assert (memory.summary, [turn.answer for turn in memory.turns]) == ("", ["", "Answer 2.", "Answer 3."])
    assert [turn.answer for turn in ledger.turns("ann", "c")] == ["", "Answer 2.", "Answer 3."]
    shown = ledger.turns("ann", "c", for_display=True)
    assert [turn.answer for turn in shown] == ["Answer 1.", "Answer 2.", "Answer 3."]
    ledger.rate("r1", "up", by="ann")
    assert ledger.remembered("ann", "c").turns[0].answer == "Answer 1."


def test_a_repeated_rating_keeps_the_summary(ledger: Ledger) -> None:
    for number in (1, 2):
        answer_run(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.rate("r1", "down", by="ann")
    ledger.keep_summary("ann", "c", "Question 1 had no good answer.", 1)
    ledger.rate("r1", "down", by="ann", why="Still wrong.")
    ledger.rate("r1", "down", by="bob")
    ledger.rate("r2", "up", by="bob")
    assert ledger.remembered("ann", "c").summary == "Question 1 had no good answer."


@pytest.mark.parametrize("delivered", [True, False])
def test_a_disliked_answer_is_removed_from_the_observations_a12(
    ledger: Ledger, observations: Observations, tmp_path: Path, delivered: bool
) -> None:
    """The file has the record once or not at all, with or without deliveries in between."""

    def delivered_outputs() -> list[object]:
        ledger.deliver(observations)
        return [record["output"] for record in records(tmp_path / "observational_data.json")]

    token = begin(ledger, "r1")
    review = Review(passed=True, outcome="passed", reviewer="local")
    answer = make_answer("r1", [make_evidence()], "二十日です。").model_copy(update={"review": review})
    record = make_observation(answer, {})
    ledger.finish(answer, RunRecords(observation=record), token=token)
    assert delivered_outputs() == ["二十日です。"]
    for by in ("bob", "carl"):
        ledger.rate("r1", "down", by=by)
    if delivered:
        assert delivered_outputs() == []
    ledger.rate("r1", "up", by="bob")
    if delivered:
        assert delivered_outputs() == []  # carl still dislikes it
    ledger.rate("r1", "up", by="carl")
    assert delivered_outputs() == delivered_outputs() == ["二十日です。"]
    ledger.rate("r1", "down", by="carl")
    assert delivered_outputs() == []
    ledger.keep_evidence("r1", [make_evidence("p9", "d9")], given=False)
    ledger.forget_documents(["d9"], observations)
    ledger.rate("r1", "up", by="carl")
    assert delivered_outputs() == []  # a run that read a forgotten document stays out


def test_a_run_without_an_answer_cannot_be_rated(ledger: Ledger) -> None:
    begin(ledger, "running")
    suspend_run(ledger, "pending")
    token = begin(ledger, "failed")
    fail(ledger, "failed", token=token)
    answer_run(ledger, "forgotten", QUESTION, ANSWER, evidence=[make_evidence(document="d9")])
    ledger.forget_documents(["d9"])
    reasons = {
        "running": "is still running",
        "pending": "awaits approval",
        "failed": "has no answer",
        "forgotten": "was forgotten",
    }
    for run_id, reason in reasons.items():
        with pytest.raises(InputError, match=reason):
            ledger.rate(run_id, "down", by="ann")
        assert ledger.feedback(run_id) == []
    with pytest.raises(NotFoundError, match='There is no run "unknown"'):
        ledger.rate("unknown", "down", by="ann")
    assert weak_ids(ledger) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"thumb": "sideways"}, 'The rating must be "up" or "down", not "sideways".'),
        ({"thumb": None}, 'The rating must be "up" or "down"'),
        ({"why": "x" * 2001}, "The reason has 2,001 characters: shorten it to 2,000."),
        ({"by": "a\nb"}, "The name of the person who rates must have"),
    ],
)
def test_invalid_ratings_are_refused(ledger: Ledger, arguments: dict[str, Any], message: str) -> None:
    finish_run(ledger, "r1")
    with pytest.raises(InputError) as refused:
        ledger.rate("r1", **{"thumb": "down", "by": "ann", **arguments})
    assert message in str(refused.value)
    assert ledger.feedback("r1") == []
    ledger.rate("r1", "up", by="ann", why="x" * 2000)
    assert len(ledger.feedback("r1")[0].why) == 2000


def test_reasons_are_erased_with_the_document_x3(ledger: Ledger, tmp_path: Path) -> None:
    secret, other = make_evidence("p1", "d1", f"{RARE} text"), make_evidence("p2", "d2")
    answer_run(ledger, "r1", QUESTION, ANSWER, evidence=[secret])
    ledger.rate("r1", "down", by="bob", why=f"It says {RARE}.")
    token = begin(ledger, "r2", QUESTION)  # retrieves d1, and its writer gets d2
    ledger.keep_evidence("r2", [secret], given=False)
    ledger.keep_evidence("r2", [other], given=True)
    ledger.finish(make_answer("r2", [other]), token=token)
    ledger.rate("r2", "up", by="bob", why="Good.")
    ledger.forget_documents(["d1"])
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    assert [(rating.by, rating.thumb, rating.why) for rating in ledger.feedback("r1")] == [("bob", "down", "")]
    assert [rating.why for rating in ledger.feedback("r2")] == ["Good."]


def test_feedback_is_erased_with_the_conversation_x3(ledger: Ledger, tmp_path: Path) -> None:
    answer_run(ledger, "r1", QUESTION, ANSWER, "c")
    answer_run(ledger, "r2", QUESTION, ANSWER, "another")
    for run_id in ("r1", "r2"):
        ledger.rate(run_id, "down", by="bob", why=RARE if run_id == "r1" else "Old.")
    ledger.forget_conversation("ann", "c")
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    assert ledger.feedback("r1") == []
    assert [rating.why for rating in ledger.feedback("r2")] == ["Old."]
    assert weak_ids(ledger) == [("r2", "disliked")]
