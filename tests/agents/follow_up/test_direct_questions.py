"""What may be answered without the documents: code decides (SPEC D3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.agents.follow_up.direct_questions import calculate, is_about_assistant


@pytest.mark.parametrize(
    ("question", "expression", "reply"),
    [
        ("What's 15% of 80?", "80*15/100", "80*15/100 = 12"),
        ("How much is 1,250 divided by 4?", "1250/4", "1250/4 = 312.5"),
        ("What is 10 / 3?", "10/3", "10/3 ≈ 3.333333333"),
        ("(2 + 3) × 4 = ?", "(2+3)×4", "(2+3)×4 = 20"),
        ("7 squared", "7**2", "7**2 = 49"),
        ("80的百分之15是多少？", "80*15/100", "80*15/100 = 12"),
        ("100割る8は？", "100/8", "100/8 = 12.5"),
        ("１２＋３０は？", "12+30", "12+30 = 42"),
        ("0.1 + 0.2", "0.1+0.2", "0.1+0.2 = 0.3"),
    ],
)
def test_arithmetic(question: str, expression: str, reply: str) -> None:
    assert calculate(question, expression) == reply


@pytest.mark.parametrize(
    ("question", "expression"),
    [
        ("What is 2 + 2?", ""),
        ("What is 2 + 2?", "2+3"),
        ("What is 2 + 3?", "2+2"),
        ("What is 1 / 0?", "1/0"),
        ("What is 9 ** 9 ** 9?", "9**9**9"),
        ("What is 9 ** 99999?", "9**99999"),
        ("What is 2 + 2?", "2+2 if True else 2"),
        ("What is 2 + 2?", "(" * 150 + "2+2"),
        ("What is 2 + 2?", "[2,2]"),
        ("What was revenue in 2023 and 2024?", "2023+2024"),
        ("What is section 4 of 5?", "4/5"),
        ("第3章和第4章是什么？", "3+4"),
        ("第3条と第4条は？", "3+4"),
        ("2 + 2" + " + 2" * 100, "2+2"),
    ],
)
def test_no_arithmetic(question: str, expression: str) -> None:
    assert calculate(question, expression) == ""


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_safe(question: str, expression: str) -> None:
    found = calculate(question, expression)
    assert found == "" or found.startswith(expression.strip())
    assert calculate("What is 2 + 2?", expression) == "" or any(map(str.isdigit, expression))
    assert not is_about_assistant(f"{question} warranty")


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.sampled_from("+-*"))
def test_results_are_exact(first: int, second: int, sign: str) -> None:
    written = f"{first}{sign}{second}"
    assert calculate(f"What is {written}?", written) == f"{written} = {eval(written)}"


@pytest.mark.parametrize(
    "question",
    [
        "What is Veracity?",
        "How does Veracity work?",
        "Who made you?",
        "What languages do you speak?",
        "Where do your answers come from?",
        "你叫什么名字？",
        "你的答案来自哪里？",
        "あなたは何ですか。",
        "あなたの名前は何ですか。",
    ],
)
def test_questions_about_the_assistant(question: str) -> None:
    assert is_about_assistant(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the warranty?",
        "What are your opening hours?",
        "Can you tell me the refund policy?",
        "What is Veracity's port?",
        "Who made the Corvus 210?",
        "你们的营业时间是什么？",
        "年假是什么？",
        "休暇は何日ですか。",
        "あなたの会社の住所はどこですか。",
        "",
    ],
)
def test_questions_about_something_else(question: str) -> None:
    assert not is_about_assistant(question)
