"""The words by which a text is found, in English, Chinese and Japanese."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.test_language import ANY_TEXT
from veracity.language import Language, search_tokens, tokens
from veracity.language.words import ENGLISH, ENGLISH_FUNCTION_WORDS, MAX_STEMMED_WORD, _cached_stem

LANGUAGES: list[Language] = ["en", "zh", "ja"]


def test_english_drops_function_words_only() -> None:
    query = "What was the first thing that the engineers did before lunch, and who paid for the other one?"
    assert search_tokens(query) == ["first", "thing", "engin", "befor", "lunch", "paid", "other", "one"]


@pytest.mark.parametrize("query", ["What is it?", "the of and", "Who are you", "HOW did THEY"])
def test_function_words_alone_give_no_tokens(query: str) -> None:
    assert search_tokens(query) == []


def test_function_words_are_common_words() -> None:
    assert ENGLISH_FUNCTION_WORDS < ENGLISH


def test_chinese_words_are_also_split_into_inner_words() -> None:
    assert search_tokens("北京大学的学生") == ["北京", "大学", "北京大学", "的", "学生"]


def test_japanese_is_cut_into_pairs_across_scripts_and_single_kanji() -> None:
    assert search_tokens("食べ物を東京で") == ["食べ", "べ物", "物を", "を東", "東京", "京で", "食", "物", "東", "京"]


def test_a_single_character_is_a_token() -> None:
    assert search_tokens("東", "ja") == search_tokens("東", "zh") == ["東"]
    assert search_tokens("は", "ja") == ["は"]


@pytest.mark.parametrize("text", ["東京 deployments を 1,234.5 で", "请问 deployments 要 1,234.5 元"])
def test_words_and_numbers_within_other_scripts(text: str) -> None:
    assert {"deploy", "1234.5"} <= set(search_tokens(text))


def test_the_language_decides_how_han_is_cut() -> None:
    assert search_tokens("東京都庁", "ja") == ["東京", "京都", "都庁", "東", "京", "都", "庁"]
    assert search_tokens("東京都庁", "zh") == ["東", "京都", "庁"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("１０００ ＧＢ", "1,000 gb"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("㍿", "株式会社"),
        ("ﬁne", "fine"),
        ("Café’s", "cafe"),
        ("か\u3099き", "がき"),
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_spellings_of_one_word_share_a_token(one: str, other: str, language: Language) -> None:
    assert search_tokens(one, language) == search_tokens(other, language) != []


@pytest.mark.parametrize("text", ["", " \n", "?!…。、", "🙂🚗", "\udcff", "\x00", "_"])
@pytest.mark.parametrize("language", [None, *LANGUAGES])
def test_text_without_words_has_none(text: str, language: Language | None) -> None:
    assert search_tokens(text, language) == []


@given(ANY_TEXT, st.sampled_from([None, *LANGUAGES]))
def test_tokens_are_not_empty_and_have_no_white_space(text: str, language: Language | None) -> None:
    """They are kept in one string, with spaces between them."""
    found = search_tokens(text, language)
    assert " ".join(found).split() == found


@given(st.text(st.characters(max_codepoint=0x24F)))
def test_search_tokens_are_a_subset_of_tokens(text: str) -> None:
    assert set(search_tokens(text, "en")) <= set(tokens(text, "en"))


@pytest.mark.parametrize("unit", ["a", "a ", "中", "あ", "ー", "1,000,", ",111", "東a", "'a", "e\u0301"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_time_is_linear(unit: str, language: Language) -> None:
    text = unit * (50_000 // len(unit))
    started = time.process_time()
    search_tokens(text, language)
    assert time.process_time() - started < 20


def test_stems_of_words_are_cached() -> None:
    search_tokens("Unheardofness")
    before = _cached_stem.cache_info()
    search_tokens("Unheardofness unheardofness")
    after = _cached_stem.cache_info()
    assert (after.hits, after.misses) == (before.hits + 1, before.misses + 1)  # in small letters it is another
    search_tokens("x" * (MAX_STEMMED_WORD + 1))
    assert _cached_stem.cache_info() == after


def test_threads_get_the_same_stems() -> None:
    """The stemmer keeps its work in progress in itself: each thread has its own."""
    words = [
        f"{start}{end}" for start in ("walk", "organiz", "nation", "happi") for end in ("ing", "ation", "ness")
    ] * 50
    _cached_stem.cache_clear()
    alone = search_tokens(" ".join(words))
    with ThreadPoolExecutor(8) as threads:
        for _ in range(5):
            _cached_stem.cache_clear()
            assert all(found == alone for found in threads.map(search_tokens, [" ".join(words)] * 8))
