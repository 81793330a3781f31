"""Weak points are found by the words of a question, for the user whose they are, among any number of runs (SPEC C3)."""

import time

import pytest
from sqlalchemy import insert, text

from tests.ledger.material import USED, begin, make_answer, make_evidence, ran
from veracity.ledger import Ledger
from veracity.ledger.ledger import WeakReason
from veracity.ledger.rows import weak_points as weak_points_rows
from veracity.ledger.rows.weak_points import Likeness, terms
from veracity.ledger.tables import runs, weak_points, weak_terms


@pytest.mark.parametrize(
    ("failed", "asked", "other"),
    [
        ("How many days of annual leave do I get?", "How much annual leave do I get?", "Who approves annual leave?"),
        ("上海员工每年有多少天年休假？", "请问上海的员工年休假是多少天？", "上海员工年休假由谁审批？"),
        ("有給休暇は年に何日もらえますか？", "年間の有給休暇は何日ですか？", "育児休暇は何日もらえますか？"),
    ],
    ids=["en", "zh", "ja"],
)
def test_a_weak_point_is_found_when_the_question_comes_again(
    ledger: Ledger, failed: str, asked: str, other: str
) -> None:
    begin(ledger, "r1", failed)
    ledger.keep_evidence("r1", [make_evidence("p2")], given=False)
    ledger.keep_evidence("r1", [make_evidence("p3"), make_evidence("p1")], given=True)
    answer = make_answer("r1", [], "what failed")
    ledger.finish("r1", "answered", token=1, answer=answer, usage=USED, seconds=1.0, weak_point="failed_review")
    (found,) = ledger.weak_points("ann", asked)
    assert (found.question, found.reason, found.run_id, found.passage_ids) == (
        failed,
        "failed_review",
        "r1",
        ("p3", "p1", "p2"),
    )
    assert 0.5 <= found.similarity <= ledger.weak_points("ann", failed)[0].similarity == 1
    assert "what failed" not in repr(found)
    assert ledger.weak_points("ann", other) == []


def test_a_run_that_went_well_is_no_weak_point(ledger: Ledger) -> None:
    ran(ledger, "r1")
    assert ledger.weak_points("ann", "How many days?") == []


def test_one_user_never_finds_those_of_another(ledger: Ledger) -> None:
    for user in ("ann", "Ann", "ann ", "%", "", "' OR user_name = 'ann"):
        assert ledger.weak_points(user, "How many days?") == []
        ran(ledger, f"of {user}", user=user, weak_point="rejected")
        assert [point.run_id for point in ledger.weak_points(user, "How many days?")] == [f"of {user}"]


def test_the_most_similar_come_first_then_the_newest(ledger: Ledger) -> None:
    asked = "annual leave days Dublin office"
    reasons: list[WeakReason] = ["failed_review", "low_score", "rejected"]
    questions = [asked, "annual leave days Dublin", asked, "annual leave Dublin", "parking in Dublin"]
    for number, question in enumerate(questions):
        ran(ledger, f"r{number}", question, weak_point=reasons[number % 3])
    found = ledger.weak_points("ann", asked)
    assert [point.run_id for point in found] == ["r2", "r0", "r1", "r3"]
    assert [point.run_id for point in ledger.weak_points("ann", asked, limit=1)] == ["r2"]
    assert {point.created.tzinfo is not None for point in found} == {True}


def test_a_question_without_words_is_kept_and_finds_nothing(ledger: Ledger) -> None:
    ran(ledger, "r1", "???", weak_point="rejected")
    assert ledger.weak_points("ann", "???") == []


def fill(ledger: Ledger, count: int, weak: int) -> None:
    """Straight into the tables: all of one user, all about leave, each with a word of its own."""
    ledger.runs()
    begin(ledger, "before all")
    started = ledger.summary("before all").started
    same = {"user_name": "ann", "language": "en", "models": {}, "status": "answered", "started": started}
    rows = [
        {"run_id": f"old{n}", "question": f"annual leave topic{n}", "problem": "", "usage": {}, "forgotten": 0, **same}
        for n in range(count)
    ]
    points = [
        {"number": n + 1, "run_id": f"old{n}", "user_name": "ann", "question": row["question"], "reason": "low_score"}
        for n, row in enumerate(rows[:weak])
    ]
    words = [
        {"user_name": "ann", "term": term, "weak_point": n + 1}
        for n in range(weak)
        for term in terms(f"annual leave topic{n}")
    ]
    with ledger._database.writing() as connection:
        connection.execute(insert(runs), rows)
        if points:
            connection.execute(insert(weak_points), [{**point, "created": started} for point in points])
            connection.execute(insert(weak_terms), words)


def test_an_old_weak_point_is_found_among_thousands(ledger: Ledger) -> None:
    """Its common words are held by 2,000 others; its own word leads to it. Nothing is read that grows with the rest."""
    fill(ledger, 10_000, 2_000)
    (found, *_) = ledger.weak_points("ann", "annual leave topic7")
    assert (found.run_id, found.similarity) == ("old7", 1)
    with ledger._database.reading() as connection:
        lookup = "SELECT weak_point FROM weak_terms WHERE user_name='a' AND term='t' ORDER BY weak_point DESC LIMIT 50"
        plan = connection.execute(text(f"EXPLAIN QUERY PLAN {lookup}")).all()
    assert len(plan) == 1
    assert "USING COVERING INDEX" in plan[0][3]
    assert "user_name=? AND term=?" in plan[0][3]


def test_what_a_lookup_reads_is_bounded(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    class Counting(Likeness):
        def to(self, other: str) -> float:
            compared.append(other)
            return super().to(other)

    monkeypatch.setattr(weak_points_rows, "Likeness", Counting)
    fill(ledger, 500, 400)
    began = time.thread_time()
    ledger.weak_points("ann", "annual leave topic")
    assert time.thread_time() - began < 1
    assert compared == [f"annual leave topic{n}" for n in range(399, 349, -1)]
