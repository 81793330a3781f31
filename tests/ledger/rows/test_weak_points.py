"""Weak points are found by the words of a question, per user, among any number of runs (SPEC C3)."""

import pytest
from sqlalchemy import insert, text

from tests.ledger.material import begin, finish_run, make_answer, make_evidence
from veracity.ledger import Ledger, RunRecords
from veracity.ledger.ledger import WeakReason
from veracity.ledger.rows import weak_points
from veracity.ledger.rows.weak_points import QuestionSimilarity, split_terms
from veracity.ledger.tables import runs, weak_terms
from veracity.ledger.tables import weak_points as weak_point_table

LEAVE = "How many days of annual leave do I get in Dublin?"
WARRANTY = "What is the warranty period of the Corvus 210?"
ZH_LEAVE = "上海员工每年有多少天年休假？"
ZH_WARRANTY = "Strata 900 的保修期是多久？"
JA_LEAVE = "有給休暇は年に何日もらえますか？"
JA_SUMMER = "大阪オフィスの夏季休暇は何日ですか？"

SAME = [
    (LEAVE, "How much annual leave do Dublin staff get?"),
    (LEAVE, "annual leave days Dublin"),
    (WARRANTY, "How long is the Corvus 210 warranty?"),
    ("Who approves travel expenses above 500 euros?", "Which person approves travel expenses over 500 euros?"),
    ("When does the office close at the end of the year?", "When is the office closed at year end?"),
    ("Can unused leave be carried over into the next year?", "Is it possible to carry unused leave over to next year?"),
    ("How often must the probe be calibrated?", "How frequently does the probe have to be calibrated?"),
    (ZH_LEAVE, "上海员工一年可以休几天年休假？"),
    (ZH_LEAVE, "请问上海的员工年休假是多少天？"),
    (ZH_WARRANTY, "Strata 900 保修多长时间？"),
    ("出差住宿费的标准是多少？", "出差的住宿标准是多少钱？"),
    ("实验室发生泄漏时应该联系谁？", "实验室泄漏的时候要联系谁？"),
    (JA_LEAVE, "年間の有給休暇は何日ですか？"),
    (JA_LEAVE, "有給休暇は1年に何日取得できますか。"),
    (JA_SUMMER, "大阪オフィスでは夏季休暇を何日取れますか？"),
    ("在宅勤務の申請はいつまでに必要ですか？", "在宅勤務はいつまでに申請すればよいですか？"),
    ("地震のときはどこに避難しますか？", "地震が起きたらどこへ避難すればいいですか？"),
    ("Meridian 480の保証期間はどのくらいですか？", "Meridian 480の保証期間を教えてください。"),
]
OTHER = [
    (LEAVE, "Who approves annual leave in Dublin?"),
    (LEAVE, "How many unused days of annual leave can I carry over into next year?"),
    (LEAVE, "How many days of annual leave do I get in Osaka?"),
    (WARRANTY, "What is the warranty period of the Meridian 480?"),
    (WARRANTY, "What is the price of the Corvus 210?"),
    (WARRANTY, "When was the Corvus 210 released?"),
    ("How do I report a lost laptop?", "How do I order a new laptop?"),
    ("How often must the probe be calibrated?", "Who calibrates the probe?"),
    (ZH_LEAVE, "上海员工年休假由谁审批？"),
    (ZH_LEAVE, "大阪员工每年有多少天年休假？"),
    (ZH_LEAVE, "上海员工每年有多少培训预算？"),
    (ZH_WARRANTY, "Strata 900 的重量是多少？"),
    (ZH_WARRANTY, "Strata 500 的保修期是多久？"),
    ("病假需要提交哪些材料？", "病假工资是多少？"),
    (JA_LEAVE, "育児休暇は何日もらえますか？"),
    (JA_SUMMER, "大阪オフィスの住所はどこですか？"),
    (JA_SUMMER, "大阪オフィスの結婚休暇は何日ですか？"),
    ("在宅勤務の申請はいつまでに必要ですか？", "在宅勤務の手当はいくらですか？"),
    ("地震のときはどこに避難しますか？", "火災のときはどこに避難しますか？"),
    ("通勤手当の上限はいくらですか？", "住宅手当の上限はいくらですか？"),
]
MISSED = [  # words cannot be recognised as synonyms
    (LEAVE, "What is the holiday entitlement at the Irish office?"),
    ("病假需要提交哪些材料？", "请病假要交什么材料？"),
]
MISTAKEN = [  # a single word changes the meaning
    (JA_SUMMER, "東京オフィスの夏季休暇は何日ですか？"),
    (JA_LEAVE, "有給休暇の申請はどうしますか？"),
]


@pytest.mark.parametrize(
    ("failed", "asked", "other"),
    [
        ("How many days of annual leave do I get?", "How much annual leave do I get?", "Who approves annual leave?"),
        ("上海员工每年有多少天年休假？", "请问上海的员工年休假是多少天？", "上海员工年休假由谁审批？"),
        ("有給休暇は年に何日もらえますか？", "年間の有給休暇は何日ですか？", "育児休暇は何日もらえますか？"),
    ],
    ids=["en", "zh", "ja"],
)
def test_a_weak_point_is_found_when_the_question_is_asked_again(
    ledger: Ledger, failed: str, asked: str, other: str
) -> None:
    begin(ledger, "r1", failed)
    ledger.keep_evidence("r1", [make_evidence("p2")], given=False)
    ledger.keep_evidence("r1", [make_evidence("p3"), make_evidence("p1")], given=True)
    answer = make_answer("r1", [], "what failed")
    ledger.finish(answer, RunRecords(weak_point="failed_review"), token=1)
    (weak_point,) = ledger.weak_points("ann", asked)
    assert (weak_point.question, weak_point.reason, weak_point.run_id, weak_point.passage_ids) == (
        failed,
        "failed_review",
        "r1",
        ("p3", "p1", "p2"),
    )
    assert 0.5 <= weak_point.similarity <= ledger.weak_points("ann", failed)[0].similarity == 1
    assert "what failed" not in repr(weak_point)
    assert ledger.weak_points("ann", other) == []


def test_a_successful_run_is_not_a_weak_point(ledger: Ledger) -> None:
    finish_run(ledger, "r1")
    assert ledger.weak_points("ann", "How many days?") == []


def test_other_users_weak_points_are_not_found(ledger: Ledger) -> None:
    for user in ("ann", "Ann", "ann ", "%", "", "' OR user_name = 'ann"):
        assert ledger.weak_points(user, "How many days?") == []
        finish_run(ledger, f"of {user}", user=user, weak_point="rejected")
        assert [point.run_id for point in ledger.weak_points(user, "How many days?")] == [f"of {user}"]


def test_weak_points_are_sorted_by_similarity_then_newest_first(ledger: Ledger) -> None:
    asked = "annual leave days Dublin office"
    reasons: list[WeakReason] = ["failed_review", "low_score", "rejected"]
    questions = [asked, "annual leave days Dublin", asked, "annual leave Dublin", "parking in Dublin"]
    for number, question in enumerate(questions):
        finish_run(ledger, f"r{number}", question, weak_point=reasons[number % 3])
    similar = ledger.weak_points("ann", asked)
    assert [point.run_id for point in similar] == ["r2", "r0", "r1", "r3"]
    assert [point.run_id for point in ledger.weak_points("ann", asked, limit=1)] == ["r2"]
    assert {point.created.tzinfo is not None for point in similar} == {True}


def test_a_question_without_words_finds_nothing(ledger: Ledger) -> None:
    finish_run(ledger, "r1", "???", weak_point="rejected")
    assert ledger.weak_points("ann", "???") == []


def fill(ledger: Ledger, count: int, weak: int) -> None:
    """Insert runs of one user about leave, each with a distinct word, directly into the tables."""
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
        for term in split_terms(f"annual leave topic{n}")
    ]
    with ledger._database.writing() as connection:
        connection.execute(insert(runs), rows)
        if points:
            connection.execute(insert(weak_point_table), [{**point, "created": started} for point in points])
            connection.execute(insert(weak_terms), words)


@pytest.mark.only_sqlite
def test_an_old_weak_point_is_found_among_thousands(ledger: Ledger) -> None:
    """2,000 others share its common words; its rare word leads to it, by a covering index."""
    fill(ledger, 10_000, 2_000)
    (best, *_) = ledger.weak_points("ann", "annual leave topic7")
    assert (best.run_id, best.similarity) == ("old7", 1)
    with ledger._database.reading() as connection:
        lookup = "SELECT weak_point FROM weak_terms WHERE user_name='a' AND term='t' ORDER BY weak_point DESC LIMIT 50"
        plan = connection.execute(text(f"EXPLAIN QUERY PLAN {lookup}")).all()
    assert len(plan) == 1
    assert "USING COVERING INDEX" in plan[0][3]
    assert "user_name=? AND term=?" in plan[0][3]


def test_a_lookup_compares_a_bounded_number_of_questions(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    class CountingSimilarity(QuestionSimilarity):
        def to(self, other: str) -> float:
            compared.append(other)
            return super().to(other)

    monkeypatch.setattr(weak_points, "QuestionSimilarity", CountingSimilarity)
    fill(ledger, 500, 400)
    ledger.weak_points("ann", "annual leave topic")
    assert compared == [f"annual leave topic{n}" for n in range(399, 349, -1)]


@pytest.mark.parametrize(("question", "other"), SAME)
def test_the_same_question_in_other_words_is_similar(question: str, other: str) -> None:
    assert QuestionSimilarity(question).to(other) >= 0.5
    assert QuestionSimilarity(question).to(other) == QuestionSimilarity(other).to(question)


@pytest.mark.parametrize(("question", "other"), OTHER)
def test_another_question_on_the_same_topic_is_not_similar(question: str, other: str) -> None:
    assert QuestionSimilarity(question).to(other) == QuestionSimilarity(other).to(question) == 0


@pytest.mark.parametrize(("question", "other"), MISSED)
def test_known_misses_of_comparing_words(question: str, other: str) -> None:
    assert QuestionSimilarity(question).to(other) == 0


@pytest.mark.parametrize(("question", "other"), MISTAKEN)
def test_known_false_matches_of_comparing_words(question: str, other: str) -> None:
    assert QuestionSimilarity(question).to(other) > 0


@pytest.mark.parametrize("question", ["", " ", "???", "？", "🙂", "何ですか？", "什么？", "what?", "の"])
def test_a_question_without_words_is_similar_to_none(question: str) -> None:
    assert QuestionSimilarity(question).to(LEAVE) == QuestionSimilarity(LEAVE).to(question) == 0


def test_terms_are_bounded() -> None:
    assert len(split_terms(" ".join(f"word{number}x" for number in range(10_000)))) == 60
    assert max(map(len, split_terms("a" * 100_000))) == 100
