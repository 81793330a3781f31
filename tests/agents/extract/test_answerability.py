"""Whether the evidence holds the answer (SPEC X2): each signal does what it says."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from tests.agents.passages import LEAVE as OFFICES
from tests.agents.passages import passage
from tests.agents.test_extractive_writer import ELSEWHERE, evidence
from veracity.agents.extract.answer_types import Kind, answers_in, kind_expected
from veracity.agents.extract.answerability import ANSWERABLE, Signals, chance, of_something_else, signals_of
from veracity.agents.extract.candidates import language_of, ranked_candidates
from veracity.agents.extract.keywords import in_own_words, keywords
from veracity.language import Language, guess_language, normalized
from veracity.language.names import names_in
from veracity.models import Evidence


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was it built?", "date"),
        ("上映时间？", "date"),
        ("完成したのは何年ですか", "date"),
        ("How many rooms are there?", "amount"),
        ("2022年高考报名人数", "amount"),
        ("社員は何人ですか", "amount"),
        ("Who wrote it?", "person"),
        ("《四海》的导演", "person"),
        ("作者は誰ですか", "person"),
        ("Where is it?", "place"),
        ("巴西的首都在哪", "place"),
        ("首都は？", "place"),
        ("What is a heat pump?", "thing"),
        ("口号是什么", "thing"),
        ("主食は何ですか", "thing"),
    ],
)
def test_the_kind_of_thing_a_question_expects(question: str, kind: Kind) -> None:
    assert kind_expected(question) == kind


@pytest.mark.parametrize(
    ("text", "question", "shown"),
    [
        ("It opened on 4 May 1999 with 300 rooms.", "When did it open?", ["4 May", "1999"]),
        ("It opened in 1999 with 300 rooms.", "How many rooms?", ["300"]),
        ("2022年6月3日开赛，共18支球队。", "2022赛季什么时候开赛？", ["2022年6月3日"]),
        ("预计132人，花费5亿元。", "有多少人？", ["132"]),
        ("导演陈凯歌来到现场。", "导演是谁？", ["陈凯歌"]),
        ("会议将在上海举办。", "会议在哪举办？", ["上海"]),
        ("1975年に連載が始まり、全3巻である。", "始まったのはいつですか", ["1975年"]),
        ("州都はハノーファーである。", "州都はどこですか", ["州都", "ハノーファー"]),
    ],
)
def test_where_things_of_that_kind_stand(text: str, question: str, shown: list[str]) -> None:
    plain = normalized(text)
    spans = answers_in(plain, question, kind_expected(question), guess_language(text))
    assert [plain[start:end] for start, end in spans] == shown


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How many days of leave do staff get?", ["days", "leave", "staff get"]),
        ("员工每年有多少天年假？", ["员工每年", "年假"]),
        ("有給休暇は何日ですか？", ["有給休暇"]),
    ],
)
def test_the_words_of_a_question_are_named_as_it_spells_them(question: str, wanted: list[str]) -> None:
    assert list(in_own_words(question, keywords(question, guess_language(question)))) == wanted


def signals(question: str, found: Sequence[Evidence]) -> Signals:
    return signals_of(*ranked_candidates(question, found), found)


def fit_of(question: str, *texts: str) -> float:
    return signals(question, evidence(*texts)).fit


def test_words_fit_the_better_the_nearer_they_stand() -> None:
    question = "How many days of leave do staff get?"
    between = "and it is told at length in the book on the shelf beside the window of the big hall" + " and so on" * 9
    near = fit_of(question, "Staff get 25 days of leave.", ELSEWHERE["en"])
    apart = fit_of(question, f"Staff get much {between}, which is 25 days of leave.", ELSEWHERE["en"])
    next_to_it = fit_of(question, "Staff get much. It is 25 days of leave.", ELSEWHERE["en"])
    absent = fit_of(question, "It is 25 days of leave.", ELSEWHERE["en"])
    assert near > apart > next_to_it > absent


@pytest.mark.parametrize(
    ("question", "shows", "lacks"),
    [
        ("When was Acme founded?", "Acme was founded in 1987.", "Acme was founded by friends."),
        ("Acme公司什么时候成立？", "Acme公司成立于1987年。", "Acme公司成立于水边。"),
        ("Acme社の設立はいつですか？", "Acme社の設立は1987年です。", "Acme社の設立は友人による。"),
    ],
)
def test_a_sentence_that_shows_the_kind_asked_for_fits_better(question: str, shows: str, lacks: str) -> None:
    assert fit_of(question, shows) > fit_of(question, lacks)


def test_what_the_question_says_itself_is_no_answer() -> None:
    assert fit_of("什么时候举办2022年大会？", "2022年大会9月3日举办。") > fit_of(
        "什么时候举办2022年大会？", "2022年大会已经在筹备举办。"
    )


def test_another_document_that_says_the_same_agrees() -> None:
    question = "公司有多少名员工？"
    same = evidence("公司有132名员工。", "据报道，公司员工共有132名。")
    other = evidence("公司有132名员工。", "据报道，公司员工共有98名。")
    [agrees, differs] = [signals(question, found).agreement for found in (same, other)]
    assert agrees > 0.5
    assert differs == 0


def test_passages_of_one_document_do_not_agree_with_each_other() -> None:
    found = [item.model_copy(update={"document_id": "one"}) for item in evidence("公司有132名员工。", "员工132名。")]
    seen = signals("公司有多少名员工？", found)
    assert (seen.agreement, seen.distance) == (0, 0)


def test_what_fits_far_better_than_the_rest_stands_out() -> None:
    question = "How many days of leave do staff get?"
    alone = evidence("Staff get 25 days of leave.", ELSEWHERE["en"])
    among = evidence("Staff get 25 days of leave.", "Staff may get some days of leave, says the portal.")
    [far, close] = [signals(question, found).distance for found in (alone, among)]
    assert far > 0.4
    assert close < 0.2


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_every_signal_but_a_lack_raises_the_chance_or_leaves_it(language: Language) -> None:
    low = Signals(0.4, 0.1, 0.1, 0.4, 0.1, meaning=0.4 if language == "en" else None)
    for name in ("fit", "agreement", "distance", "relevance", "setting"):
        assert chance(low._replace(**{name: 0.9}), language) >= chance(low, language)
    assert chance(low._replace(lack=1.0), language) < chance(low, language)
    assert chance(Signals(0.0), language) < ANSWERABLE
    assert chance(Signals(1.0, distance=0.7, relevance=0.9), language) > ANSWERABLE


def of_one_document(*texts: str) -> list[Evidence]:
    """The texts, and one of another document."""
    [*own, other] = evidence(*texts, ELSEWHERE[guess_language(texts[0])])
    return [*(item.model_copy(update={"document_id": "one"}) for item in own), other]


LEAVE = {
    "en": ("Leave of staff", "Staff take it in days.", "Ask for leave early.", "How many days of leave do staff take?"),
    "zh": ("员工年假", "每位员工可休12天。", "年假要提前申请。", "员工的年假可以休几天？"),
    "ja": (
        "社員の有給休暇",
        "年に12日を付与する。",
        "有給休暇は早めに申請する。",
        "社員の有給休暇は何日付与されますか。",
    ),
}


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_headings_help_the_sentences_below_them_and_are_none_themselves(language: Language) -> None:
    heading, below, _, question = LEAVE[language]
    bare, headed = evidence(below, ELSEWHERE[language]), evidence(f"## {heading}\n\n{below}", ELSEWHERE[language])
    assert signals(question, headed).fit > signals(question, bare).fit
    assert heading not in [one.sentence.text.strip("# ") for one in ranked_candidates(question, headed)[1]]


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_a_document_that_search_comes_back_to_is_about_the_question(language: Language) -> None:
    _, below, further, question = LEAVE[language]
    [often, once] = [signals(question, of_one_document(*texts)).setting for texts in ((below, further), (below,))]
    assert often > once == 0


def test_where_there_is_but_one_document_coming_back_to_it_tells_less() -> None:
    _, below, further, question = LEAVE["zh"]
    found = of_one_document(below, further)
    assert 0 < signals(question, found[:-1]).setting < signals(question, found).setting


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How long is paternity leave?", "Annual leave is 24 days long."),
        ("陪产假期有多少天？", "婚假假期为13天。"),
        ("卓球クラブの部員は何人ですか。", "公認クラブの部員は8名以上とする。"),
    ],
)
def test_a_word_that_stands_nowhere_before_one_that_does_is_a_lack(question: str, text: str) -> None:
    found = evidence(text, ELSEWHERE[guess_language(text)])
    assert signals(question, found).lack == 1
    assert signals(question, [*found, *evidence(question)]).lack == 0


def test_small_chinese_words_weigh_less_than_names() -> None:
    weights = {word.key: word.weight for word in keywords("去深圳出差以后酒店每晚多少钱？", "zh")}
    assert weights["深圳"] == weights["酒店"] > weights["以后"] == weights["每晚"]


def test_a_short_chinese_word_is_found_in_the_long_one() -> None:
    assert fit_of("公司年假有几天？", "公司年休假为12天。") > fit_of("公司年假有几天？", "公司休息为12天。")


def test_a_chinese_question_stays_chinese_whatever_is_found() -> None:
    found = evidence(ELSEWHERE["ja"])
    assert language_of("工牌丢了补办要多少钱？", found) == "zh"
    assert language_of("有給休暇付与日数", found) == "ja"


def test_a_question_of_kanji_is_japanese_where_the_evidence_is() -> None:
    found = evidence("有給休暇の付与日数は年間25日です。", ELSEWHERE["ja"])
    assert ranked_candidates("有給休暇付与日数", found)[1][0].fit > 0.7


@pytest.mark.parametrize("piece", ["『", "1,", "A ", "[", "二", "ア・", "月", "leave ", "假期1", "Staff. "])
def test_hostile_text_takes_linear_time(piece: str) -> None:
    questions = (
        "How many leave?",
        "Who leaves?",
        "假期时间",
        "假期多少",
        "谁的假",
        "休暇は誰",
        "休暇の場所は？",
        "假期是什么",
    )
    started = time.process_time()
    for question in questions:
        ranked_candidates(question, evidence(f"leave 假期 休暇 {piece * 5000}"))
    assert time.process_time() - started < 5


ASKED_OF = {
    "en": "How many days of annual leave do staff in {} have?",
    "zh": "{}的员工每年有多少天年休假？",
    "ja": "{}オフィスの有給休暇は何日ですか。",
}


@pytest.mark.parametrize(
    ("language", "own", "other"),
    [("en", "Dublin", "Osaka"), ("zh", "上海", "大阪"), ("zh", "上海", "都柏林"), ("ja", "大阪", "ダブリン")],
)
def test_a_passage_on_another_office_is_told_with_the_name_that_it_lacks(language: str, own: str, other: str) -> None:
    assert of_something_else(ASKED_OF[language].format(own), OFFICES[language]) == {}
    found = of_something_else(ASKED_OF[language].format(other), OFFICES[language])
    assert {number: [name.text for name in lacked] for number, lacked in found.items()} == {0: [other], 1: [other]}


def test_a_name_that_only_another_document_has_tells_them_apart() -> None:
    found = evidence("Being on call is paid at 310 euro a week.", "The Osaka office opened in 1999.")
    assert set(of_something_else("What is on-call duty paid in Osaka?", found)) == {0}
    assert of_something_else("What is on-call duty paid in Paris?", found) == {}


def test_where_a_document_came_from_vouches_for_it() -> None:
    (found,) = evidence("入社日に10日を付与する。")
    named = found.model_copy(update={"title": "大阪オフィス 休暇規程", "location": "handbook/osaka/leave.md"})
    assert of_something_else("How many days of leave are there in Osaka?", [named]) == {}
    assert set(of_something_else("How many days of leave are there in Dublin?", [named])) == {0}


def test_who_asks_about_two_offices_may_hear_of_either() -> None:
    both = [OFFICES["en"][0], passage("osaka/leave.md", "年次有給休暇")]
    assert of_something_else("Do staff in Dublin have more days of leave than staff in Osaka?", both) == {}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Do Irish staff work on Mondays?", "The public holidays of Ireland are free."),
        ("How many people work in New York?", "The NYC office has 40 desks."),
        ("How many people work in NYC?", "New York City has 40 desks."),
        ("How many people work in the US?", "The office in the United States has 40 desks."),
        ("What did Barack Obama say?", "Mr Obama said so."),
        ("Why was pump P-7 shut down?", "It shut down pump P-7."),
        ("What does the Osaka Office cost?", "Osaka’s rent is due in May."),
        ("大阪市的办公室有多少人？", "大阪支社有四十人。"),
        ("美国有多少名队员？", "美军队员有四十名。"),
        ("大阪の社員は何人ですか", "大阪支社の社員は40人です。"),
    ],
)
def test_another_form_of_a_name_is_that_name(question: str, text: str) -> None:
    (name,) = names_in(question)
    assert name.stands_in(text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many days do staff in Shanghai have?", "They receive the same share of leave."),
        ("How many people work in the US?", "We use the bus under supervision."),
        ("What does the Osaka Office cost?", "The Dublin office is rented."),
        ("How many people work in Lima?", "The climate is mild."),
        ("Why was pump P-7 shut down?", "It shut down pump P-71."),
        ("大阪的员工有多少？", "大连的员工有四十人。"),
    ],
)
def test_a_word_that_begins_alike_is_not_that_name(question: str, text: str) -> None:
    (name,) = names_in(question)
    assert not name.stands_in(text)


def test_what_only_looks_like_a_name_is_none() -> None:
    assert names_in("Is the office open on Monday in December? Explain, please.") == []
    assert names_in("HOW MANY DAYS OF LEAVE?") == []
    assert names_in("リモートワークの申請は何日前までですか") == []


def test_names_of_hostile_texts_take_little_time() -> None:
    question, text = "Where is " + "NYC Aa " * 2000 + "?", "N" + "y" * 50_000 + " Ny Cc " * 20_000
    started = time.process_time()
    for name in names_in(question):
        name.stands_in(text)
    assert time.process_time() - started < 2
