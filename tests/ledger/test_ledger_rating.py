"""What people say of answers, and what follows from it: weak points (SPEC C3), and what is not recalled (SPEC D4)."""

from pathlib import Path
from typing import Any

import pytest

from tests.ledger.material import USED, answered, begin, bytes_of, make_answer, make_evidence, ran, waits
from tests.ledger.test_observations import records
from veracity.errors import InputError, NotFoundError
from veracity.ledger import Ledger, Observations
from veracity.ledger.observations import observation
from veracity.models import Review

QUESTION, ANSWER = "How long do refunds take?", "Refunds take 14 days."
RARE = "zebrafinch"


def recalled(ledger: Ledger, user: str = "ann") -> list[str]:
    return [turn.run_id for turn in ledger.past_turns(user, None, "refunds", None, 5)]


def weak(ledger: Ledger, user: str = "ann") -> list[tuple[str, str]]:
    return [(point.run_id, point.reason) for point in ledger.weak_points(user, QUESTION)]


def test_one_word_of_each_person_is_kept_the_latest_last(ledger: Ledger) -> None:
    answered(ledger, "r1", QUESTION, ANSWER)
    assert ledger.feedback("r1") == []
    given = ledger.rate("r1", "down", by="bob", why="  It changed in May.\n")
    assert (given.run_id, given.by, given.thumb, given.why) == ("r1", "bob", "down", "It changed in May.")
    ledger.rate("r1", "up", by="王芳", why="正しい")
    ledger.rate("r1", "up", by="bob")
    assert [(one.by, one.thumb, one.why) for one in ledger.feedback("r1")] == [
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
    answered(ledger, "r1", question, answer, "c", evidence=[make_evidence()])
    assert [turn.run_id for turn in ledger.past_turns("ann", "c", topic, None, 5)] == ["r1"]
    ledger.rate("r1", "down", by="ann")
    (found,) = ledger.weak_points("ann", again)
    assert (found.run_id, found.reason, found.passage_ids) == ("r1", "disliked", ("p1",))
    assert ledger.past_turns("ann", "c", topic, None, 5) == ledger.past_turns("ann", None, topic, None, 5) == []
    ledger.rate("r1", "up", by="ann")
    assert ledger.weak_points("ann", again) == []
    assert [turn.run_id for turn in ledger.past_turns("ann", "c", topic, None, 5)] == ["r1"]


def test_it_is_a_weak_point_of_whoever_asked(ledger: Ledger) -> None:
    answered(ledger, "r1", QUESTION, ANSWER)
    ledger.rate("r1", "down", by="bob")
    assert (weak(ledger, "ann"), weak(ledger, "bob")) == ([("r1", "disliked")], [])


def test_only_who_turned_it_down_turns_it_up_again(ledger: Ledger) -> None:
    answered(ledger, "r1", QUESTION, ANSWER)
    ledger.rate("r1", "down", by="bob")
    ledger.rate("r1", "up", by="ann")
    assert (weak(ledger), recalled(ledger)) == ([("r1", "disliked")], [])
    ledger.rate("r1", "down", by="carl")
    ledger.rate("r1", "up", by="bob")
    assert (weak(ledger), recalled(ledger)) == ([("r1", "disliked")], [])  # carl still dislikes it
    ledger.rate("r1", "up", by="carl")
    assert (weak(ledger), recalled(ledger)) == ([], ["r1"])


def test_what_was_a_weak_point_before_stays_one(ledger: Ledger) -> None:
    answered(ledger, "r1", QUESTION, ANSWER, weak_point="low_score")
    for thumb in ("down", "down", "up"):
        ledger.rate("r1", thumb, by="ann")
        assert weak(ledger) == [("r1", "low_score")]
    assert recalled(ledger) == ["r1"]


def test_an_abstention_can_be_disliked_and_a_rejected_answer_stays_rejected(ledger: Ledger) -> None:
    answered(ledger, "abstained", QUESTION, "It is not in the documents.", status="abstained")
    answered(ledger, "rejected", QUESTION, ANSWER, status="rejected", weak_point="rejected")
    for run_id in ("abstained", "rejected"):
        ledger.rate(run_id, "down", by="ann")
    assert weak(ledger) == [("abstained", "disliked"), ("rejected", "rejected")]
    for run_id in ("abstained", "rejected"):
        ledger.rate(run_id, "up", by="ann")
    assert weak(ledger) == [("rejected", "rejected")]
    assert recalled(ledger) == ["abstained"]


def test_models_are_not_shown_what_somebody_dislikes_and_people_are(ledger: Ledger) -> None:
    for number in (1, 2, 3):
        answered(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.keep_summary("ann", "c", "Answers 1 and 2.", 2)
    ledger.rate("r1", "down", by="ann")
    kept = ledger.remembered("ann", "c")
    assert (kept.summary, [turn.answer for turn in kept.turns]) == ("", ["", "Answer 2.", "Answer 3."])
    assert [turn.answer for turn in ledger.turns("ann", "c")] == ["", "Answer 2.", "Answer 3."]
    shown = ledger.turns("ann", "c", to_show=True)
    assert [turn.answer for turn in shown] == ["Answer 1.", "Answer 2.", "Answer 3."]
    ledger.rate("r1", "up", by="ann")
    assert ledger.remembered("ann", "c").turns[0].answer == "Answer 1."


def test_a_second_word_in_the_same_direction_leaves_the_summary(ledger: Ledger) -> None:
    for number in (1, 2):
        answered(ledger, f"r{number}", f"Question {number}?", f"Answer {number}.", "c")
    ledger.rate("r1", "down", by="ann")
    ledger.keep_summary("ann", "c", "Question 1 had no good answer.", 1)
    ledger.rate("r1", "down", by="ann", why="Still wrong.")
    ledger.rate("r1", "down", by="bob")
    ledger.rate("r2", "up", by="bob")
    assert ledger.remembered("ann", "c").summary == "Question 1 had no good answer."


@pytest.mark.parametrize("delivered", [True, False])
def test_what_somebody_dislikes_is_no_observation_a12(
    ledger: Ledger, observations: Observations, tmp_path: Path, delivered: bool
) -> None:
    """Whether or not the file was brought up to date in between, it holds the record once or not at all."""

    def kept() -> list[object]:
        ledger.deliver(observations)
        return [record["output"] for record in records(tmp_path / "observational_data.json")]

    token = begin(ledger, "r1")
    review = Review(passed=True, outcome="passed", reviewer="local")
    answer = make_answer("r1", [make_evidence()], "二十日です。").model_copy(update={"review": review})
    record = observation(answer, {})
    ledger.finish("r1", "answered", token=token, answer=answer, usage=USED, seconds=1.0, observation=record)
    assert kept() == ["二十日です。"]
    for by in ("bob", "carl"):
        ledger.rate("r1", "down", by=by)
    if delivered:
        assert kept() == []
    ledger.rate("r1", "up", by="bob")
    if delivered:
        assert kept() == []  # carl still dislikes it
    ledger.rate("r1", "up", by="carl")
    assert kept() == kept() == ["二十日です。"]
    ledger.rate("r1", "down", by="carl")
    assert kept() == []
    ledger.keep_evidence("r1", [make_evidence("p9", "d9")], given=False)
    ledger.forget_documents(["d9"], observations)
    ledger.rate("r1", "up", by="carl")
    assert kept() == []  # what read something forgotten stays out of it


def test_what_has_no_answer_cannot_be_rated(ledger: Ledger) -> None:
    begin(ledger, "running")
    waits(ledger, "waiting")
    token = begin(ledger, "failed")
    ledger.finish("failed", "failed", token=token, answer=None, usage=USED, seconds=1.0)
    answered(ledger, "forgotten", QUESTION, ANSWER, evidence=[make_evidence(document="d9")])
    ledger.forget_documents(["d9"])
    told = {
        "running": "is still under way",
        "waiting": "still waits for a person",
        "failed": "has no answer",
        "forgotten": "was forgotten",
    }
    for run_id, why in told.items():
        with pytest.raises(InputError, match=why):
            ledger.rate(run_id, "down", by="ann")
        assert ledger.feedback(run_id) == []
    with pytest.raises(NotFoundError, match='There is no run "nothing"'):
        ledger.rate("nothing", "down", by="ann")
    assert weak(ledger) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"thumb": "sideways"}, 'An answer is rated "up" or "down", not "sideways".'),
        ({"thumb": None}, 'An answer is rated "up" or "down"'),
        ({"why": "x" * 2001}, "The reason has 2,001 characters: at most 2,000 are kept."),
        ({"by": "a\nb"}, "Whoever rates has a name"),
    ],
)
def test_bad_input_is_one_sentence(ledger: Ledger, given: dict[str, Any], told: str) -> None:
    ran(ledger, "r1")
    with pytest.raises(InputError) as refused:
        ledger.rate("r1", **{"thumb": "down", "by": "ann", **given})
    assert told in str(refused.value)
    assert ledger.feedback("r1") == []
    ledger.rate("r1", "up", by="ann", why="x" * 2000)
    assert len(ledger.feedback("r1")[0].why) == 2000


def test_why_goes_with_the_document_x3(ledger: Ledger, tmp_path: Path) -> None:
    given, found = make_evidence("p1", "d1", f"{RARE} text"), make_evidence("p2", "d2")
    answered(ledger, "r1", QUESTION, ANSWER, evidence=[given])
    ledger.rate("r1", "down", by="bob", why=f"It says {RARE}.")
    token = begin(ledger, "r2", QUESTION)  # it found d1, and its writer had d2
    ledger.keep_evidence("r2", [given], given=False)
    ledger.keep_evidence("r2", [found], given=True)
    ledger.finish("r2", "answered", token=token, answer=make_answer("r2", [found]), usage=USED, seconds=1.0)
    ledger.rate("r2", "up", by="bob", why="Good.")
    ledger.forget_documents(["d1"])
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    assert [(one.by, one.thumb, one.why) for one in ledger.feedback("r1")] == [("bob", "down", "")]
    assert [one.why for one in ledger.feedback("r2")] == ["Good."]


def test_all_of_it_goes_with_the_conversation_x3(ledger: Ledger, tmp_path: Path) -> None:
    answered(ledger, "r1", QUESTION, ANSWER, "c")
    answered(ledger, "r2", QUESTION, ANSWER, "another")
    for run_id in ("r1", "r2"):
        ledger.rate(run_id, "down", by="bob", why=RARE if run_id == "r1" else "Old.")
    ledger.forget_conversation("ann", "c")
    assert bytes_of(tmp_path).count(RARE.encode()) == 0
    assert ledger.feedback("r1") == []
    assert [one.why for one in ledger.feedback("r2")] == ["Old."]
    assert weak(ledger) == [("r2", "disliked")]
