"""Explicit requests for earlier answers or the web are recognized by their form (SPEC D3, D4)."""

import pytest

from veracity.agents.follow_up.explicit_requests import parse_recall_request, parse_turn_request, parse_web_request


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("what did you tell me about refunds?", "refunds"),
        ("What did you say earlier about the warranty?", "the warranty"),
        ("What have you told me about parking in Oslo so far?", "parking in Oslo"),
        ("What did I ask?", ""),
        ("What did we discuss before?", ""),
        ("Can you remind me what you said about leave?", "leave"),
        ("You said refunds take five days?", "refunds take five days"),
        ("Didn't you say that refunds take five days?", "refunds take five days"),
        ("What was your last answer?", ""),
        ("Summarize our conversation so far", ""),
        ("你刚才说退款要多久？", "退款要多久"),
        ("之前你告诉我退款要多久？", "退款要多久"),
        ("你之前告诉我的退款时间是多少？", "退款时间是多少"),
        ("我刚才问了什么？", ""),
        ("检索上下文，退款要多久？", "退款要多久"),
        ("さっき返金は5日と言いましたか", "返金は5日"),
        ("前に返金について何と言いましたか？", "返金"),
        ("先ほど何を聞きましたか。", ""),
        ("前回の回答は？", ""),
    ],
)
def test_recall_requests_are_recognized(question: str, topic: str) -> None:
    assert parse_recall_request(question) == topic


@pytest.mark.parametrize(
    "question",
    [
        "How long do refunds take?",
        "What did the minister say about refunds?",
        "What does the contract say about refunds?",
        "Earlier you said refunds take five days. How long do exchanges take?",
        "Did you know that Oslo is in Norway?",
        "What do I have to tell my manager before I leave?",
        "How do I repeat a search?",
        "退款要多久？",
        "入职之前要准备什么？",
        "如何查看历史记录？",
        "他说的政策是什么？",
        "返金には何日かかりますか。",
        "入社する前に何を提出しますか。",
        "以前の住所はどこに届け出ますか。",
        "",
    ],
)
def test_other_questions_are_not_recall_requests(question: str) -> None:
    assert parse_recall_request(question) is None


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Search the web for the population of Osaka", "the population of Osaka"),
        ("Please look up the population of Osaka on the internet.", "the population of Osaka"),
        ("What is the population of Osaka? Look online please.", "What is the population of Osaka"),
        ("Can you google the population of Osaka?", "the population of Osaka"),
        ("search online", ""),
        ("Look it up online", ""),
        ("Search the web", ""),
        ("search the web for it", ""),
        ("Can you look that up on the internet?", ""),
        ("上网搜一下", ""),
        ("网上查一下它", ""),
        ("ネットで調べて", ""),
        ("それをネットで調べて", ""),
        ("上网搜一下大阪的人口", "大阪的人口"),
        ("请帮我网上查大阪天气", "大阪天气"),
        ("大阪的人口是多少？上网查一下", "大阪的人口是多少"),
        ("ウェブで大阪の人口を検索してください。", "大阪の人口"),
        ("大阪の人口をネットで調べて", "大阪の人口"),
        ("ググって", ""),
    ],
)
def test_web_requests_are_recognized(question: str, wanted: str) -> None:
    assert parse_web_request(question) == wanted


@pytest.mark.parametrize(
    "question",
    [
        "How do I search the web with the intranet browser?",
        "Which web server do we use?",
        "Find the online booking form",
        "Check the web policy",
        "What does the internet cost?",
        "如何上网查询余额？",
        "网上搜索功能怎么用？",
        "网络安全政策是什么？",
        "ネットで検索する方法は？",
        "勤務中にネットで調べてもいいですか。",
        "",
    ],
)
def test_questions_about_the_web_are_not_web_requests(question: str) -> None:
    assert parse_web_request(question) is None


@pytest.mark.parametrize(
    ("question", "turn"),
    [
        ("What did you say?", "last"),
        ("Repeat your last answer.", "last"),
        ("What did I ask?", "last"),
        ("Say that again", "last"),
        ("Could you repeat that, please?", "last"),
        ("What was my first question?", "first"),
        ("What did I ask first?", "first"),
        ("What was the first thing you said?", "first"),
        ("你刚才说了什么？", "last"),
        ("我刚才问了什么？", "last"),
        ("请再说一遍", "last"),
        ("我的第一个问题是什么？", "first"),
        ("你一开始说了什么？", "first"),
        ("さっき何と言いましたか？", "last"),
        ("もう一度言ってください", "last"),
        ("前の回答をもう一度お願いします", "last"),
        ("最初の質問は何でしたか", "first"),
    ],
)
def test_recall_request_without_topic_asks_for_a_turn(question: str, turn: str) -> None:
    assert (parse_turn_request(question), parse_recall_request(question)) == (turn, "")


@pytest.mark.parametrize(
    "question",
    [
        "What did you tell me about refunds?",
        "What was the first question of the exam?",
        "How do I say that again in French?",
        "Repeat the test again",
        "你刚才说退款要多久？",
        "再申请一次可以吗？",
        "さっき返金について何と言いましたか？",
        "もう一度申請できますか？",
        "最初の申請は何ですか",
        "",
    ],
)
def test_recall_request_with_topic_does_not_ask_for_a_turn(question: str) -> None:
    assert parse_turn_request(question) is None


def test_overlong_text_is_not_a_request() -> None:
    assert parse_recall_request("what did you tell me about " * 20_000) is None
    assert parse_turn_request("say that again " * 20_000) is None
    assert parse_web_request("search the web " * 20_000) is None
