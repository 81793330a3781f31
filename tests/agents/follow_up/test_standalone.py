"""Follow-up questions are completed so that they stand alone; others are unchanged (SPEC D3)."""

import time

import pytest

from tests.agents.turns import LEAVE, PHONE, turns
from veracity.agents.base import WritingTask
from veracity.agents.extractive_writer import ExtractiveWriter
from veracity.agents.follow_up.standalone import MAX_ADDED, MAX_LENGTH, make_standalone, resolve_topic
from veracity.language import guess_language
from veracity.language.questions import question_parts
from veracity.models import Evidence, EvidenceMetadata


@pytest.mark.parametrize(
    ("language", "question", "asked"),
    [
        ("en", "and in Osaka?", "How many days of leave do staff in Osaka have?"),
        ("en", "What about Osaka?", "How many days of leave do staff in Osaka have?"),
        ("en", "Thanks, and what about Osaka?", "How many days of leave do staff in Osaka have?"),
        ("en", "Thanks, and in Osaka?", "How many days of leave do staff in Osaka have?"),
        ("en", "Ok, and in Osaka?", "How many days of leave do staff in Osaka have?"),
        ("zh", "谢谢，那大阪呢？", "大阪的全职员工有多少天年假？"),
        ("zh", "那无锡呢？", "无锡的全职员工有多少天年假？"),
        ("ja", "ありがとう。では大阪は？", "大阪のスタッフの休暇は何日ですか。"),
        ("en", "How about part-time staff?", "How many days of leave do part-time staff in Dublin have?"),
        ("zh", "大阪呢？", "大阪的全职员工有多少天年假？"),
        ("zh", "那大阪呢？", "大阪的全职员工有多少天年假？"),
        ("zh", "那兼职员工呢？", "都柏林的兼职员工有多少天年假？"),
        ("ja", "では大阪は？", "大阪のスタッフの休暇は何日ですか。"),
        ("ja", "大阪ではどうですか？", "大阪のスタッフの休暇は何日ですか。"),
        ("ja", "ニューヨークは？", "ニューヨークのスタッフの休暇は何日ですか。"),
        ("ja", "病気休暇は？", "ダブリンのスタッフの病気休暇は何日ですか。"),
    ],
)
def test_new_subject_replaces_the_old_one(language: str, question: str, asked: str) -> None:
    standalone = make_standalone(question, LEAVE[language])
    assert (standalone.question, standalone.added, standalone.depends) == (asked, (), True)


def test_number_replaces_one_of_the_same_shape() -> None:
    before = turns(("What was the revenue in 2021?", "It was 5 million [1]."))
    assert make_standalone("and in 2022?", before).question == "What was the revenue in 2022?"


def test_subject_can_be_replaced_repeatedly() -> None:
    before = [*LEAVE["en"], *turns(("and in Osaka?", "Staff in Osaka have 20 days [1]."))]
    assert make_standalone("What about Oslo?", before).question == "How many days of leave do staff in Oslo have?"


@pytest.mark.parametrize(
    ("language", "question", "asked"),
    [
        ("en", "What is its screen size?", "What is its screen size (Pixel 7)?"),
        ("zh", "它的屏幕多大？", "它的屏幕多大（Pixel 7）？"),
        ("ja", "その画面サイズは何インチですか。", "その画面サイズは何インチですか（Pixel 7）。"),
    ],
)
def test_antecedent_of_a_pronoun_is_added_in_brackets(language: str, question: str, asked: str) -> None:
    standalone = make_standalone(question, PHONE[language])
    assert (standalone.question, standalone.depends) == (asked, True)
    assert len(question_parts(standalone.question)) == 1


@pytest.mark.parametrize(
    ("language", "question", "asked"),
    [
        ("en", "Why?", "Why (How many days of leave do staff in Dublin have)?"),
        ("en", "Tell me more.", "Tell me more (How many days of leave do staff in Dublin have)."),
        ("zh", "为什么？", "为什么（都柏林的全职员工有多少天年假）？"),
        ("ja", "経費は？", "経費は（ダブリンのスタッフの休暇は何日ですか）？"),
        ("zh", "病假呢？", "病假呢（都柏林的全职员工有多少天年假）？"),
        ("en", "What about parking?", "What about parking (How many days of leave do staff in Dublin have)?"),
        ("ja", "なぜですか？", "なぜですか（ダブリンのスタッフの休暇は何日ですか）？"),
    ],
)
def test_question_without_subject_gets_the_previous_question(language: str, question: str, asked: str) -> None:
    assert make_standalone(question, LEAVE[language]).question == asked


@pytest.mark.parametrize(
    ("language", "question", "asked"),
    [
        ("en", "But not in Osaka?", "But not in Osaka (How many days of leave do staff in Dublin have)?"),
        ("en", "And without Dublin?", "And without Dublin (How many days of leave do staff in Dublin have)?"),
        ("zh", "那不在都柏林的员工呢？", "那不在都柏林的员工呢（都柏林的全职员工有多少天年假）？"),
        ("zh", "那都柏林以外呢？", "那都柏林以外呢（都柏林的全职员工有多少天年假）？"),
        ("ja", "ダブリン以外は？", "ダブリン以外は（ダブリンのスタッフの休暇は何日ですか）？"),
    ],
)
def test_excluded_subject_replaces_nothing(language: str, question: str, asked: str) -> None:
    assert make_standalone(question, LEAVE[language]).question == asked


BOUND = {
    "en": "How many vacation days do employees with less than 1 year of service get?",
    "zh": "工龄不满一年的员工有多少天年假？",
    "ja": "勤続1年未満の社員の有給休暇は何日ですか？",
}


@pytest.mark.parametrize(
    ("previous", "question", "asked"),
    [
        (BOUND["en"], "What about over 1 year?",
         "How many vacation days do employees with over 1 year of service get?"),
        ("How long is the notice for staff employed under 1 year?", "And more than two years?",
         "How long is the notice for staff employed more than two years?"),
        ("What is the per diem for trips of up to 30 days?", "What about over 1 year?",
         "What is the per diem for trips of over 1 year?"),
        ("How much leave do I get in the first 6 months?", "And after 1 year?",
         "How much leave do I get after 1 year?"),
        ("What is the notice period during the first year?", "What about over 1 year?",
         "What is the notice period over 1 year?"),
        ("What is the fee?", "What about over 1 year?", "What is the fee over 1 year?"),
        (BOUND["zh"], "那超过一年呢？", "工龄超过一年的员工有多少天年假？"),
        ("工龄不满1年有多少天年休假？", "超过10年的呢？", "工龄超过10年有多少天年休假？"),
        ("入职一年以内的员工有几天年假？", "那超过一年呢？", "入职超过一年的员工有几天年假？"),
        ("病假工资怎么算？", "如果超过六个月呢？", "如果超过六个月，病假工资怎么算？"),
        (BOUND["ja"], "では1年を超える場合は？", "勤続1年を超える社員の有給休暇は何日ですか？"),
        (BOUND["ja"], "1年以上の場合は？", "勤続1年以上の社員の有給休暇は何日ですか？"),
        ("勤続1年を超える社員の休暇は何日ですか？", "では1年未満は？", "勤続1年未満の社員の休暇は何日ですか？"),
        ("病気休暇の給与はいくらですか？", "6か月を超える場合は？",
         "6か月を超える場合、病気休暇の給与はいくらですか？"),
    ],
)  # fmt: skip
def test_d3_new_bound_replaces_the_old_one(previous: str, question: str, asked: str) -> None:
    standalone = make_standalone(question, turns((previous, "Ten days [1].")))
    assert (standalone.question, standalone.depends) == (asked, True)


@pytest.mark.parametrize(
    ("previous", "question", "asked"),
    [
        ("How much can I spend on a home office?", "And for office furniture?",
         "How much can I spend on office furniture?"),
        ("What is the budget for a new laptop in Dublin?", "And for office furniture?",
         "What is the budget for office furniture in Dublin?"),
        ("How much can I spend on fitness per month?", "And for office furniture?",
         "How much can I spend on office furniture per month?"),
        ("What is the limit for laptops of interns?", "And for office furniture?",
         "What is the limit for office furniture of interns?"),
        ("Can I expense a monitor?", "What about a chair?", "Can I expense a chair?"),
        ("How many days of leave do staff get?", "What about contractors?",
         "How many days of leave do contractors get?"),
        ("How many days of leave do staff get?", "And in Osaka?", "How many days of leave do staff get in Osaka?"),
        ("笔记本电脑的报销上限是多少？", "办公家具呢？", "办公家具的报销上限是多少？"),
        ("全职员工有多少天年假？", "那实习生呢？", "实习生有多少天年假？"),
        ("工作日几点开门？", "周末呢？", "周末几点开门？"),
        ("ノートパソコンの購入補助はいくらですか？", "オフィス家具は？", "オフィス家具の購入補助はいくらですか？"),
        ("正社員の有給休暇は何日ですか？", "パートの場合は？", "パートの有給休暇は何日ですか？"),
        ("平日の営業時間は？", "土日は？", "土日の営業時間は？"),
    ],
)  # fmt: skip
def test_d3_new_thing_replaces_the_old_one(previous: str, question: str, asked: str) -> None:
    standalone = make_standalone(question, turns((previous, "Ten days [1].")))
    assert (standalone.question, standalone.added, standalone.depends) == (asked, (), True)


@pytest.mark.parametrize(
    ("previous", "question"),
    [
        ("What is the reimbursement for meals?", "How about when traveling abroad?"),
        ("What is the reimbursement for meals?", "What about if I lose the receipt?"),
        ("餐费怎么报销？", "那如果没有发票呢？"),
        ("食費の精算方法は？", "領収書がない場合は？"),
    ],
)
def test_d3_new_condition_gets_the_previous_question(previous: str, question: str) -> None:
    standalone = make_standalone(question, turns((previous, "Ten days [1].")))
    assert previous.rstrip("?？") in standalone.question and standalone.depends


def test_aspect_is_joined_with_the_topic() -> None:
    before = turns(("有給休暇は年に何日ですか。", "有給休暇は年に二十日です[1]。"))
    assert make_standalone("では、繰り越しは？", before).question == "有給休暇の繰り越しは？"
    assert make_standalone("申請期限は？", before).question == "有給休暇の申請期限は？"
    again = [*before, *turns(("では、繰り越しは？", "十日までです[1]。"))]
    assert "有給休暇の繰り越し" in make_standalone("なぜですか？", again).question


def test_consecutive_bare_questions_refer_to_the_last_full_one() -> None:
    before = [*LEAVE["en"], *turns(("Why?", "Because the law says so [1]."))]
    assert "staff in Dublin" in make_standalone("Tell me more.", before).question


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("en", "How many days of leave do staff in Oslo have?"),
        ("en", "Does the Prince of Wales have his own source of income?"),
        ("en", "If I borrow money for a house, can I treat it as equity?"),
        ("en", "Is it possible to carry leave over into the next year?"),
        ("en", "Are there any parking places for visitors in Oslo?"),
        ("en", "  What is the capital of Peru?\n"),
        ("zh", "奥斯陆的员工有多少天年假？"),
        ("zh", "其他国家的员工应该如何申请病假？"),
        ("zh", "病假怎么申请？"),
        ("zh", "公司有多少员工？"),
        ("ja", "休暇を取れますか。"),
        ("ja", "誰が社長ですか。"),
        ("ja", "オスロのスタッフの休暇は何日ですか。"),
        ("ja", "その他の休暇の申請方法を教えてください。"),
    ],
)
def test_standalone_question_is_unchanged(language: str, question: str) -> None:
    standalone = make_standalone(question, LEAVE[language], "Parking was spoken of.")
    assert (standalone.question, standalone.added, standalone.depends) == (question, (), False)


@pytest.mark.parametrize("question", ["Why?", "and in Osaka?", "What is its screen size?", "为什么？", "では大阪は？"])
def test_first_question_is_unchanged(question: str) -> None:
    assert make_standalone(question, []).question == question
    assert not make_standalone(question, []).depends


def test_words_of_the_conversation_are_kept_apart() -> None:
    standalone = make_standalone("What is its screen size?", PHONE["en"])
    assert "dollars" in standalone.added and len(standalone.added) <= MAX_ADDED
    assert not {"Pixel", "pixel"} & set(standalone.added)


def test_thin_question_only_gets_added_words() -> None:
    before = turns(("How does a mortgage in Ireland work?", "A bank lends money against the house [1]."))
    standalone = make_standalone("What are the fees?", before)
    assert standalone.question == "What are the fees?" and {"mortgage", "ireland"} <= set(standalone.added)


@pytest.mark.parametrize(
    ("language", "question", "words"),
    [
        ("en", "Who approves?", {"dublin", "staff", "leave"}),
        ("zh", "谁来审批？", {"都柏林", "员工"}),
        ("zh", "可以结转吗？", {"都柏林", "员工"}),
        ("ja", "誰が承認しますか？", {"ダブリン", "休暇"}),
        ("ja", "繰り越せますか？", {"ダブリン", "休暇"}),
    ],
)
def test_verb_without_object_gets_added_words(language: str, question: str, words: set[str]) -> None:
    standalone = make_standalone(question, LEAVE[language])
    assert (standalone.question, standalone.depends) == (question, True) and words <= set(standalone.added)


@pytest.mark.parametrize(
    ("before", "question"),
    [("zh", "誰が承認しますか？"), ("en", "誰が承認しますか？"), ("ja", "谁来审批？"), ("zh", "Who approves it?")],
)
def test_words_in_another_language_are_not_added(before: str, question: str) -> None:
    standalone = make_standalone(question, LEAVE[before])
    assert (standalone.question, standalone.added) == (question, ())


def test_latin_names_are_added_in_every_language() -> None:
    assert "Pixel 7" in make_standalone("它的屏幕多大？", PHONE["en"]).question
    assert "Pixel" in make_standalone("誰が承認しますか？", PHONE["zh"]).added


@pytest.mark.parametrize(
    ("language", "wanted", "topic"),
    [
        ("en", "its price", "price of Pixel 7"),
        ("zh", "它的价格", "Pixel 7的价格"),
        ("ja", "その値段", "Pixel 7の値段"),
        ("en", "the population of Osaka", "the population of Osaka"),
        ("zh", "大阪的人口", "大阪的人口"),
        ("ja", "大阪の人口", "大阪の人口"),
    ],
)
def test_web_topic_names_its_subject(language: str, wanted: str, topic: str) -> None:
    before = PHONE[language] if "7" in topic else LEAVE[language]
    assert resolve_topic(wanted, "q", before, "")[1] == topic


def test_web_topic_that_refers_back_is_completed_in_the_question() -> None:
    read, topic = resolve_topic("why it is so dear", "q", PHONE["en"], "")
    assert topic == "" and read.question == "why it is so dear (Pixel 7)"


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_web_request_without_topic_is_about_the_previous_question(language: str) -> None:
    read, topic = resolve_topic("", "q", PHONE[language], "")
    assert (read.question, topic) == (PHONE[language][0].question, "")
    again = [*PHONE["en"], *turns(("Search the web for the Pixel 8", ""))]
    assert resolve_topic("", "q", again, "")[0].question == "the Pixel 8"
    assert resolve_topic("", "Look it up online", [], "")[0].question == "Look it up online"


def test_requests_without_topic_are_skipped() -> None:
    before = [
        *PHONE["en"],
        *turns(("Look it up online", "It is cheap [1]."), ("What did you say?", "It is cheap [1].")),
    ]
    assert resolve_topic("", "上网搜一下", before, "")[0].question == "How much is the Pixel 7?"
    assert make_standalone("What is its screen size?", before).question == "What is its screen size (Pixel 7)?"


@pytest.mark.parametrize(
    ("summary", "question", "subject"),
    [
        ("The price of the Pixel 7 was asked for.", "What is its screen size?", "Pixel 7"),
        ("用户询问了 Pixel 7 的价格。", "它的屏幕多大？", "Pixel 7"),
        ("Pixel 7 の値段が質問された。", "その画面サイズは何インチですか。", "Pixel 7"),
    ],
)
def test_summary_is_used_without_turns(summary: str, question: str, subject: str) -> None:
    assert subject in make_standalone(question, [], summary).question


@pytest.mark.parametrize("piece", ["一", "1.", "under 1", "for a ", "a x ", "的", "アの", "employees "])
def test_hostile_turns_take_linear_time(piece: str) -> None:
    started = time.process_time()
    for question in ("What about over 1 year?", "And for a chair?", "那超过一年呢？", "では1年を超える場合は？"):
        make_standalone(question, turns((piece * 20_000, "")))
    assert time.process_time() - started < 10


@pytest.mark.parametrize("before", ["x" * 50_000, "(" * 5_000, "Why? " * 5_000, "它" * 5_000, "[1]\n" * 2_000])
def test_result_stays_short_for_hostile_turns(before: str) -> None:
    standalone = make_standalone("Why is it so?", turns((before, before)))
    assert len(standalone.question) <= MAX_LENGTH and sum(map(len, standalone.added)) <= MAX_ADDED * 60_000


def evidence(text: str) -> Evidence:
    return Evidence(
        id="1",
        text=text,
        source="knowledge",
        document_id="leave",
        title="Leave",
        location="leave.md",
        headings=[],
        page=None,
        start=0,
        end=len(text),
        language=guess_language(text),
        metadata=EvidenceMetadata(relevance_score=0.9),
    )


def test_extractive_writer_answers_the_standalone_question() -> None:
    text = "Staff in Osaka have 20 days of leave a year. Staff in Dublin have 24 days of leave a year."
    asked = make_standalone("and in Osaka?", LEAVE["en"]).question
    written = ExtractiveWriter().write(WritingTask(asked, [evidence(text)], []))
    assert written.text.startswith("Staff in Osaka have 20 days of leave a year.")


def test_extractive_writer_answers_about_an_aspect() -> None:
    before = turns(("有給休暇は年に何日ですか。", "有給休暇は年に二十日です[1]。"))
    text = "有給休暇は年に二十日です。有給休暇の繰り越しは十日までです。"
    asked = make_standalone("では、繰り越しは？", before).question
    written = ExtractiveWriter().write(WritingTask(asked, [evidence(text)], []))
    assert "有給休暇の繰り越しは十日までです。" in written.text
