"""The metrics that ask no model, in all three languages (SPEC X5)."""

import time
from statistics import fmean

import pytest

from tests.evaluator.requests import request
from veracity.errors import InputError
from veracity.evaluator import Evaluator
from veracity.evaluator.metrics.answers_question import AnswersQuestion
from veracity.evaluator.metrics.citation_accuracy import CitationAccuracy
from veracity.evaluator.metrics.groundedness import Groundedness
from veracity.evaluator.metrics.question_coverage import QuestionCoverage
from veracity.grounding.statements import index_evidence, statements
from veracity.language.questions import kinds_answered, question_parts
from veracity.settings import Settings

EN = ["Opened items can be returned within 30 days of delivery.", "The customer pays for the return shipping."]
ZH = ["员工每年享有15天带薪年假。", "未休的年假最多可以结转5天。"]
JA = ["申請の締め切りは6月30日です。", "手数料は4000円です。"]


class TestGroundedness:
    @pytest.mark.parametrize(
        ("submission", "context", "most"),
        [
            ("Opened items can be returned within 30 days. The customer pays for return shipping.", EN, 100),
            ("Opened items can be returned within 90 days. The customer pays for return shipping.", EN, 70),
            ("员工每年享有15天带薪年假。未休的年假最多可以结转5天。", ZH, 100),
            ("员工每年享有25天带薪年假。未休的年假最多可以结转5天。", ZH, 70),
            ("申請の締め切りは6月30日です。手数料は4000円です。", JA, 100),
            ("申請の締め切りは7月31日です。手数料は4000円です。", JA, 70),
        ],
    )
    def test_the_mean_support(self, submission: str, context: list[str], most: float) -> None:
        found = Groundedness().evaluate(request(submission=submission, context=context))
        evidence = index_evidence(tuple(context))
        assert found.score == 100 * fmean(evidence.support(sentence).score for sentence in statements(submission))
        assert most - 20 < found.score <= most
        assert f"{found.score:.4g}%" in found.evaluator_comment

    @pytest.mark.parametrize(
        ("submission", "context", "words"),
        [
            ("Items can be returned within 90 days.", EN, ["0 of 1", "Not supported", "90"]),
            ("员工每年享有25天带薪年假。", ZH, ["1 条陈述中有 0 条", "未获支持", "25"]),
            ("申請の締め切りは7月31日です。", JA, ["1 件の記述のうち 0 件", "支持されないもの", "7月31日"]),
        ],
    )
    def test_the_comment_names_the_fault_in_the_submissions_language(
        self, submission: str, context: list[str], words: list[str]
    ) -> None:
        comment = Groundedness().evaluate(request(submission=submission, context=context)).evaluator_comment
        assert all(word in comment for word in words)

    @pytest.mark.parametrize("submission", ["Yes.", "?!", "...", "👍", "[1]", "Really?"])
    def test_nothing_to_check_is_never_100(self, submission: str) -> None:
        assert Groundedness().evaluate(request(submission=submission, context=EN)).score == 0

    @pytest.mark.parametrize(
        "around",
        [
            "{} The documents do not mention gift cards.",
            "{} No information about gift cards is given in the context.",
            "Sure! Here is what I found:\n\n{}\n\nI hope this helps!",
            "## Returns\n\n{}\n\nSources:\n[1] returns.txt",
            "1. {}",
            "（1）{}",
            "{} Is there anything else?",
        ],
    )
    def test_small_talk_and_headings_are_not_statements(self, around: str) -> None:
        submission = around.format("Opened items can be returned within 30 days.")
        found = Groundedness().evaluate(request(submission=submission, context=EN))
        assert (found.score, found.evaluator_comment[:6]) == (100, "1 of 1")

    @pytest.mark.parametrize(
        ("submission", "context"),
        [
            ("The insurance does not cover fire.", "The insurance covers fire."),
            ("The price does not include VAT.", "The price includes VAT."),
            ("套餐没有包含晚餐。", "套餐包含晚餐。"),
            ("保険は火災を対象に含まない。", "保険は火災を対象に含む。"),
        ],
    )
    def test_a_negation_is_a_statement(self, submission: str, context: str) -> None:
        assert Groundedness().evaluate(request(submission=submission, context=[context])).score < 60

    def test_evidence_is_required_when_called_directly(self) -> None:
        with pytest.raises(InputError, match="Groundedness"):
            Groundedness().evaluate(request(context=[]))


class TestCitationAccuracy:
    @pytest.mark.parametrize(
        ("submission", "score"),
        [
            ("Opened items can be returned within 30 days [1]. The customer pays for return shipping [2].", 100),
            ("Opened items can be returned within 30 days.[1] The customer pays for return shipping.[2]", 100),
            ("Opened items can be returned within 30 days [2]. The customer pays for return shipping [1].", 0),
            ("Opened items can be returned within 30 days [1]. The customer pays for return shipping.", 50),
            ("Opened items can be returned within 30 days [7].", 0),
            ("Opened items can be returned within 30 days [0].", 0),
            ("Opened items can be returned within 30 days [1][9].", 50),
            ("Opened items can be returned within 30 days [1, 2].", 100),
            ("Opened items can be returned within 90 days [1].", 0),
            ("Opened items can be returned within 30 days.", 0),
        ],
    )
    def test_marks_must_resolve_and_support(self, submission: str, score: float) -> None:
        assert CitationAccuracy().evaluate(request(submission=submission, context=EN)).score == score

    @pytest.mark.parametrize(
        ("submission", "context", "score"),
        [
            ("员工每年享有15天带薪年假[1]。未休的年假最多可以结转5天[2]。", ZH, 100),
            ("员工每年享有15天带薪年假【1】。未休的年假最多可以结转5天［3］。", ZH, 50),
            ("申請の締め切りは6月30日です[1]。手数料は4000円です。[2]", JA, 100),
            ("申請の締め切りは6月30日です[2]。手数料は4000円です［２］。", JA, 50),
        ],
    )
    def test_in_chinese_and_japanese(self, submission: str, context: list[str], score: float) -> None:
        assert CitationAccuracy().evaluate(request(submission=submission, context=context)).score == score

    def test_the_comment_says_what_counts_in_part(self) -> None:
        submission = "Opened items can be returned within 30 days [1][9]."
        found = CitationAccuracy().evaluate(request(submission=submission, context=EN))
        assert found.score == 50
        assert found.evaluator_comment.startswith(
            "0 of 1 statements have citations that resolve and support them. In part: 1."
        )

    def test_the_comment_names_each_kind_of_fault(self) -> None:
        submission = "Opened items can be returned within 30 days [9]. Shipping is free [2]. The customer pays."
        comment = CitationAccuracy().evaluate(request(submission=submission, context=EN)).evaluator_comment
        assert "does not exist" in comment and "does not support" in comment and "no citation" in comment


class TestAnswersQuestion:
    @pytest.mark.parametrize(
        ("question", "answer", "other"),
        [
            ("How long is the warranty?", "The warranty lasts 24 months [1].", "The warranty card is in the box [1]."),
            ("年假有几天？", "员工每年享有15天带薪年假[1]。", "请向经理申请年假[1]。"),
            ("締め切りはいつですか。", "申請の締め切りは6月30日です[1]。", "手数料は4000円です[1]。"),
        ],
    )
    def test_an_answer_scores_higher_than_a_remark_on_the_topic(self, question: str, answer: str, other: str) -> None:
        right, wrong = (
            AnswersQuestion().evaluate(request(user_query=question, submission=text)) for text in (answer, other)
        )
        assert right.score > 75
        assert right.score > wrong.score + 20
        assert f"{right.score:.0f}%" in right.evaluator_comment

    def test_every_part_of_the_question_counts(self) -> None:
        question = "How long is the warranty? Who pays for the return shipping?"
        half = "The warranty lasts 24 months."
        whole = f"{half} The customer pays for the return shipping."
        scores = [
            AnswersQuestion().evaluate(request(user_query=question, submission=text)).score for text in (half, whole)
        ]
        assert scores[0] < 60 < scores[1]

    @pytest.mark.parametrize(("question", "answer"), [("", "It is 24."), ("How long?", ""), ("How long?", "[1]")])
    def test_nothing_to_judge_scores_zero(self, question: str, answer: str) -> None:
        asked = request().model_copy(update={"user_query": question, "submission": answer})
        assert AnswersQuestion().evaluate(asked).score == 0

    def test_a_long_submission_is_read_in_pieces(self) -> None:
        filler = "The box has a label. " * 20
        found = AnswersQuestion().evaluate(
            request(user_query="How long is the warranty?", submission=filler + "The warranty lasts 24 months.")
        )
        assert found.score > 50
        assert "24 months" in found.evaluator_comment


class TestQuestionCoverage:
    @pytest.mark.parametrize(
        ("question", "parts"),
        [
            ("How long is the warranty and who pays for shipping?", 2),
            ("What is the price? When does it ship?", 2),
            ("What are salt and pepper?", 1),
            ("What is the fee, when is the deadline, and can I pay online?", 3),
            ("保修期多长，运费由谁承担？", 2),
            ("締め切りはいつですか、また手数料はいくらですか。", 2),
            ("", 0),
        ],
    )
    def test_a_question_is_split_into_parts(self, question: str, parts: int) -> None:
        assert len(question_parts(question)) == parts

    @pytest.mark.parametrize(
        ("question", "full", "half"),
        [
            (
                "How long is the warranty and who pays for the return shipping?",
                "The warranty lasts two years. The customer pays for the return shipping.",
                "The warranty lasts two years.",
            ),
            ("保修期多长，退货运费由谁承担？", "保修期为2年。退货运费由顾客承担。", "保修期为2年。"),
            (
                "締め切りはいつですか、また手数料はいくらですか。",
                "締め切りは6月30日です。手数料は4000円です。",
                "締め切りは6月30日です。",
            ),
        ],
    )
    def test_an_answer_to_half_the_question_scores_less(self, question: str, full: str, half: str) -> None:
        metric = QuestionCoverage()
        whole = metric.evaluate(request(user_query=question, submission=full))
        part = metric.evaluate(request(user_query=question, submission=half))
        beside = metric.evaluate(request(user_query=question, submission="Lorem ipsum dolor."))
        assert whole.score >= 90
        assert beside.score < part.score <= 75 < whole.score

    def test_a_word_cut_in_two_does_not_count_as_found(self) -> None:
        question, half = "员工每年有多少天年假，未休的年假可以结转吗？", "员工每年享有25天带薪年假。"
        found = QuestionCoverage().evaluate(request(user_query=question, submission=half))
        assert 0 < found.score <= 50 and "结转" in found.evaluator_comment

    @pytest.mark.parametrize(
        ("question", "answer", "most"),
        [
            ("How many?", "There are 5 unrelated bananas.", 40),
            ("When?", "I do not know.", 0),
            ("Is the warranty transferable?", "Is the warranty transferable?", 0),
            ("费用由谁承担？", "今天天气很好。", 0),
            ("会議はどこで行われますか。", "天気から考えると雨です。", 0),
        ],
    )
    def test_irrelevant_words_score_low(self, question: str, answer: str, most: float) -> None:
        assert QuestionCoverage().evaluate(request(user_query=question, submission=answer)).score <= most

    def test_spaces_and_many_parts_take_linear_time(self) -> None:
        question = "Why" + " " * 100_000 + "? " + " ".join(f"What is item {number}?" for number in range(2000))
        found = QuestionCoverage().evaluate(request(user_query=question, submission="Item 7 is red. " * 5000))
        assert found.score > 0

    @pytest.mark.parametrize(
        ("question", "answer", "context"),
        [
            ("What is the capital of France?", "Paris [1].", "Paris is the capital of France."),
            ("正式员工每年有多少天年假？", "十五天[1]。", "正式员工每年享有十五天带薪年假。"),
            ("申請の締め切りはいつですか。", "6月30日です[1]。", "申請の締め切りは6月30日です。"),
        ],
    )
    def test_words_of_the_supporting_passage_count(self, question: str, answer: str, context: str) -> None:
        metric, given = QuestionCoverage(), {"user_query": question, "submission": answer}
        assert metric.evaluate(request(**given, context=[context])).score >= 75
        assert metric.evaluate(request(**given, context=[])).score <= 30

    def test_unsupported_statements_add_no_words(self) -> None:
        given = {"user_query": "What is the capital of France?", "submission": "It is Lyon [1]."}
        assert QuestionCoverage().evaluate(request(**given, context=["Paris is the capital of France."])).score == 0

    @pytest.mark.parametrize("question", ["How many days?", "When does it begin?"])
    def test_a_citation_number_is_not_an_amount(self, question: str) -> None:
        assert QuestionCoverage().evaluate(request(user_query=question, submission="Nobody knows [1].")).score == 0

    def test_it_needs_no_evidence(self) -> None:
        assert QuestionCoverage().evaluate(request(context=[])).score == 100

    def test_the_comment_quotes_what_was_not_addressed(self) -> None:
        question = "How long is the warranty and who pays for shipping?"
        found = QuestionCoverage().evaluate(request(user_query=question, submission="It lasts 2 years: the warranty."))
        assert found.evaluator_comment == (
            "1 of 2 parts of the question are fully addressed. Not addressed: “who pays for shipping?”."
        )

    @pytest.mark.parametrize(
        ("question", "answer", "shares"),
        [
            (
                "How many days of annual leave do full-time staff have?",
                "Staff have leave.",
                ["0 of 1", "In part"],
            ),
            ("员工每年有多少天带薪年假？", "员工有年假。", ["1 个部分中有 0 个", "部分回应"]),
            ("正社員の有給休暇は年に何日ありますか。", "有給休暇です。", ["1 項目のうち 0 項目", "一部のみ"]),
        ],
    )
    def test_the_comment_agrees_with_a_score_between_0_and_100(
        self, question: str, answer: str, shares: list[str]
    ) -> None:
        found = QuestionCoverage().evaluate(request(user_query=question, submission=answer))
        assert 0 < found.score < 100
        assert all(share in found.evaluator_comment for share in [*shares, f"{found.score:.3g}%"])

    @pytest.mark.parametrize("question", ["", "??", "🙂"])
    def test_a_question_without_words_is_never_covered(self, question: str) -> None:
        assert QuestionCoverage().evaluate(request(user_query=question)).score == 0


OFFICES = {
    "en": (
        "How many unused days of leave move into the next year in {}?",
        "Up to five unused days move into the next year. [1]",
        "Annual leave in Dublin › Carrying days over\nUp to five unused days move into the next year.",
        ("Dublin", "Osaka"),
    ),
    "zh": (
        "{}的员工每年有多少天年休假？",
        "员工每年享有带薪年休假12天。[1]",
        "上海办公室年休假管理办法 › 天数\n员工每年享有带薪年休假12天。",
        ("上海", "大阪"),
    ),
    "ja": (
        "{}オフィスの有給休暇は何日付与しますか。",
        "有給休暇は入社日に10日を付与する。[1]",
        "大阪オフィス 休暇規程 › 年次有給休暇\n有給休暇は入社日に10日を付与する。",
        ("大阪", "上海"),
    ),
}


class TestNamesOfTheQuestion:
    @pytest.mark.parametrize("language", ["en", "zh", "ja"])
    def test_the_title_decides_which_office_is_meant(self, language: str) -> None:
        question, answer, context, (own, other) = OFFICES[language]
        right = request(user_query=question.format(own), submission=answer, context=[context])
        wrong = request(user_query=question.format(other), submission=answer, context=[context])
        assert Evaluator(settings=Settings(), only_named_judges=True).evaluate(right).overall_score >= 75
        assert Evaluator(settings=Settings(), only_named_judges=True).evaluate(wrong).overall_score < 75
        found = QuestionCoverage().evaluate(wrong)
        assert found.score <= 25 and other in found.evaluator_comment and "25" in found.evaluator_comment

    def test_a_mention_elsewhere_does_not_outweigh_the_heading(self) -> None:
        question, answer, context, (_, other) = OFFICES["en"]
        both = f"{answer} The best of them visit Osaka. [2]"
        visits = "Awards\nThe best of them visit Osaka."
        asked = request(user_query=question.format(other), submission=both, context=[context, visits])
        assert QuestionCoverage().evaluate(asked).score <= 30

    def test_another_passage_of_the_document_may_name_it(self) -> None:
        pay = "On-call duty › Pay\nBeing on call is paid at 310 euro a week."
        who = "On-call duty › Who\nTwo engineers of the Dublin team are on call."
        asked = request(
            user_query="How much is being on call paid in Dublin?",
            submission="Being on call is paid at 310 euro a week. [1]",
            context=[pay, who],
        )
        assert QuestionCoverage().evaluate(asked).score > 60
        assert QuestionCoverage().evaluate(asked.model_copy(update={"context": [pay]})).score <= 30

    def test_without_context_a_short_answer_need_not_repeat_the_name(self) -> None:
        short = request(user_query="How many days of leave are there in Osaka?", submission="Ten days of leave.")
        assert QuestionCoverage().evaluate(short).score > 30


def test_finding_kinds_takes_linear_time() -> None:
    """A text that almost holds an amount at every place of it."""

    def seconds(length: int) -> float:
        begun = time.thread_time()
        assert kinds_answered("一" * length) == set()
        return time.thread_time() - begun

    assert min(seconds(40_000) for _ in range(3)) < 40 * min(seconds(4_000) for _ in range(3))  # squared, it were 100


class TestOtherLanguages:
    """The question, the answer and the evidence need not be in one language."""

    @pytest.mark.parametrize(
        ("submission", "context"),
        [
            ("开封的商品可以在收货后30天内退货。", EN),
            ("開封済みの商品は配達から30日以内に返品できます。", EN),
            ("Employees get 15 days of paid annual leave every year.", ZH),
            ("The application deadline is June 30.", JA),
        ],
    )
    def test_a_translated_answer_is_above_the_grounding_floor(self, submission: str, context: list[str]) -> None:
        found = Groundedness().evaluate(request(submission=submission, context=context))
        assert found.score >= 60
        assert CitationAccuracy().evaluate(request(submission=f"{submission[:-1]} [1].", context=context)).score == 100

    @pytest.mark.parametrize(
        ("submission", "context"),
        [
            ("开封的商品可以在收货后90天内退货。", EN),
            ("开封的商品不可以在收货后30天内退货。", EN),
            ("Employees get 25 days of paid annual leave every year.", ZH),
            ("The application deadline is July 31.", JA),
        ],
    )
    def test_a_wrong_translated_answer_is_below_it(self, submission: str, context: list[str]) -> None:
        assert Groundedness().evaluate(request(submission=submission, context=context)).score < 50

    @pytest.mark.parametrize(
        ("question", "right", "beside"),
        [
            ("保修期是多长时间？", "The warranty lasts 24 months.", "Gardeners prune roses in spring."),
            ("保証期間はどのくらいですか。", "The warranty lasts 24 months.", "Gardeners prune roses in spring."),
            ("How long is the warranty?", "保修期为24个月。", "园丁在春天修剪玫瑰。"),
            ("How long is the warranty?", "保証期間は24か月です。", "庭師は春にバラを剪定します。"),
        ],
    )
    def test_an_answer_in_another_language_addresses_the_question(self, question: str, right: str, beside: str) -> None:
        metric = QuestionCoverage()
        assert metric.evaluate(request(user_query=question, submission=right, context=[right])).score >= 75
        assert metric.evaluate(request(user_query=question, submission=beside, context=[beside])).score < 50

    def test_a_quote_in_another_language_helps_an_answer_in_the_questions_language(self) -> None:
        answer, quote = "保修期为24个月。", "The warranty lasts 24 months from the day of purchase."
        asked = "保修期从购买之日起是多长时间？"
        alone = QuestionCoverage().evaluate(request(user_query=asked, submission=answer, context=[]))
        quoted = QuestionCoverage().evaluate(request(user_query=asked, submission=answer, context=[quote]))
        assert quoted.score >= alone.score

    @pytest.mark.parametrize(
        ("question", "context", "most"),
        [
            ("都柏林的员工有多少天年假？", "Staff in Dublin get 24 days of annual leave.", 100),
            ("Dublin 的员工有多少天年假？", "Staff in Dublin get 24 days of annual leave.", 100),
            ("在 Osaka 的员工有多少天年假？", "Staff in Dublin get 24 days of annual leave.", 25),
        ],
    )
    def test_only_names_in_the_same_script_are_compared(self, question: str, context: str, most: float) -> None:
        found = QuestionCoverage().evaluate(request(user_query=question, submission=context, context=[context]))
        assert most / 2 < found.score <= most
