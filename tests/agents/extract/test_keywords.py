"""Keywords of a question, and how they are quoted where an abstention says what is missing (SPEC X2, X5)."""

import pytest

from veracity.agents.extract.keywords import Keyword, extract_keywords, find_positions, quote_words
from veracity.language import Language, guess_language


def quote(question: str, *keys: str) -> tuple[str, ...]:
    places = [(key, question.index(key)) for key in keys]
    return quote_words(question, [Keyword(key, 1.0, start, start + len(key)) for key, start in places])


@pytest.mark.parametrize(
    ("question", "keys", "quoted"),
    [
        ("1992年当時の国際連合事務総長は", ["合事"], ["国際連合事務総長"]),
        ("ポルノ出演、性行為が適法とされる年齢は", ["性行"], ["性行為"]),
        ("ハエのたからない魚にはウジが発生しない", ["たか", "発生"], ["発生"]),
        ("フストとシェッファーに追い出されたのは誰", ["フス"], ["フスト"]),
        ("申し込みはいつですか", ["申"], ["申し込み"]),
        ("COMILOGロープウェイが開通したのはいつ", ["COMILOG"], ["COMILOGロープウェイ"]),
        ("食べたのは何", ["食"], ["食べ"]),
        ("たばこはどこで吸えますか", ["たば"], ["たばこ"]),
        ("書簡に基く臨時措置を強めるべきか", ["臨時", "強"], ["臨時措置", "強める"]),
        ("16歳以上の人は", ["16"], ["16歳以上"]),
    ],
)
def test_x2_japanese_words_are_quoted_whole(question: str, keys: list[str], quoted: list[str]) -> None:
    assert list(quote(question, *keys)) == quoted


def test_x2_chinese_words_are_quoted_as_segmented() -> None:
    assert quote("员工每年有多少天年休假？", "年休假") == ("年休假",)
    assert quote("在北京工作的工程师有什么补贴？", "工程师", "补贴") == ("工程师", "补贴")


@pytest.mark.parametrize(
    ("question", "key"),
    [("日本で一番大きい湖はどこですか", "湖"), ("最寄りの駅から会社まで何分", "駅"), ("中国最大的湖在哪里", "湖")],
)
def test_x5_single_han_characters_are_keywords(question: str, key: str) -> None:
    language = guess_language(question)
    [word] = [word for word in extract_keywords(question, language) if word.key == key]
    assert 0 < word.weight <= 1


@pytest.mark.parametrize(
    ("language", "text"), [("ja", "琵琶湖は日本で最大の湖である。"), ("zh", "青海湖是中国最大的湖。")]
)
def test_x5_single_han_characters_are_found_inside_words(language: Language, text: str) -> None:
    wanted = extract_keywords({"ja": "一番大きい湖は", "zh": "最大的湖"}[language], language)
    assert len(find_positions(wanted, text, language)["湖"]) == 2


@pytest.mark.parametrize("piece", ["たか", "湖", "湖の", "ア", "a ", "1", "り湖"])
def test_long_questions_are_quoted_in_linear_time(piece: str) -> None:
    question = piece * 20_000
    language = guess_language(question)
    assert isinstance(quote_words(question, extract_keywords(question, language)), tuple)
