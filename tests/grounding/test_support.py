"""Does a text support a sentence: in English, Chinese and Japanese, by form alone."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veracity.grounding import SUPPORT_THRESHOLD, EvidenceTexts, Support, checkable, support
from veracity.grounding.pieces import sentences_of
from veracity.language import sentences

# Shared with benchmarks/grounding_wice.py, which also counts the pairs that form alone cannot tell apart.
CONTRASTS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "benchmarks" / "contrasts.jsonl").read_text("utf-8").splitlines()
]
DECIDED_BY_FORM = [pytest.param(row, id=f"{row['language']}-{row['what']}") for row in CONTRASTS if row["by_form"]]

POLICY = (
    "The policy covers theft and fire. Flood damage is not covered. Claims are paid within 30 days. "
    "The head office is in Lisbon."
)


@pytest.mark.parametrize("row", DECIDED_BY_FORM)
def test_a_faithful_paraphrase_is_supported(row: dict[str, str]) -> None:
    assert support(row["faithful"], row["text"]).supported


@pytest.mark.parametrize("row", DECIDED_BY_FORM)
def test_a_small_alteration_is_not_supported(row: dict[str, str]) -> None:
    found = support(row["altered"], row["text"])
    assert not found.supported
    assert found.missing or found.contradicted


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_every_language_has_a_dozen_contrasts(language: str) -> None:
    assert sum(row["language"] == language and row["by_form"] for row in CONTRASTS) >= 12


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{row['language']}-{row['what']}") for row in CONTRASTS])
def test_a_sentence_of_another_text_is_far_from_supported(row: dict[str, str]) -> None:
    unrelated = "Gardeners prune roses early in spring. 园丁在春天修剪玫瑰。庭師は春にバラを剪定する。"
    assert support(row["faithful"], unrelated).score < 0.25


@given(st.text(max_size=80))
@example("Yes. No.")
@example("0\na")
@example("Yes.[1] ... [2]\n[3]")
@example("# Title\n- item one. It grew.[1]")
@example("売上は増加した。利益は減少した。")
@example("第一句。[1]第二句！")
def test_a_verbatim_sentence_is_fully_supported(text: str) -> None:
    # A line may be a part of a wrapped sentence, such as the "a" of "0\na": then it has to make a claim of its own.
    lines = [sentence for sentence in sentences(text) if checkable(sentence.text)]
    for sentence in {*sentences_of(text), *lines}:
        if not any(map(str.isalnum, sentence.text)):  # "==" is an underline
            continue
        found = support(sentence.text, text)
        assert found.score == 1.0
        assert found.supported
        assert found.missing == ()


@given(st.text(max_size=60), st.lists(st.text(max_size=80), max_size=3))
def test_the_result_is_consistent(sentence: str, texts: list[str]) -> None:
    found = EvidenceTexts(texts).support(sentence)
    assert 0.0 <= found.score <= 1.0
    assert found.supported == (found.score >= SUPPORT_THRESHOLD)
    if found.source == -1:
        assert (found.score, found.quote, found.start, found.end) == (0.0, "", 0, 0)
    else:
        assert found.quote == texts[found.source][found.start : found.end] != ""


def test_the_best_text_is_found_and_quoted() -> None:
    texts = ["Gardeners prune roses.", POLICY, "Nothing here."]
    found = EvidenceTexts(texts).support("Claims are paid within 30 days [2].")
    assert found == Support(1.0, True, 1, "Claims are paid within 30 days.", *_span(POLICY, "Claims", "30 days."), ())


def _span(text: str, first: str, last: str) -> tuple[int, int]:
    return text.index(first), text.index(last) + len(last)


def test_neighbouring_sentences_support_together() -> None:
    found = support("The policy covers theft and fire but flood damage is not covered.", POLICY)
    assert found.supported
    assert found.quote == "The policy covers theft and fire. Flood damage is not covered."


def test_distant_places_support_together() -> None:
    filler = " ".join(f"Chapter {n} tells of gardens." for n in ("one", "two", "three", "four"))
    text = f"Anna Keller was born in Bonn. {filler} Keller won the Orion prize in 1998."
    found = support("Anna Keller, who was born in Bonn, won the Orion prize in 1998.", text)
    assert found.supported
    assert found.missing == ()


def test_missing_parts_are_named_in_the_words_of_the_sentence() -> None:
    found = support("Claims are paid in Madrid within ９０ days.", POLICY)
    assert (found.missing, found.contradicted) == (("Madrid", "９０ days"), ())
    assert support("洪水造成的损失由标准保单承保。", "标准保单不承保洪水造成的损失。").contradicted == ("承保",)
    assert support("橋は1933年に完成した。", "橋は1932年に完成した。").contradicted == ("1933年",)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("-40 °C is the lowest temperature.", "40 °C is the lowest temperature."),
        ("The event is on April 4, 2025.", "The event is on April 3, 2025."),
        ("The shop opens at 2 pm.", "The shop opens at 2 am."),
        ("Nobody may enter the lab.", "Everybody may enter the lab."),
        ("Elephants weigh 9 tons.", "图书馆上午9点开门。"),
        ("Anna Schmidt opened the Hamburg office in 2012.", "Anna Becker opened the Hamburg office in 2012."),
        ("会议在周一举行。", "会议在周五举行。"),
        ("最多可以请5天假。", "至少可以请5天假。"),
        ("气温降到零下5度。", "气温降到5度。"),
        ("会議は月曜日です。", "会議は金曜日です。"),
        ("返品可能です。", "返品不可です。"),
        ("店は午後2時に開きます。", "店は午前2時に開きます。"),
    ],
)
def test_known_alterations_are_detected(sentence: str, text: str) -> None:
    assert not support(sentence, text).supported
    assert support(text, text).supported


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("The lowest temperature is -40 °C.", "The lowest temperature is minus 40 °C."),
        ("The shop opens at 2 pm.", "The shop opens at 14:00."),
        ("The range is 10-20 items.", "The range is 10-20 items in total."),
        ("- The fee is 40 euros.", "The fee is 40 euros."),
        ("店は午後2時に開きます。", "店は14:00に開きます。"),
    ],
)
def test_the_same_in_another_notation_is_supported(sentence: str, text: str) -> None:
    assert support(sentence, text).supported


def test_the_search_can_be_limited_to_some_texts() -> None:
    texts = EvidenceTexts(["The fee is 40 euros.", "Payment is due in May.", "The fee of 40 euros is due in May."])
    assert texts.support("The fee is 40 euros.", [0]).source == 0
    assert not texts.support("The fee is 40 euros.", [1]).supported
    assert texts.support("The fee is 40 euros.", [2, 1]).source == 2
    assert texts.support("The fee is 40 euros.", []).source == -1


@pytest.mark.parametrize("sentence", ["", "Yes.", "Is it so?", "是的。", "そうです。", "[1]", "...", "👍"])
def test_nothing_to_check_is_not_support(sentence: str) -> None:
    assert not checkable(sentence)
    found = support(sentence, POLICY)
    assert (found.score, found.supported, found.source) == (0.0, False, -1)


@pytest.mark.parametrize("text", ["", " \n", "...", "🌱"])
def test_no_text_supports_nothing(text: str) -> None:
    assert support("Claims are paid within 30 days.", text).score == 0.0
    assert EvidenceTexts([]).support("Claims are paid.").source == -1


def test_the_best_place_does_not_depend_on_the_order_of_texts() -> None:
    texts = [POLICY, "Gardeners prune roses in spring.", "The office in Madrid pays claims."]
    sentence = "The office pays claims within 30 days."
    forward, backward = EvidenceTexts(texts).support(sentence), EvidenceTexts(texts[::-1]).support(sentence)
    assert (forward.score, forward.quote, forward.missing) == (backward.score, backward.quote, backward.missing)


@pytest.mark.parametrize("unit", ["word ", "12 ", "not ", "ない", "中", ". ", "[", "1", "不"])
def test_repetitive_texts_take_linear_time(unit: str) -> None:
    started = time.process_time()
    evidence = EvidenceTexts([unit * (20_000 // len(unit))])
    for _ in range(20):
        evidence.support("A word is not 12 words, 中国不 ない in 5 days.")
    evidence.support("no word " * 1_000)
    assert time.process_time() - started < 20
