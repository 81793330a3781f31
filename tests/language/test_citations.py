"""Citation marks in every form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.language.citations import cited_numbers, without_marks


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [
        ("A [1].", [1]),
        ("A [1][2] and [1].", [1, 2]),
        ("A [1, 3-5].", [1, 3, 4, 5]),
        ("A [ 2 ; 4 ].", [2, 4]),
        ("甲【3】。", [3]),
        ("甲［１、２］。", [1, 2]),
        ("A [1-999].", list(range(1, 52))),
        ("A [5-3].", [5]),
        ("array[i], [x], [], [1.5], [a1]", []),
        ("In [2024] it was so.", []),
    ],
)
def test_numbers(sentence: str, numbers: list[int]) -> None:
    assert cited_numbers(sentence) == numbers


def test_without_marks() -> None:
    assert without_marks("A [1]. 乙【2】。") == "A . 乙。"


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    assert all(number >= 0 for number in cited_numbers(text))
    assert cited_numbers(without_marks(text)) == [] or "[" in without_marks(text) or "［" in text or "【" in text


def test_hostile_text_takes_linear_time() -> None:
    assert cited_numbers("[1," * 300_000) == []
