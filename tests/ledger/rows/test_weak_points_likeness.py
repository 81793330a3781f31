"""The same question in other words is told from another question on the same topic, by words alone (SPEC C3).

A set of words cannot know that two words mean the same, nor that one more word changes everything: the last two tests
hold pairs on the wrong side, so that nobody takes this for more than it is.
"""

import pytest

from veracity.ledger.rows.weak_points import Likeness, terms

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
MISSED = [
    (LEAVE, "What is the holiday entitlement at the Irish office?"),
    ("病假需要提交哪些材料？", "请病假要交什么材料？"),
]
MISTAKEN = [
    (JA_SUMMER, "東京オフィスの夏季休暇は何日ですか？"),
    (JA_LEAVE, "有給休暇の申請はどうしますか？"),
]


@pytest.mark.parametrize(("question", "other"), SAME)
def test_the_same_question_in_other_words(question: str, other: str) -> None:
    assert Likeness(question).to(other) >= 0.5
    assert Likeness(question).to(other) == Likeness(other).to(question)


@pytest.mark.parametrize(("question", "other"), OTHER)
def test_another_question_on_the_same_topic(question: str, other: str) -> None:
    assert Likeness(question).to(other) == Likeness(other).to(question) == 0


@pytest.mark.parametrize(("question", "other"), MISSED)
def test_words_alone_miss_some(question: str, other: str) -> None:
    assert Likeness(question).to(other) == 0


@pytest.mark.parametrize(("question", "other"), MISTAKEN)
def test_words_alone_mistake_some(question: str, other: str) -> None:
    assert Likeness(question).to(other) > 0


@pytest.mark.parametrize("question", ["", " ", "???", "？", "🙂", "何ですか？", "什么？", "what?", "の"])
def test_a_question_without_words_is_like_nothing_else(question: str) -> None:
    assert Likeness(question).to(LEAVE) == Likeness(LEAVE).to(question) == 0


def test_terms_are_bounded() -> None:
    assert len(terms(" ".join(f"word{number}x" for number in range(10_000)))) == 60
    assert max(map(len, terms("a" * 100_000))) == 100
