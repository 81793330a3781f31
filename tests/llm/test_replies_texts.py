"""Reading plain text that a model wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.errors import ModelAnswerError
from veracity.llm.replies import LONGEST_ANSWER, read_text


def read(text: str, finish_reason: str | None = "stop") -> str:
    return read_text("a:b", [text], finish_reason)


pieces = st.one_of(st.sampled_from(["<think>", "</think>", "\n", "\ud83d"]), st.text())


@given(st.lists(pieces).map("".join))
def test_every_text_is_writable_or_an_error_of_ours(text: str) -> None:
    try:
        assert read(text).encode()
    except ModelAnswerError as problem:
        assert problem.complaint == "it was empty"


@pytest.mark.parametrize(
    "written",
    [
        "答えは42です。",
        "\n 答えは42です。 \n",
        "<think>Is it 41? </thin> No.</think>\n\n答えは42です。",
        "\n<think></think>答えは42です。",
        "Is it 41?\nNo.\n</think>\n\n答えは42です。",
    ],
)
def test_thoughts_in_front_are_no_part_of_the_text(written: str) -> None:
    assert read(written) == "答えは42です。"


@pytest.mark.parametrize(
    "written",
    [
        "The tag `</think>` ends it.",
        "Write:\n<think>\nwhat you think\n</think>\nand then answer.",
        "Thoughts end with </think>\nand then the answer follows.",
    ],
)
def test_a_text_about_thoughts_stays_whole(written: str) -> None:
    assert read(written) == written


@pytest.mark.parametrize("written", ["", " \n\u3000", "<think>Hm.</think>\n", "<think>Hm. I never come to the point."])
def test_a_text_that_says_nothing_is_empty(written: str) -> None:
    with pytest.raises(ModelAnswerError, match=r'^The text of "a:b" could not be used: it was empty\.$'):
        read(written)


def test_half_a_character_becomes_a_mark() -> None:
    assert read("cut \ud83d here, whole 😀 here") == "cut \ufffd here, whole 😀 here"


@pytest.mark.parametrize(
    ("written", "finish_reason", "words"),
    [("The answer is", "length", "cut off at the limit"), ("x" * (LONGEST_ANSWER + 1), "stop", "1,000,001 characters")],
)
def test_a_text_beyond_a_limit_is_none(written: str, finish_reason: str, words: str) -> None:
    """The model is told to be briefer; a person, who has no such setting, what they can do."""
    with pytest.raises(ModelAnswerError, match=words) as caught:
        read(written, finish_reason)
    assert caught.value.complaint.endswith("; be briefer")
    assert str(caught.value).endswith(": ask for less, or use a model that may write more.")
