"""The reviewer without a model: its faults, suggestions and confidence (SPEC A6, A7, X1)."""

from collections.abc import Sequence

import pytest

from tests.agents.passages import LEAVE, QUESTION, SOUND, WRONG
from veracity.agents.base import Reviewer, ReviewTask
from veracity.agents.local_reviewer import Fault, LocalReviewer, check_draft
from veracity.models import Evidence, Review
from veracity.settings import AnsweringSettings

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh", "ja"])
COUNTS = AnsweringSettings().least_confidence


def review(draft: str, language: str = "en", question: str = "", evidence: Sequence[Evidence] | None = None) -> Review:
    reviewer: Reviewer = LocalReviewer()
    assert reviewer.model == ""
    found = LEAVE[language] if evidence is None else evidence
    return reviewer.review(ReviewTask(question or QUESTION[language], draft, found))


@LANGUAGES
def test_sound_draft_passes(language: str) -> None:
    found = review(SOUND[language], language)
    assert found.passed and found.outcome == "passed" and found.suggestions == []
    assert found.reasonableness is not None and found.reasonableness.passed
    assert found.evidence is not None and found.evidence.passed
    assert found.confidence >= 0.6 and found.reviewer == "local"


@LANGUAGES
def test_wrong_number_is_reported_with_the_source(language: str) -> None:
    found = review(WRONG[language], language)
    wrong, right = {"en": ("30 days", "24 days"), "zh": ("20天", "12天"), "ja": ("15日", "10日")}[language]
    assert found.outcome == "failed" and not found.passed and found.confidence >= 0.9
    (suggestion,) = found.suggestions
    assert wrong in suggestion and right in suggestion and "[1]" in suggestion
    assert found.evidence is not None and not found.evidence.passed
    assert found.reasonableness is not None and found.reasonableness.passed


@LANGUAGES
def test_mark_without_evidence_is_a_sure_fault(language: str) -> None:
    found = review(SOUND[language].replace("[2]", "[9]"), language)
    (suggestion,) = found.suggestions
    assert "[9]" in suggestion and "2" in suggestion and found.confidence == 1.0


@LANGUAGES
def test_missing_mark_is_reported_with_the_right_one(language: str) -> None:
    found = review(SOUND[language].replace("[2]", ""), language)
    (suggestion,) = found.suggestions
    assert "[2]" in suggestion and found.confidence >= COUNTS


@LANGUAGES
def test_wrong_mark_is_reported_with_the_right_one(language: str) -> None:
    found = review(SOUND[language].replace("[2]", "[1]"), language)
    (suggestion,) = found.suggestions
    assert "[1]" in suggestion and "[2]" in suggestion


def test_reversed_statement_fails() -> None:
    found = review("试用期员工可以享受年休假[1]。", "zh", question="试用期员工享受年休假吗？")
    assert found.outcome == "failed" and "试用期员工不享受年休假" in found.suggestions[0]


@pytest.mark.parametrize(
    "language, question, part",
    [
        ("en", "How many days of annual leave do staff get, and when was the policy revised?", "when was the policy"),
        ("zh", "员工每年有多少天年休假，谁来批准？", "谁来批准"),
        ("ja", "有給休暇は何日付与されますか。なぜ上限がありますか。", "なぜ上限"),
    ],
)
def test_unanswered_part_is_named(language: str, question: str, part: str) -> None:
    draft = {
        "en": "Staff receive the public holidays of Ireland, in addition to annual leave [1].",
        "zh": "员工入职满一年后，每年享有带薪年休假12天[1]。",
        "ja": "入社日に10日が付与されます[1]。",
    }[language]
    found = review(draft, language, question)
    assert any(part in suggestion for suggestion in found.suggestions)
    assert found.reasonableness is not None and not found.reasonableness.passed


def test_missing_question_words_have_low_confidence() -> None:
    found = review("They lapse after 31 March [2].", question="What is the fate of holidays somebody has forgotten?")
    assert found.outcome == "failed" and found.confidence < COUNTS


@LANGUAGES
def test_short_answer_with_a_good_source_covers_the_question(language: str) -> None:
    draft = {"en": "24 days [1].", "zh": "12天[1]。", "ja": "10日です[1]。"}[language]
    assert review(draft, language).passed


def test_missing_kind_next_to_an_answered_part_counts() -> None:
    found = review("员工入职满一年后，每年享有带薪年休假12天[1]。", "zh", question="年休假有几天？为什么不能折现？")
    assert found.confidence >= COUNTS and "为什么" in found.suggestions[0]


@pytest.mark.parametrize(
    ("question", "source", "draft", "enough"),
    [
        (
            "When was FastAPI released?",
            "FastAPI was released.",
            "FastAPI was released [1].",
            "FastAPI was released in 2018 [1].",
        ),
        (
            "How many days of leave are there?",
            "Leave is granted in days.",
            "Leave is granted in days [1].",
            "There are no days of leave [1].",
        ),
        ("年假有多少天？", "年假按天计算。", "年假按天计算。[1]", "年假有二十天。[1]"),
        (
            "休暇は何回取れますか？",
            "休暇は上長の承認を得て取れる。",
            "休暇は上長の承認を得て取れる。[1]",
            "休暇は3回取れる。[1]",
        ),
    ],
)
def test_answer_without_the_number_asked_for_fails(question: str, source: str, draft: str, enough: str) -> None:
    def sure_faults(text: str) -> list[Fault]:
        faults = check_draft(question, text, [LEAVE["en"][0].model_copy(update={"text": source})]).faults
        return [fault for fault in faults if fault.sure and fault.dimension == "reasonableness"]

    assert sure_faults(draft) and not sure_faults(enough)


@pytest.mark.parametrize(
    ("question", "draft"),
    [
        ("How long may I work from abroad?", "You may work from abroad until your visa ends [1]."),
        ("When do I need a form?", "You need a form if you leave the country [1]."),
        ("How do I count how many times a line occurs?", "Count lines with uniq [1]."),
        ("怎么统计每一行出现了几次？", "用 uniq 命令统计。[1]"),
        ("How many days of leave are there?", "The documents do not say how many days of leave there are [1]."),
    ],
)
def test_answer_may_do_without_a_number(question: str, draft: str) -> None:
    check = check_draft(question, draft, [LEAVE["en"][0].model_copy(update={"text": draft.replace(" [1]", "")})])
    assert not [fault for fault in check.faults if fault.sure]


@pytest.mark.parametrize("draft", ["", "   \n", "Yes.", "## Leave", "[1]"])
def test_draft_without_statements_fails(draft: str) -> None:
    found = review(draft)
    assert found.outcome == "failed" and len(found.suggestions) == 1 and found.confidence >= COUNTS


@LANGUAGES
@pytest.mark.parametrize("draft", ["{question} [1]", "{question} [1]\n\n{question} [1]"])
def test_draft_that_repeats_the_question_fails(language: str, draft: str) -> None:
    found = review(draft.format(question=QUESTION[language]), language)
    assert found.outcome == "failed" and found.confidence >= 0.9
    assert found.reasonableness is not None and not found.reasonableness.passed


def test_statement_is_confirmed_by_repeating_it() -> None:
    statement = LEAVE["en"][0].text.partition(".")[0]
    assert review(f"{statement}. [1]", question=statement).passed


def test_statement_that_the_documents_do_not_say_passes() -> None:
    question = "How many days of annual leave do full-time staff get, and who approves them?"
    draft = "Full-time staff receive 24 days of paid annual leave [1]. The documents do not say who approves them."
    assert review(draft, question=question).passed


def test_source_in_another_language_is_compared_by_meaning_and_by_numbers() -> None:
    question = "How many days of annual leave are there in Shanghai?"
    assert review("Employees in Shanghai are entitled to 12 days of annual leave [1].", "zh", question=question).passed
    dogs = "Employees in Shanghai may bring their dogs to the office [1]."
    other = review(dogs, "zh", question="Which leave is there in Shanghai?")
    assert other.outcome == "failed" and other.confidence < COUNTS
    wrong = review("Employees in Shanghai are entitled to 77 days of annual leave [1].", "zh", question=question)
    assert wrong.confidence >= COUNTS


def test_suggestions_are_in_the_language_of_the_question() -> None:
    assert "Sentence 1" in review(WRONG["zh"], "zh", question="How many days?").suggestions[0]
    assert "第 1 句" in review(WRONG["en"], "en", question="年休假有几天？").suggestions[0]
    assert "1 文目" in review(WRONG["en"], "en", question="有給休暇は何日ですか。").suggestions[0]


def test_long_wrong_draft_gives_a_bounded_review() -> None:
    found = review("Everybody receives a purple elephant as a present from the board [1]. " * 200)
    assert len(found.suggestions) == 20
    assert max(map(len, found.suggestions)) < 600


@pytest.mark.parametrize(
    ("language", "question", "own", "other"),
    [
        ("en", "How many days of annual leave do full-time staff in {} get?", "Dublin", "Osaka"),
        ("zh", "{}的员工每年有多少天年休假？", "上海", "大阪"),
        ("ja", "{}オフィスの有給休暇は何日付与されますか。", "大阪", "上海"),
    ],
)
def test_rule_of_another_office_fails_with_its_title(language: str, question: str, own: str, other: str) -> None:
    assert review(SOUND[language], language, question.format(own)).passed
    found = review(SOUND[language], language, question.format(other))
    assert not found.passed and found.reasonableness is not None and not found.reasonableness.passed
    assert any(
        other in result and "[1]" in result and LEAVE[language][0].title in result for result in found.suggestions
    )


def test_another_office_may_be_named_next_to_the_right_one() -> None:
    osaka = LEAVE["en"][0].model_copy(
        update={"text": "Staff receive 10 days of annual leave.", "title": "Leave in Osaka", "headings": []}
        | {"document_id": "osaka.md", "location": "osaka.md", "id": "o"}
    )
    found = [osaka, LEAVE["en"][0]]
    question = "How many days of annual leave do staff in Osaka get?"
    right = "Staff receive 10 days of annual leave [1]."
    result = f"{right} In Dublin, full-time staff receive 24 days of paid annual leave [2]."
    assert review(result, "en", question, found).passed
    assert not review(
        f"{right} Full-time staff receive 24 days of paid annual leave [2].", "en", question, found
    ).passed


def test_abstaining_on_a_name_is_not_a_fault() -> None:
    question = "How many days of annual leave do staff in Osaka get?"
    assert review("The documents do not say how many days staff in Osaka get.", "en", question).passed
