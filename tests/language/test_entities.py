"""Names and terms are found by their form, in three languages."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.test_language import ANY_TEXT
from veracity.language import Language, entities, title_entity
from veracity.language.entities import MAX_ENTITIES, MAX_LENGTH


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The author J. K. Rowling was born in Yate.", ["j._k._rowling", "yate"]),
        ("He met I. M. Pei there.", ["i._m._pei"]),
        ("We ship the LM-40, the Corvus 210 and more.", ["lm-40", "corvus_210"]),
        ("She ran the Bank of the West for years.", ["bank_of_the_west"]),
        ("He played Ludwig van Beethoven in Zürich.", ["ludwig_van_beethoven", "zürich"]),
        ("He liked O'Brien and Ångström.", ["o'brien_and_ångström", "o'brien", "ångström"]),
        ("Paris and Paris again, then PARIS, and we love Paris.", ["paris_and_paris", "paris"]),
        ("nothing here is a name", []),
        ("", []),
    ],
)
def test_english_names_begin_with_capitals(text: str, names: list[str]) -> None:
    assert entities(text, "en") == names


def test_ambiguous_names_are_used_both_ways() -> None:
    assert entities("We use LM-40 and the Corvus 210.", "en") == ["lm-40_and_the_corvus_210", "lm-40", "corvus_210"]


@pytest.mark.parametrize(
    "text", ["Apples are red.", "He left. Apples are red.", "- Apples", "# Apples\n\n* Pears", "Why? Nobody knows."]
)
def test_a_single_word_at_the_start_of_a_sentence_is_not_a_name(text: str) -> None:
    assert entities(text, "en") == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("It moved to the U.S. last year.", ["u.s"]),
        ("We met the U.S. Army there.", ["u.s._army"]),
        ("He read J.R.R. Tolkien as a boy.", ["j.r.r._tolkien"]),
    ],
)
def test_initials_without_spaces_are_one(text: str, names: list[str]) -> None:
    assert entities(text, "en") == names


@pytest.mark.parametrize(
    ("text", "language", "name"),
    [("请用Kubernetes部署集群", "zh", "kubernetes"), ("これはLM-40です", "ja", "lm-40")],
)
def test_a_latin_name_ends_where_another_script_begins(text: str, language: Language, name: str) -> None:
    assert name in entities(text, language)


def test_a_name_does_not_start_within_a_word() -> None:
    assert "phone" not in entities("we sell the iPhone here", "en")


def test_common_words_before_a_name_are_not_part_of_it() -> None:
    assert entities("The Glass Harbour. However, In Dublin we read.", "en") == ["glass_harbour", "dublin"]


def test_chinese_names_are_those_the_segmenter_tags_and_titles() -> None:
    found = entities("王小明在北京大学学习，读过《红楼梦》和 Kubernetes。", "zh")
    assert set(found) == {"王小明", "北京大学", "红楼梦", "kubernetes"}


def test_japanese_names_are_katakana_kanji_compounds_and_terms_in_brackets() -> None:
    found = entities("宮崎駿監督の「千と千尋の神隠し」はスタジオジブリの作品で、東京都庁の LM-40 にもある。", "ja")
    assert set(found) == {"千と千尋の神隠し", "スタジオジブリ", "宮崎駿監督", "東京都庁", "lm-40"}


def test_spellings_of_one_name_are_one() -> None:
    assert entities("ｽﾀｼﾞｵｼﾞﾌﾞﾘの映画", "ja") == entities("スタジオジブリの映画", "ja") == ["スタジオジブリ"]
    assert entities("we use ＫＵＢＥＲＮＥＴＥＳ", "en") == entities("we use Kubernetes", "en")


def test_long_phrases_are_headlines() -> None:
    assert entities("we saw " + "A" * (MAX_LENGTH + 1), "en") == []
    assert entities("we saw " + "A" * MAX_LENGTH, "en") == ["a" * MAX_LENGTH]


def test_the_number_of_names_is_limited() -> None:
    found = entities(". ".join(f"we met Ann{number} Lee" for number in range(100)), "en")
    assert found == [f"ann{number}_lee" for number in range(MAX_ENTITIES)]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("The Glass Harbour (novel)", "the_glass_harbour"),
        ("玻璃海港（小说）", "玻璃海港"),
        ("硝子の港 (小説)", "硝子の港"),
        ("Mercury (planet) (old)", "mercury"),
        ("  Two   words ", "two_words"),
        ("Ｆｕｌｌ　Ｗｉｄｔｈ", "full_width"),
        ("LM-40", "lm-40"),
        ("(all of it)", ""),
        ("A", ""),
        ("", ""),
        ("a" * (MAX_LENGTH + 1), ""),
    ],
)
def test_title_entity(title: str, name: str) -> None:
    assert title_entity(title) == name


def test_a_title_and_its_mention_are_one_name() -> None:
    assert title_entity("Miriam Okafor (writer)") in entities("It was written by Miriam Okafor.", "en")
    assert title_entity("スタジオジブリ") in entities("映画はスタジオジブリの作品です。", "ja")
    assert title_entity("红楼梦") in entities("他读过《红楼梦》。", "zh")


@given(ANY_TEXT, st.sampled_from(["en", "zh", "ja"]))
def test_names_contain_no_white_space(text: str, language: Language) -> None:
    found = entities(text, language)
    assert " ".join(found).split() == found
    assert len(found) == len(set(found)) <= MAX_ENTITIES
    assert all(1 < len(name) <= MAX_LENGTH for name in (*found, title_entity(text) or "--"))


@pytest.mark.parametrize(
    "unit", ["A", "A ", "A. ", "A.", "A' ", "Aa of the ", "「", "「あ", "《", "ア", "中", "(", "王小明"]
)
@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_time_is_linear(unit: str, language: Language) -> None:
    text = unit * (50_000 // len(unit))
    started = time.process_time()
    entities(text, language)
    title_entity(text)
    assert time.process_time() - started < 20
