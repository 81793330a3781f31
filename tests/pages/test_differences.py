"""What changed between two texts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.pages.differences import changes

telling = st.text(st.sampled_from("ab 1.。[]のは日本语\n"), max_size=40) | st.text(max_size=40)


def told(before: str, after: str) -> str:
    marks = {"same": "{}", "removed": "[-{}-]", "added": "[+{}+]"}
    return "".join(marks[change.kind].format(change.text) for change in changes(before, after))


@given(telling, telling)
def test_nothing_is_lost_on_either_side(before: str, after: str) -> None:
    found = changes(before, after)
    assert "".join(change.text for change in found if change.kind != "added") == before
    assert "".join(change.text for change in found if change.kind != "removed") == after


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("Staff have 40 days. [1]", "Staff have 25 days. [1]", "Staff have [-40-][+25+] days. [1]"),
        ("员工每年享有四十天带薪年假。", "员工每年享有十五天带薪年假。", "员工每年享有[-四十天-][+十五天+]带薪年假。"),
        ("年に四十日の休暇。", "年に二十日の休暇。", "年に[-四-][+二+]十日の休暇。"),
        ("休暇があります。", "休暇があります。休暇は申請します。", "休暇があります。[+休暇は申請します。+]"),
        ("One. Two.", "One. Three. Two.", "One. [+Three. +]Two."),
        ("the same", "the same", "the same"),
        ("", "new", "[+new+]"),
        ("old", "", "[-old-]"),
    ],
)
def test_words_in_three_languages(before: str, after: str, expected: str) -> None:
    assert told(before, after) == expected


def test_a_long_text_is_compared_by_its_sentences() -> None:
    before = " ".join(f"Sentence {number} says {number * 7}." for number in range(900))
    after = before.replace("Sentence 3 says", "Sentence 3 tells").replace("Sentence 890 says", "Sentence 890 tells")
    assert "[-Sentence 890 says 6230. -][+Sentence 890 tells 6230. +]" in told(before, after)


@pytest.mark.parametrize("pieces", [200, 1_150, 20_000, 400_000])
@pytest.mark.parametrize("unit", ["a b ", "の、は", "A. B. ", "的是"])
def test_hostile_texts_take_no_hours(unit: str, pieces: int) -> None:
    began = time.perf_counter()
    changes("x " + unit * (pieces // 4) + "y", "p " + (unit[::-1] + unit[0]) * (pieces // 6) + "q")
    assert time.perf_counter() - began < 5
