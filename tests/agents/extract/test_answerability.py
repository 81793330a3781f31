"""The probability that the evidence contains the answer, and its signals (SPEC X2)."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from tests.agents.passages import LEAVE as OFFICES
from tests.agents.passages import passage
from tests.agents.test_extractive_writer import ELSEWHERE, evidence
from tests.retrieval.memory import Concepts
from veracity.agents.extract.answer_types import Kind, expected_kind, find_answers
from veracity.agents.extract.answerability import (
    ANSWERABLE_THRESHOLD,
    Signals,
    answer_probability,
    compute_signals,
    find_other_subjects,
)
from veracity.agents.extract.candidates import detect_language, rank_candidates
from veracity.agents.extract.keywords import extract_keywords, quote_words
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
        ("受付は何時からですか", "date"),
        ("研修は何時間ですか", "amount"),
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
def test_expected_kind_of_a_question(question: str, kind: Kind) -> None:
    assert expected_kind(question) == kind


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
        ("2019年の移転後は午前9時30分に開きます。", "何時に開きますか", ["9時30分"]),
        ("州都はハノーファーである。", "州都はどこですか", ["州都", "ハノーファー"]),
    ],
)
def test_answers_of_a_kind_are_found(text: str, question: str, shown: list[str]) -> None:
    plain = normalized(text)
    spans = find_answers(plain, question, expected_kind(question), guess_language(text))
    assert [plain[start:end] for start, end in spans] == shown


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("How many days of leave do staff get?", ["days", "leave", "staff get"]),
        ("员工每年有多少天年假？", ["员工每年", "年假"]),
        ("有給休暇は何日ですか？", ["有給休暇"]),
    ],
)
def test_keywords_are_quoted_as_written(question: str, wanted: list[str]) -> None:
    assert list(quote_words(question, extract_keywords(question, guess_language(question)))) == wanted


def signals(question: str, found: Sequence[Evidence]) -> Signals:
    return compute_signals(*rank_candidates(question, found), found)


def fit_of(question: str, *texts: str) -> float:
    return signals(question, evidence(*texts)).fit


def test_fit_increases_with_nearness() -> None:
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
def test_sentence_with_the_expected_kind_fits_better(question: str, shows: str, lacks: str) -> None:
    assert fit_of(question, shows) > fit_of(question, lacks)


def test_words_of_the_question_are_not_an_answer() -> None:
    assert fit_of("什么时候举办2022年大会？", "2022年大会9月3日举办。") > fit_of(
        "什么时候举办2022年大会？", "2022年大会已经在筹备举办。"
    )


def test_another_document_with_the_same_answer_agrees() -> None:
    question = "公司有多少名员工？"
    same = evidence("公司有132名员工。", "据报道，公司员工共有132名。")
    other = evidence("公司有132名员工。", "据报道，公司员工共有98名。")
    [agrees, differs] = [signals(question, found).agreement for found in (same, other)]
    assert agrees > 0.5
    assert differs == 0


def test_passages_of_one_document_do_not_count_as_agreement() -> None:
    found = [item.model_copy(update={"document_id": "one"}) for item in evidence("公司有132名员工。", "员工132名。")]
    seen = signals("公司有多少名员工？", found)
    assert seen.agreement == 0


def test_lead_is_the_difference_in_rank_to_other_documents() -> None:
    question = "How many days of leave do staff get?"
    among = signals(question, evidence("Staff get 25 days of leave.", "Staff may get some days of leave, says a page."))
    assert 0 < among.lead < among.rank
    alone = signals(question, evidence("Staff get 25 days of leave."))
    assert alone.lead == alone.rank > 1


def test_rank_and_lead_do_not_depend_on_the_scale_of_another_embedder() -> None:
    question = "How many days of leave do staff get?"
    found = evidence("Staff get 25 days of leave.", ELSEWHERE["en"])
    embedder = Concepts()
    without = signals(question, found)
    with_it = compute_signals(*rank_candidates(question, found, embedder), found, embedder)
    assert with_it.meaning is None
    assert (with_it.rank, with_it.lead) == pytest.approx((without.rank, without.lead))


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_only_subject_mismatch_lowers_the_probability(language: Language) -> None:
    low = Signals(0.4, 0.1, 0.4, 0.1, meaning=0.4 if language == "en" else None)
    for name in ("fit", "agreement", "relevance", "topic_match", "rank", "lead"):
        assert answer_probability(low._replace(**{name: 0.9}), language) >= answer_probability(low, language)
    assert answer_probability(low._replace(subject_mismatch=1.0), language) < answer_probability(low, language)
    assert answer_probability(Signals(0.0), language) < ANSWERABLE_THRESHOLD
    good = Signals(1.0, relevance=0.9, rank=1.2, lead=0.7)
    assert answer_probability(good, language) > ANSWERABLE_THRESHOLD


def in_one_document(*texts: str) -> list[Evidence]:
    """The texts as passages of one document, and a passage of another."""
    [*same, other] = evidence(*texts, ELSEWHERE[guess_language(texts[0])])
    return [*(item.model_copy(update={"document_id": "one"}) for item in same), other]


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
def test_headings_add_to_the_fit_of_sentences_below_but_are_not_candidates(language: Language) -> None:
    heading, below, _, question = LEAVE[language]
    bare, headed = evidence(below, ELSEWHERE[language]), evidence(f"## {heading}\n\n{below}", ELSEWHERE[language])
    assert signals(question, headed).fit > signals(question, bare).fit
    assert heading not in [one.text.strip("# ") for one in rank_candidates(question, headed)[1]]


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_topic_match_increases_with_passages_of_the_document(language: Language) -> None:
    _, below, further, question = LEAVE[language]
    [often, once] = [signals(question, in_one_document(*texts)).topic_match for texts in ((below, further), (below,))]
    assert often > once == 0


def test_topic_match_is_lower_with_a_single_document() -> None:
    _, below, further, question = LEAVE["zh"]
    found = in_one_document(below, further)
    assert 0 < signals(question, found[:-1]).topic_match < signals(question, found).topic_match


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How long is paternity leave?", "Annual leave is 24 days long."),
        ("陪产假期有多少天？", "婚假假期为13天。"),
        ("卓球クラブの部員は何人ですか。", "公認クラブの部員は8名以上とする。"),
    ],
)
def test_missing_word_before_a_present_one_is_a_subject_mismatch(question: str, text: str) -> None:
    found = evidence(text, ELSEWHERE[guess_language(text)])
    assert signals(question, found).subject_mismatch == 1
    assert signals(question, [*found, *evidence(question)]).subject_mismatch == 0


def test_short_chinese_word_is_found_inside_a_longer_one() -> None:
    assert fit_of("公司年假有几天？", "公司年休假为12天。") > fit_of("公司年假有几天？", "公司休息为12天。")


def test_chinese_question_stays_chinese() -> None:
    found = evidence(ELSEWHERE["ja"])
    assert detect_language("工牌丢了补办要多少钱？", found) == "zh"
    assert detect_language("有給休暇付与日数", found) == "ja"


def test_kanji_question_is_japanese_if_the_evidence_is() -> None:
    found = evidence("有給休暇の付与日数は年間25日です。", ELSEWHERE["ja"])
    assert rank_candidates("有給休暇付与日数", found)[1][0].fit > 0.7


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
        rank_candidates(question, evidence(f"leave 假期 休暇 {piece * 5000}"))
    assert time.process_time() - started < 10


ASKED_OF = {
    "en": "How many days of annual leave do staff in {} have?",
    "zh": "{}的员工每年有多少天年休假？",
    "ja": "{}オフィスの有給休暇は何日ですか。",
}


@pytest.mark.parametrize(
    ("language", "own", "other"),
    [("en", "Dublin", "Osaka"), ("zh", "上海", "大阪"), ("zh", "上海", "都柏林"), ("ja", "大阪", "ダブリン")],
)
def test_passage_about_another_office_is_found_with_the_name_it_lacks(language: str, own: str, other: str) -> None:
    assert find_other_subjects(ASKED_OF[language].format(own), OFFICES[language]) == {}
    found = find_other_subjects(ASKED_OF[language].format(other), OFFICES[language])
    assert {number: [name.text for name in lacked] for number, lacked in found.items()} == {0: [other], 1: [other]}


def test_name_in_another_document_only_separates_them() -> None:
    found = evidence("Being on call is paid at 310 euro a week.", "The Osaka office opened in 1999.")
    assert set(find_other_subjects("What is on-call duty paid in Osaka?", found)) == {0}
    assert find_other_subjects("What is on-call duty paid in Paris?", found) == {}


def test_location_of_a_document_counts_as_its_name() -> None:
    (found,) = evidence("入社日に10日を付与する。")
    named = found.model_copy(update={"title": "大阪オフィス 休暇規程", "location": "handbook/osaka/leave.md"})
    assert find_other_subjects("How many days of leave are there in Osaka?", [named]) == {}
    assert set(find_other_subjects("How many days of leave are there in Dublin?", [named])) == {0}


def test_question_about_two_offices_accepts_either() -> None:
    both = [OFFICES["en"][0], passage("osaka/leave.md", "年次有給休暇")]
    assert find_other_subjects("Do staff in Dublin have more days of leave than staff in Osaka?", both) == {}


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
def test_inflected_name_matches(question: str, text: str) -> None:
    (name,) = names_in(question)
    assert name.is_mentioned_in(text)


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
def test_word_with_the_same_beginning_does_not_match(question: str, text: str) -> None:
    (name,) = names_in(question)
    assert not name.is_mentioned_in(text)


def test_false_names_are_ignored() -> None:
    assert names_in("Is the office open on Monday in December? Explain, please.") == []
    assert names_in("HOW MANY DAYS OF LEAVE?") == []
    assert names_in("リモートワークの申請は何日前までですか") == []


def test_names_in_hostile_text_take_linear_time() -> None:
    question, text = "Where is " + "NYC Aa " * 2000 + "?", "N" + "y" * 50_000 + " Ny Cc " * 20_000
    started = time.process_time()
    for name in names_in(question):
        name.is_mentioned_in(text)
    assert time.process_time() - started < 10
