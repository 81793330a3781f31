"""What is shown of a long passage is what bears on the answer, at most 500 characters of it (SPEC A8)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.agents.extract.excerpts import CUT, LONGEST, excerpt

FILLER = {
    "en": "The office has a kitchen on every floor and a garden behind the house. ",
    "zh": "办公室每层都有厨房，楼后还有一个花园，天气好的时候可以在那里开会。",
    "ja": "オフィスの各階には台所があり、建物の裏には庭があるので、天気の良い日は外で会議ができる。",
}
TELLING = {
    "en": "Full-time staff receive 24 days of paid annual leave. ",
    "zh": "员工每年享有带薪年休假12天。",
    "ja": "入社日に10日の年次有給休暇を付与する。",
}
ASKED = {
    "en": "How much annual leave do staff receive? Staff receive 24 days.",
    "zh": "年休假有几天？带薪年休假12天。",
    "ja": "有給休暇は何日ですか。年次有給休暇は10日です。",
}
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh", "ja"])


def test_a_short_passage_stays_as_it_is() -> None:
    text = "x" * LONGEST
    assert excerpt(text, "anything") == text


@LANGUAGES
@pytest.mark.parametrize("before, after", [(0, 20), (10, 10), (20, 0)])
def test_the_sentence_that_bears_on_the_answer_is_shown_wherever_it_stands(
    language: str, before: int, after: int
) -> None:
    text = FILLER[language] * before + TELLING[language] + FILLER[language] * after
    shown = excerpt(text, ASKED[language])
    assert TELLING[language].strip() in shown
    assert len(shown) <= LONGEST
    assert shown.startswith(CUT) == (before > 0)
    assert shown.endswith(CUT) == (after > 0)


@LANGUAGES
def test_two_places_far_apart_are_both_shown(language: str) -> None:
    second = {"en": "Unused days lapse in March. ", "zh": "逾期作废。", "ja": "繰越分は消滅する。"}[language]
    text = TELLING[language] + FILLER[language] * 20 + second + FILLER[language] * 20
    shown = excerpt(text, ASKED[language] + second)
    assert TELLING[language].strip() in shown and second.strip() in shown
    assert f" {CUT} " in shown


@LANGUAGES
def test_it_is_cut_at_the_ends_of_sentences_and_uses_the_room(language: str) -> None:
    text = FILLER[language] * 20 + TELLING[language] + FILLER[language] * 20
    shown = excerpt(text, ASKED[language]).strip(CUT)
    assert shown[-1] in ".。" and shown.startswith(FILLER[language][:5])
    assert len(shown) > LONGEST - 2 * len(FILLER[language])


def test_without_a_shared_word_the_head_is_shown() -> None:
    text = "First of all. " + FILLER["en"] * 20
    assert excerpt(text, "数据保护").startswith("First of all. ")


def test_a_sentence_without_end_is_cut_around_its_words() -> None:
    text = "filler " * 300 + "the warranty lasts 18 months " + "filler " * 300
    shown = excerpt(text, "How long is the warranty?")
    assert "warranty" in shown and len(shown) <= LONGEST


@given(st.text(max_size=1500), st.text(max_size=80), st.integers(min_value=20, max_value=300))
def test_never_longer_and_every_stretch_is_verbatim(text: str, wanted: str, longest: int) -> None:
    shown = excerpt(text, wanted, longest)
    assert len(shown) <= max(longest, 0)
    if CUT not in text:
        assert all(stretch in text for stretch in shown.strip(CUT).split(f" {CUT} "))


def test_many_tiny_sentences_cost_little() -> None:
    text = "".join(f"w{number} x. " for number in range(20_000))
    started = time.process_time()
    assert "w19999 x." in excerpt(text, "w19999 w3 w77")
    assert time.process_time() - started < 2
