"""Word-by-word differences between two texts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.receipt.diff import diff

texts = st.text(st.sampled_from("ab 1.。[]のは日本语\n"), max_size=40) | st.text(max_size=40)


def marked(before: str, after: str) -> str:
    marks = {"same": "{}", "gone": "[-{}-]", "new": "[+{}+]"}
    return "".join(marks[piece.kind].format(piece.text) for piece in diff(before, after))


@given(texts, texts)
def test_pieces_join_to_both_texts(before: str, after: str) -> None:
    pieces = diff(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "new") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "gone") == after


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("Staff have 40 days. [1]", "Staff have 25 days. [1]", "Staff have [-40-][+25+] days. [1]"),
        ("员工每年享有四十天带薪年假。", "员工每年享有十五天带薪年假。", "员工每年享有[-四十天-][+十五天+]带薪年假。"),
        ("年に四十日の休暇。", "年に二十日の休暇。", "年に[-四-][+二+]十日の休暇。"),
        ("休暇があります。", "休暇があります。休暇は申請します。", "休暇があります。[+休暇は申請します。+]"),
        ("One. Two.", "One. Three. Two.", "One. [+Three. +]Two."),
        ("Staff have 25 days [1].", "Staff have 25 days [12].", "Staff have 25 days [-[1]-][+[12]+]."),
        ("the same", "the same", "the same"),
        ("", "new", "[+new+]"),
        ("old", "", "[-old-]"),
    ],
)
def test_compares_words_in_three_languages(before: str, after: str, expected: str) -> None:
    assert marked(before, after) == expected


def test_long_text_is_compared_by_sentences() -> None:
    before = " ".join(f"Sentence {number} says {number * 7}." for number in range(900))
    after = before.replace("Sentence 3 says", "Sentence 3 tells").replace("Sentence 890 says", "Sentence 890 tells")
    assert "[-Sentence 890 says 6230. -][+Sentence 890 tells 6230. +]" in marked(before, after)


@pytest.mark.parametrize("length", [200, 1_150, 20_000, 400_000])
@pytest.mark.parametrize("unit", ["a b ", "の、は", "A. B. ", "的是"])
def test_hostile_text_is_compared_in_bounded_time(unit: str, length: int) -> None:
    started = time.process_time()
    diff("x " + unit * (length // 4) + "y", "p " + (unit[::-1] + unit[0]) * (length // 6) + "q")
    assert time.process_time() - started < 20  # unbounded, it takes hours
