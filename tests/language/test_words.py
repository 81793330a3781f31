"""Where the words of a question stand in a text, to the character."""

import pytest
from hypothesis import given

from tests.language.test_language import ANY_TEXT
from veracity.language import matching_spans


def matched(text: str, query: str) -> list[str]:
    return [text[start:end] for start, end in matching_spans(text, query)]


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("The quick brown fox. Quickly!", "the quick foxes", ["quick", "fox", "Quickly"]),
        ("北京大学的学生很多", "学生在哪里", ["学生"]),
        ("東京タワーへ行く", "東京タワーはどこですか", ["東京タワー"]),
        ("部署 Kubernetes 集群", "kubernetes", ["Kubernetes"]),
        ("It costs 1,000 euro.", "１０００", ["1,000"]),
        ("nothing of the kind", "the of", []),
        ("", "word", []),
        ("word", "", []),
    ],
)
def test_words_of_the_question_are_found_in_three_languages(text: str, query: str, found: list[str]) -> None:
    assert matched(text, query) == found


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("The ㍿ has a ﬁne ½ share.", "fine", ["ﬁne"]),
        ("½ cup and ½ spoon", "2 spoon", ["½", "½", "spoon"]),
        ("㍿東京の会議", "会議", ["会議"]),
        ("㍿と東京", "株式会社", ["㍿"]),
        ("５ＧＢ of ＲＡＭ", "ram", ["ＲＡＭ"]),
        ("e\u0301te\u0301 and café", "été cafe", ["e\u0301te\u0301", "café"]),
        ("ｽｶｲの会議", "スカイ", ["ｽｶｲ"]),
    ],
)
def test_offsets_are_exact_where_characters_become_more_or_fewer(text: str, query: str, found: list[str]) -> None:
    assert matched(text, query) == found


@pytest.mark.parametrize("text", ["ｶﾞｲﾄﾞの会議", "カ\u3099イト\u3099の会議"])
def test_a_voiced_mark_of_its_own_belongs_to_the_character_before(text: str) -> None:
    assert matched(text, "ガイド") == [text.removesuffix("の会議")]


def test_adjacent_spans_are_joined() -> None:
    assert matching_spans("東京都庁です", "東京都庁") == [(0, 4)]
    assert matching_spans("foxfox fox-fox", "fox") == [(7, 10), (11, 14)]


@given(ANY_TEXT, ANY_TEXT)
def test_spans_are_in_order_within_the_text_and_apart(text: str, query: str) -> None:
    at = -1
    for start, end in matching_spans(text, query):
        assert at < start < end <= len(text)
        at = end


@given(ANY_TEXT)
def test_a_text_matches_itself(text: str) -> None:
    """Whatever of it carries content."""
    from veracity.language import content_tokens, normalized

    if normalized(text) == text and content_tokens(text):
        assert matching_spans(text, text)
