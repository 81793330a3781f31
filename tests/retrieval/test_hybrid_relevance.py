"""Relevance is a chance, whatever goes in (SPEC C3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.retrieval.hybrid import Signals, covered, relevance, word_weights

LANGUAGES = ("en", "zh", "ja")
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
SHARE = st.floats(0, 1)
LANGUAGE = st.sampled_from(LANGUAGES)


@given(ANY_FLOAT, ANY_FLOAT, st.none() | ANY_FLOAT, LANGUAGE)
def test_c3_it_is_within_0_and_1(words: float, share: float, meaning: float | None, language: str) -> None:
    assert 0 <= relevance(Signals(words, share, meaning), language) <= 1


@given(SHARE, SHARE, st.none() | SHARE, SHARE, LANGUAGE, st.sampled_from([0, 1, 2]))
def test_it_never_falls_when_a_signal_rises(
    words: float, share: float, meaning: float | None, more: float, language: str, which: int
) -> None:
    signals = [words, share, meaning]
    before = signals[which]
    if before is not None:
        raised = [*signals[:which], max(before, more), *signals[which + 1 :]]
        assert relevance(Signals(*raised), language) >= relevance(Signals(*signals), language)  # type: ignore[arg-type]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_ends_of_the_scale(language: str) -> None:
    assert relevance(Signals(0, 0), language) < 0.05
    assert relevance(Signals(1, 1), language) > 0.5


def test_far_in_meaning_is_not_the_same_as_unknown() -> None:
    """Otherwise a passage whose vector points elsewhere would score higher than one that is a little near."""
    assert relevance(Signals(1, 1, 0.0), "en") < relevance(Signals(1, 1, 0.01), "en")
    assert relevance(Signals(1, 1, 0.0), "en") < relevance(Signals(1, 1, None), "en")


def test_words_that_all_hold_tell_little() -> None:
    found = [frozenset(["usual", "rare"]), frozenset(["usual"])] * 15
    weights = word_weights(["rare", "usual", "absent"], found)
    assert weights == pytest.approx({"rare": 0.55, "usual": 0.1, "absent": 1.0})
    assert covered(weights, frozenset(["usual"])) == pytest.approx(0.1 / 1.65)
    assert covered(weights, frozenset(["rare", "usual", "absent", "more"])) == 1.0
    assert covered(weights, frozenset()) == 0.0


def test_where_little_was_found_every_word_is_rare() -> None:
    assert word_weights(["only"], [frozenset(["only"])])["only"] > 0.9


def test_a_question_without_words_covers_nothing() -> None:
    assert word_weights([], []) == {}
    assert covered({}, frozenset(["word"])) == 0.0


@given(st.lists(st.text(max_size=3), unique=True), st.lists(st.frozensets(st.text(max_size=3))))
def test_what_is_covered_is_a_share(words: list[str], passages: list[frozenset[str]]) -> None:
    weights = word_weights(words, passages)
    assert all(0 < weight <= 1 for weight in weights.values())
    for one in passages:
        assert 0 <= covered(weights, one) <= 1


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_the_best_of_nothing_is_far_from_a_perfect_match(language: str) -> None:
    assert relevance(Signals(1, 1), language) >= 0.5
    assert relevance(Signals(0, 1), language) <= 0.25
