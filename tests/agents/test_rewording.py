"""A question that a model put anew is used only where it still asks the same (SPEC D3)."""

import pytest

from veracity.agents.rewording import LONGEST, is_faithful

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
        ("en", "Cool. And the Pixel 8?", "How much is the Pixel 8?"),
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
