"""What a sentence states: its words, names, opposites and denials."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.grounding.claims import is_side, other_side, read_claim, read_evidence


def names(sentence: str) -> list[str]:
    return [sentence[word.start : word.end] for word in read_claim(sentence).words if word.is_name]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The office in Lisbon was opened by Maria Silva.", ["Lisbon", "Maria", "Silva"]),
        ("公司总部迁至上海。", ["上海"]),
        ("会長にはミラー氏が選ばれた。", ["ミラー"]),
    ],
)
def test_names_count_as_names(sentence: str, expected: list[str]) -> None:
    assert names(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "denied"),
    [
        ("The policy does not cover flood damage.", "cover"),
        ("It isn't covered.", "cover"),
        ("No refunds are given.", "refund"),
        ("He failed to pay.", "pay"),
        ("保单不承保洪水。", "承保"),
        ("会议没有通过预算。", "通过"),
        ("損害は補償されない。", "補償"),
        ("損害は補償されません。", "補償"),
    ],
)
def test_negated_words(sentence: str, denied: str) -> None:
    assert denied in read_evidence(sentence).denied


@pytest.mark.parametrize(
    "sentence",
    [
        "Not only members pay.",
        "See No. 5 for details.",
        "It works, but not today, and members pay.",
        "他不仅唱歌",
        "非常好",
        "必ず支払う",
        "支払わなければならない",
        "雨かもしれない",
    ],
)
def test_words_that_only_look_like_negations(sentence: str) -> None:
    assert not {"member", "pay", "detail", "唱歌", "支払", "雨"} & read_evidence(sentence).denied


@pytest.mark.parametrize(
    ("one", "other", "opposed"),
    [
        ("sales increased", "sales rose", False),
        ("sales increased", "sales fell", True),
        ("all members", "some members", True),
        ("at least five", "at most five", True),
        ("销量上升", "销量增长", False),
        ("销量上升", "销量下降", True),
        ("全部员工", "部分员工", True),
        ("売上が増加", "売上が上昇", False),
        ("売上が増加", "売上が減少", True),
        ("すべての社員", "一部の社員", True),
    ],
)
def test_sides(one: str, other: str, opposed: bool) -> None:
    (side,) = filter(is_side, read_evidence(one).asserted)
    (against,) = filter(is_side, read_evidence(other).asserted)
    assert (against == other_side(side)) is opposed
    assert (against == side) is not opposed


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    reading = read_claim(text)
    assert all(word.keys and word.weight > 0 for word in reading.words)
    assert {key for word in reading.words for key in word.keys} <= reading.keys
