"""The excerpt of a long passage bears on the answer and has at most 500 characters (SPEC A8)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.language.excerpts import ELLIPSIS, MAX_EXCERPT_LENGTH, excerpt

FILLER = {
    "en": "The office has a kitchen on every floor and a garden behind the house. ",
    "zh": "办公室每层都有厨房，楼后还有一个花园，天气好的时候可以在那里开会。",
    "ja": "オフィスの各階には台所があり、建物の裏には庭があるので、天気の良い日は外で会議ができる。",
}
RELEVANT = {
    "en": "Full-time staff receive 24 days of paid annual leave. ",
    "zh": "员工每年享有带薪年休假12天。",
    "ja": "入社日に10日の年次有給休暇を付与する。",
}
WANTED = {
    "en": "How much annual leave do staff receive? Staff receive 24 days.",
    "zh": "年休假有几天？带薪年休假12天。",
    "ja": "有給休暇は何日ですか。年次有給休暇は10日です。",
}
LANGUAGES = pytest.mark.parametrize("language", ["en", "zh", "ja"])


def test_short_passage_is_unchanged() -> None:
    text = "x" * MAX_EXCERPT_LENGTH
    assert excerpt(text, "anything") == text


@LANGUAGES
@pytest.mark.parametrize("before, after", [(0, 20), (10, 10), (20, 0)])
def test_relevant_sentence_is_kept_wherever_it_is(language: str, before: int, after: int) -> None:
    text = FILLER[language] * before + RELEVANT[language] + FILLER[language] * after
    shown = excerpt(text, WANTED[language])
    assert RELEVANT[language].strip() in shown
    assert len(shown) <= MAX_EXCERPT_LENGTH
    assert shown.startswith(ELLIPSIS) == (before > 0)
    assert shown.endswith(ELLIPSIS) == (after > 0)


@LANGUAGES
def test_two_distant_sentences_are_both_kept(language: str) -> None:
    second = {"en": "Unused days lapse in March. ", "zh": "逾期作废。", "ja": "繰越分は消滅する。"}[language]
    text = RELEVANT[language] + FILLER[language] * 20 + second + FILLER[language] * 20
    shown = excerpt(text, WANTED[language] + second)
    assert RELEVANT[language].strip() in shown and second.strip() in shown
    assert f" {ELLIPSIS} " in shown


@LANGUAGES
def test_cuts_at_sentence_ends_and_uses_the_room(language: str) -> None:
    text = FILLER[language] * 20 + RELEVANT[language] + FILLER[language] * 20
    shown = excerpt(text, WANTED[language]).strip(ELLIPSIS)
    assert shown[-1] in ".。" and shown.startswith(FILLER[language][:5])
    assert len(shown) > MAX_EXCERPT_LENGTH - 2 * len(FILLER[language])


def test_without_shared_words_the_beginning_is_kept() -> None:
    text = "First of all. " + FILLER["en"] * 20
    assert excerpt(text, "数据保护").startswith("First of all. ")


def test_endless_sentence_is_cut_around_the_wanted_words() -> None:
    text = "filler " * 300 + "the warranty lasts 18 months " + "filler " * 300
    shown = excerpt(text, "How long is the warranty?")
    assert "warranty" in shown and len(shown) <= MAX_EXCERPT_LENGTH


@given(st.text(max_size=1500), st.text(max_size=80), st.integers(min_value=20, max_value=300))
def test_excerpt_is_never_longer_and_every_span_is_verbatim(text: str, wanted: str, max_length: int) -> None:
    shown = excerpt(text, wanted, max_length)
    assert len(shown) <= max(max_length, 0)
    if ELLIPSIS not in text:
        assert all(span in text for span in shown.strip(ELLIPSIS).split(f" {ELLIPSIS} "))


def test_many_short_sentences_take_linear_time() -> None:
    text = "".join(f"w{number} x. " for number in range(20_000))
    started = time.process_time()
    assert "w19999 x." in excerpt(text, "w19999 w3 w77")
    assert time.process_time() - started < 10
