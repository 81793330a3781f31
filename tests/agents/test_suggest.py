"""Questions made from headings and sentences read like those of a person, in three languages (SPEC X5)."""

import pytest

from veracity.agents.suggest import is_repetition, rank_question, suggest_questions
from veracity.language import Language

ENGLISH = {
    "Full-time staff receive 24 days of paid annual leave, in addition to the public holidays.": (
        "How many days of paid annual leave do full-time staff receive?"
    ),
    "Two engineers of the Dublin team are on call at any time.": (
        "How many engineers of the Dublin team are on call at any time?"
    ),
    "A turn lasts one week and changes on Wednesday.": "How long does a turn last?",
    "Reports are kept for six years.": "How long are reports kept?",
    "Newcomers join the rota after four months, and shadow two turns.": "When do newcomers join the rota?",
    "The leave year is the calendar year.": "What is the leave year?",
    "Premium economy may be booked for longer flights if the manager agrees.": (
        "When may premium economy be booked for longer flights?"
    ),
    "A lost receipt can be replaced by a signed note, at most twice a year.": (
        "Can a lost receipt be replaced by a signed note?"
    ),
    "## Claiming the money back": "How does claiming the money back work?",
    "## Who may travel first class?": "Who may travel first class?",
    "## Install the agent": "How do I install the agent?",
}
CHINESE = {
    "当年未休完的年休假最多可结转6天，须在次年6月30日前休完。": "当年未休完的年休假最多可结转多少天？",
    "直属主管应在两个工作日内审批。": "直属主管应在几个工作日内审批？",
    "加班须事先由部门经理批准。": "加班须事先由谁批准？",
    "连续休假三天以内的，提前三个工作日提交。": "连续休假三天以内的，提前几个工作日提交？",
    "- 婚假：13天，一次休完": "婚假有多少天？",
}
JAPANESE = {
    "時間単位の取得は年間40時間を上限とする。": "時間単位の取得は年間何時間を上限としますか？",
    "正面玄関は平日の7時45分から20時まで開いています。": "正面玄関は平日の何時から何時まで開いていますか？",
    "生産を終了した機種の修理は、終了後8年間受け付ける。": "生産を終了した機種の修理は、終了後何年間受け付けますか？",
    "ごみは4種類に分別します。": "ごみは何種類に分別しますか？",
    "- 結婚休暇：連続5日": "結婚休暇は何日ですか？",
}
CASES = [
    *(("en", text, question) for text, question in ENGLISH.items()),
    *(("zh", text, question) for text, question in CHINESE.items()),
    *(("ja", text, question) for text, question in JAPANESE.items()),
]
# They refer to something else, say nothing that can be asked for, or are no prose.
WITHOUT: list[tuple[Language, str]] = [
    ("en", "They must be taken by 31 March."),
    ("en", "This is described in the next section."),
    ("en", "Run `veracity serve` to start 2 servers."),
    ("en", "| Vehicle | Rate |\n| --- | --- |\n| Car | 0.41 euro |"),
    ("en", "## Rates"),
    ("en", "One model reads English."),
    ("zh", "其有效期为三年。"),
    ("zh", "本办法自2025年1月1日起施行。"),
    ("zh", "两名同性员工同行时不要求合住。"),
    ("ja", "その期間は3年とする。"),
    ("ja", "2024年度の問い合わせは2,930件、そのうち解決した割合は68パーセントであった。"),
]


@pytest.mark.parametrize(("language", "text", "question"), CASES)
def test_a_question_is_made_of_a_sentence_or_heading(language: Language, text: str, question: str) -> None:
    [suggestion] = suggest_questions(f"{text}\n", language)
    assert suggestion.question == question
    assert text[suggestion.start : suggestion.end] == text, "where it comes from"


@pytest.mark.parametrize(("language", "text"), WITHOUT)
def test_nothing_is_asked_that_would_be_a_guess(language: Language, text: str) -> None:
    assert list(suggest_questions(f"{text}\n", language)) == []


def test_self_contained_questions_come_first() -> None:
    text = (
        "Cars are washed by the staff of the garage. Reports are kept for six years. "
        "Full-time staff receive 24 days of leave."
    )
    found = [item.question for item in suggest_questions(text, "en")]
    found.sort(key=lambda question: rank_question(question, "en"))
    assert found[0] == "How many days of leave do full-time staff receive?"
    assert found[-1] == "Are cars washed by the staff of the garage?"


def test_a_repeated_question_is_recognised() -> None:
    assert is_repetition("How many days of leave do staff receive?", "How many days of leave do the staff get?", "en")
    assert not is_repetition("When are salaries paid?", "How many days of leave do the staff get?", "en")
    assert is_repetition("婚假有多少天？", "请问婚假多少天？", "zh")


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_hostile_text_ends_and_gives_no_long_question(language: Language) -> None:
    """Patterns that backtrack would not end on these texts."""
    for piece in ("Aa ", "one two ", "1天", "何1日、", "A is ", "- a：", "## a ", "1,", "the "):
        assert all(len(found.question) < 300 for found in suggest_questions(piece * 20_000, language))
