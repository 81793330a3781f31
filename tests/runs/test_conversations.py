"""Conversations (SPEC D1–D4): follow-ups, earlier answers, summaries, and separation of users."""

from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION
from veracity.errors import InputError, ModelUnreachableError
from veracity.models import Answer
from veracity.models.steps import RouteStep
from veracity.testing import ScriptedLLM

LEAVE_ZH = ("正式员工每年享有多少天年假？", "十五天")
LEAVE_JA = ("正社員には年に何日の有給休暇がありますか。", "二十日")


def steps_of(engine: Any, answer: Answer) -> list[str]:
    return [step.name for step in engine.receipt(answer.run_id).steps]


def test_a_question_without_a_conversation(engine_with: MakeEngine) -> None:
    engine = engine_with()
    answer = engine.ask(QUESTION)
    assert (answer.route, answer.standalone, answer.conversation) == ("knowledge", QUESTION, "")
    assert steps_of(engine, answer)[:3] == ["process_input", "summarize_if_needed", "decide_route"]


@pytest.mark.parametrize(
    ("first", "follow_up", "found"),
    [
        ("How much may hotels cost a night?", "And how soon are receipts handed in?", "30 days"),
        (QUESTION, "How many of them may be carried over?", "5 days"),
    ],
)
def test_a_follow_up_is_understood_in_context(engine_with: MakeEngine, first: str, follow_up: str, found: str) -> None:
    engine = engine_with()
    engine.ask(first, conversation="c")
    answer = engine.ask(follow_up, conversation="c")
    assert answer.status == "answered" and found in answer.text
    route = next(step for step in engine.receipt(answer.run_id).steps if step.name == "decide_route")
    assert isinstance(route, RouteStep) and route.texts and route.texts.standalone == answer.standalone


@pytest.mark.parametrize(
    ("first", "follow_up", "asked"),
    [
        (
            "How many days of leave do staff with less than 1 year of service have?",
            "What about over 1 year?",
            "How many days of leave do staff with over 1 year of service have?",
        ),
        ("How much can I spend on hotels?", "And for office furniture?", "How much can I spend on office furniture?"),
        ("工龄不满一年的员工有多少天年假？", "那超过一年呢？", "工龄超过一年的员工有多少天年假？"),
        (
            "勤続1年未満の社員の有給休暇は何日ですか？",
            "では1年を超える場合は？",
            "勤続1年を超える社員の有給休暇は何日ですか？",
        ),
    ],
)
def test_d3_a_follow_up_is_asked_as_a_whole_question(gated: MakeEngine, first: str, follow_up: str, asked: str) -> None:
    """Also after an abstention or an answer that waits for a person."""
    engine = gated()
    engine.ask(first, conversation="c")
    assert engine.ask(follow_up, conversation="c").standalone == asked


@pytest.mark.parametrize(
    ("question", "found", "again"),
    [
        (QUESTION, "25 days", "What did you tell me about annual leave?"),
        (*LEAVE_ZH, "你刚才说年假是多少天？"),
        (*LEAVE_JA, "さっき有給休暇について何と言いましたか。"),
    ],
)
def test_d4_an_earlier_answer_is_recalled(engine_with: MakeEngine, question: str, found: str, again: str) -> None:
    engine = engine_with()
    first = engine.ask(question, conversation="c")
    assert found in first.text
    engine.ask("Hello!", conversation="c")
    answer = engine.ask(again, conversation="c")
    assert (answer.route, answer.form, answer.status) == ("history", "recalled", "answered")
    assert found in answer.text and answer.evidence[0].document_id == f"run:{first.run_id}"
    assert answer.sentences[0].supported and answer.sentences[0].citations[0].quote in answer.evidence[0].text
    assert "recalled" in [notice.code for notice in answer.notices]
    assert answer.score == first.score, "the same text for the same question"
    assert "select_sources" not in steps_of(engine, answer)


def test_d4_without_an_earlier_answer_the_documents_are_searched(engine_with: MakeEngine) -> None:
    engine = engine_with()
    engine.ask(QUESTION, conversation="c")
    answer = engine.ask("What did you tell me about a lost laptop?", conversation="c")
    assert answer.route == "history" and "within one hour" in answer.text
    assert answer.evidence[0].source != "history" and "search_context" in steps_of(engine, answer)


def test_d4_users_do_not_see_each_others_history(engine_with: MakeEngine) -> None:
    """Neither in a conversation of the same name nor with the history of the whole user."""
    for scope in ("conversation", "user"):
        engine = engine_with(conversation={"history": scope})
        engine.ask(QUESTION, conversation="c", user=f"ana-{scope}")
        engine.ask("Where is a lost laptop reported?", conversation="c", user=f"bo-{scope}")
        asked = "What did you tell me about annual leave?"
        theirs = engine.ask(asked, conversation="c", user=f"bo-{scope}")
        assert all(item.source != "history" or "laptop" in item.title for item in theirs.evidence)
        own = engine.ask(asked, conversation="c", user=f"ana-{scope}")
        assert own.evidence[0].source == "history"


def test_d4_the_history_scope_is_a_setting(engine_with: MakeEngine) -> None:
    asked = "What did you tell me about annual leave?"
    for scope, source in (("conversation", "knowledge"), ("user", "history")):
        engine = engine_with(conversation={"history": scope})
        engine.ask(QUESTION, conversation=f"one-{scope}", user=scope)
        answer = engine.ask(asked, conversation=f"two-{scope}", user=scope)
        assert answer.evidence[0].source == source, scope


def test_d4_rejected_answers_are_not_recalled(engine_with: MakeEngine) -> None:
    engine = engine_with(approval={"policy": "always"})
    engine.decide(engine.ask(QUESTION, conversation="c").approval_id, "reject")
    waiting = engine.ask("What did you tell me about annual leave?", conversation="c")
    assert all(item.source != "history" for item in engine.approval(waiting.approval_id).draft.evidence)


def test_d2_long_conversations_are_summarized_for_the_prompts(engine_with: MakeEngine) -> None:
    decided = {"reason": "A question.", "route": "knowledge"}
    llm = ScriptedLLM.by_role(
        writer=GOOD,
        reviewer=PASS,
        router=lambda call: decided if "contains the question" in call.prompt else QUESTION,
        summarizer="They spoke of leave. SUMMED",
    )
    engine = engine_with(llm, conversation={"recent_turns": 2, "summarize_after": 500})
    answers = [engine.ask(QUESTION, conversation="c") for _ in range(9)]
    assert all(answer.status == "answered" for answer in answers)
    folded = [call for call in llm.calls if call.role == "summarizer"]
    assert 0 < len(folded) < 9, "not with every turn"
    asked = [call for call in llm.calls if "contains the question" not in call.prompt or call.role != "router"]
    last = {role: [call for call in asked if call.role == role][-1].prompt for role in ("router", "writer")}
    assert "SUMMED" in last["router"] and "SUMMED" in last["writer"]
    assert last["writer"].count(QUESTION) <= 2 + 4, "older turns are in the summary only"
    assert len(engine.turns("c")) == 9, "all turns are still stored"


def test_a_failing_router_or_summarizer_is_replaced_by_local_rules(engine_with: MakeEngine) -> None:
    down = ModelUnreachableError("It is down.")
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, router=down, summarizer=down)
    engine = engine_with(llm, conversation={"recent_turns": 1, "summarize_after": 500})
    answers = [engine.ask(QUESTION, conversation="c") for _ in range(6)]
    codes = {notice.code for answer in answers for notice in answer.notices}
    assert {"not_routed", "not_summarized"} <= codes and answers[-1].text == GOOD


def test_d3_a_model_cannot_bypass_the_review(engine_with: MakeEngine) -> None:
    """A direct answer is not reviewed, so code decides what is small talk."""
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, router={"reason": "Easy.", "route": "direct"})
    answer = engine_with(llm).ask(QUESTION)
    assert answer.route == "knowledge" and answer.review is not None


def test_d3_arithmetic_is_marked_as_not_from_the_documents(engine_with: MakeEngine) -> None:
    choice = {"reason": "Arithmetic.", "route": "direct", "expression": "17*23"}
    answer = engine_with(ScriptedLLM.by_role(router=choice), models={"router": "test:router"}).ask("What is 17 * 23?")
    assert (answer.text, answer.form, answer.status) == ("17*23 = 391", "direct", "answered")
    assert [notice.code for notice in answer.notices] == ["not_from_documents"]


@pytest.mark.parametrize("greeting", ["Hi there!", "Thanks a lot!", "你好", "こんにちは"])
def test_d3_small_talk_is_answered_directly(engine_with: MakeEngine, greeting: str) -> None:
    engine = engine_with()
    answer = engine.ask(greeting, conversation="c")
    assert (answer.route, answer.status, answer.evidence, answer.quality) == ("direct", "answered", [], None)
    assert answer.text and steps_of(engine, answer)[-1] == "answer_directly"


def test_d9_a_request_for_web_search_without_a_provider(engine_with: MakeEngine) -> None:
    answer = engine_with().ask(f"Search the web: {QUESTION}")
    assert answer.route == "knowledge" and "web_not_configured" in [notice.code for notice in answer.notices]


def test_x3_a_forgotten_conversation_leaves_no_bytes(engine_with: MakeEngine, root: Any) -> None:
    engine = engine_with()
    engine.ask("Marker question zebra: how many days of annual leave do full-time staff have?", conversation="secret")
    engine.ask(QUESTION, conversation="other")
    assert engine.forget_conversation("secret") == 1
    assert [summary.conversation for summary in engine.conversations()] == ["other"]
    engine.close()
    files = [*(root / "ledger").iterdir(), root / "observational_data.json"]
    assert not any(b"zebra" in path.read_bytes() for path in files if path.is_file())
    with pytest.raises(InputError, match="secret"):
        engine_with().forget_conversation("secret")


@pytest.mark.parametrize("name", ["x' OR '1'='1", "100%", "会話；一", '";DROP TABLE runs;--', "a" * 500])
def test_names_with_special_characters_are_only_compared(engine_with: MakeEngine, name: str) -> None:
    engine = engine_with()
    engine.ask(QUESTION, conversation=name, user=name)
    assert [summary.conversation for summary in engine.conversations(user=name)] == [name]
    assert engine.conversations(user="local") == [] and engine.turns(name, user=name)[0].question == QUESTION


@pytest.mark.parametrize("name", ["a\0b", "a" * 501, 5])
def test_invalid_conversation_names_are_refused(engine_with: MakeEngine, name: Any) -> None:
    with pytest.raises(InputError):
        engine_with().ask(QUESTION, conversation=name)


@pytest.mark.parametrize(
    ("question", "found", "again"),
    [
        (QUESTION, "25 days", "What did you say?"),
        (QUESTION, "25 days", "Repeat your last answer."),
        (*LEAVE_ZH, "你刚才说了什么？"),
        (*LEAVE_JA, "さっき何と言いましたか？"),
    ],
)
def test_the_last_answer_is_repeated_on_request(engine_with: MakeEngine, question: str, found: str, again: str) -> None:
    engine = engine_with()
    nothing = engine.ask(again, conversation="c")
    assert (nothing.form, nothing.route) == ("direct", "history"), "the documents are not searched"
    engine.ask(question, conversation="c")
    answer = engine.ask(again, conversation="c")
    assert answer.route == "history" and found in answer.text and answer.score is not None and answer.score >= 0.75


def test_the_first_answer_is_repeated_on_request(engine_with: MakeEngine) -> None:
    engine = engine_with()
    engine.ask(QUESTION, conversation="c")
    engine.ask("Where is a lost laptop reported?", conversation="c")
    answer = engine.ask("What was my first question?", conversation="c")
    assert "25 days" in answer.text and answer.evidence[0].title == QUESTION
