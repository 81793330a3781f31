"""A question that a model put anew is used only where it still asks the same (SPEC D3)."""

import pytest

from veracity.agents.router import LONGEST, adds_to, is_faithful

SAID = {
    "en": ["How much is the Pixel 7?", "The Pixel 7 costs 599 dollars. It was made by Google."],
    "zh": ["大阪支社有多少天年假？", "大阪支社有20天年假。"],
    "ja": ["大阪支社の休暇は何日ですか。", "大阪支社の休暇は20日です。"],
}


@pytest.mark.parametrize(
    ("language", "question", "reworded"),
    [
        ("en", "What is its screen size?", "What is the screen size of the Pixel 7?"),
        ("en", "What is its screen size?", "What is the Pixel 7's screen size?"),
        ("en", "Who made it?", "Which company made the Pixel 7?"),
        ("en", "Tell me more.", "Tell me more about the Pixel 7."),
        ("zh", "为什么？", "为什么大阪支社有20天年假？"),
        ("ja", "なぜですか。", "大阪支社の休暇が20日なのはなぜですか。"),
        ("en", "Cool. And the Pixel 8?", "How much is the Pixel 8?"),
        ("en", "Who may not take it?", "Who can't take the Pixel 7?"),
        ("en", "Which cost less than 600 dollars?", "Which Google phones cost less than 600 dollars?"),
        ("en", "May it be at most 600?", "May the Pixel 7 be no more than 600?"),
        ("en", "I don't understand. Who made it?", "Who made the Pixel 7?"),
        ("zh", "谁不可以休？", "大阪支社的谁不可以休年假？"),
        ("zh", "员工有没有20天以上？", "大阪支社的员工有没有20天以上年假？"),
        ("ja", "誰が取れませんか。", "大阪支社では誰が休暇を取れませんか。"),
        ("ja", "休暇は申請しないといけませんか。", "大阪支社の休暇は申請しなければなりませんか。"),
        ("zh", "那东京支社呢？", "东京支社有多少天年假？"),
        ("ja", "では東京は？", "東京支社の休暇は何日ですか。"),
    ],
)
def test_a_wording_that_asks_the_same_is_taken(language: str, question: str, reworded: str) -> None:
    assert is_faithful(reworded, question, SAID[language])


@pytest.mark.parametrize(
    ("language", "question", "reworded"),
    [
        ("en", "What is its screen size?", ""),
        ("en", "What is its screen size?", "Pixel 7 的屏幕多大？"),
        ("en", "Tell me more.", "How much is the Pixel 7?"),
        ("zh", "请说得更详细一点。", "大阪支社有多少天年假？"),
        ("ja", "もっと詳しく教えてください。", "大阪支社の休暇は何日ですか。"),
        ("en", "What is its screen size?", "What is the screen size of the Galaxy?"),
        ("en", "What is its screen size?", "What is the screen size of the Pixel 9?"),
        ("en", "What is its screen size?", "The screen size of the Pixel 7 is large."),
        ("en", "What is its screen size?", "How much is the Pixel 7?"),
        ("en", "What is its screen size?", "What is the screen size of the Pixel 7? It is a large screen."),
        ("en", "What is its screen size?", "What is the screen size of the Pixel 7 " + "please " * LONGEST + "?"),
        ("en", "How does it compare to the Nokia 3310?", "How does the Pixel 7 compare to the Nokia?"),
        ("en", "How does it compare to the Nokia 3310?", "How does the Pixel 7 compare to the 3310?"),
        ("zh", "那东京支社呢？", "How many days of leave are there?"),
        ("zh", "它有多少天？", "纽约支社有多少天年假？"),
        ("ja", "では東京は？", "ニューヨーク支社の休暇は何日ですか。"),
    ],
)
def test_what_drops_or_brings_something_is_not(language: str, question: str, reworded: str) -> None:
    assert not is_faithful(reworded, question, SAID[language])


@pytest.mark.parametrize(
    ("language", "question", "reworded"),
    [
        ("en", "Who may not take it?", "Who may take the Pixel 7?"),
        ("en", "Who may take it?", "Who may never take the Pixel 7?"),
        ("en", "Isn't it forbidden?", "Is the Pixel 7 forbidden?"),
        ("en", "And without a contract?", "How much is the Pixel 7 with a contract?"),
        ("en", "Which cost less than 600 dollars?", "Which cost more than 600 dollars?"),
        ("en", "Is it sold below 600?", "Is the Pixel 7 sold above 600?"),
        ("en", "Was it sold before the Nokia?", "Was the Pixel 7 sold after the Nokia?"),
        ("en", "Is it at least 600?", "Is the Pixel 7 at most 600?"),
        ("zh", "谁不可以休？", "谁可以休年假？"),
        ("zh", "有20天以上吗？", "大阪支社有20天以下年假吗？"),
        ("zh", "大阪支社以外呢？", "大阪支社有多少天年假？"),
        ("zh", "谁没有年假？", "大阪支社谁有年假？"),
        ("ja", "誰が取れませんか。", "誰が休暇を取れますか。"),
        ("ja", "休暇は20日以上ですか。", "大阪支社の休暇は20日以下ですか。"),
        ("ja", "大阪支社以外は？", "大阪支社の休暇は何日ですか。"),
        ("ja", "申請せずに休暇を取れますか。", "大阪支社では申請して休暇を取れますか。"),
    ],
)
def test_what_asks_the_opposite_is_not(language: str, question: str, reworded: str) -> None:
    assert not is_faithful(reworded, question, SAID[language])


@pytest.mark.parametrize(
    ("said", "reworded", "is_known"),
    [
        ("Nigeria is in Africa.", "What is the Nigerian law on it?", True),
        ("The Japanese like it.", "What is the law on it in Japan?", True),
        ("Niger is in Africa.", "What is the law on it in Nigeria?", False),
        ("Oslo is a city.", "What is the law on it in Osaka?", False),
    ],
)
def test_a_name_is_known_by_its_stem(said: str, reworded: str, is_known: bool) -> None:
    assert is_faithful(reworded, "What is the law on it?", [said]) is is_known


@pytest.mark.parametrize(
    ("question", "reworded", "adds"),
    [
        ("Why is it so?", "Why is it so?", False),
        ("How much leave do they have?", "How much leave do they have, then?", False),
        ("How much leave do they have?", "How much leave do staff have?", True),
        ("它的屏幕多大？", "屏幕多大？", False),
        ("它的屏幕多大？", "Pixel 7 的屏幕多大？", True),
        ("その画面は？", "画面は？", False),
        ("その画面は？", "スマホの画面は？", True),
    ],
)
def test_what_brings_no_word_of_its_own_adds_nothing(question: str, reworded: str, adds: bool) -> None:
    assert adds_to(reworded, question) is adds
