"""Conversations (SPEC D1–D4): follow-ups, earlier answers, summaries, and nobody sees what another one asked."""

from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION
from veracity.errors import InputError, ModelUnreachableError
from veracity.models import Answer
from veracity.testing import ScriptedLLM

LEAVE_ZH = ("正式员工每年享有多少天年假？", "十五天")
LEAVE_JA = ("正社員には年に何日の有給休暇がありますか。", "二十日")


def steps_of(engine: Any, answer: Answer) -> list[str]:
    return [step.name for step in engine.receipt(answer.run_id).steps]


def test_a_single_question_stands_alone(engine_with: MakeEngine) -> None:
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
def test_a_follow_up_is_understood_by_what_came_before(
    engine_with: MakeEngine, first: str, follow_up: str, found: str
) -> None:
    engine = engine_with()
    engine.ask(first, conversation="c")
    answer = engine.ask(follow_up, conversation="c")
    assert answer.status == "answered" and found in answer.text
    route = next(step for step in engine.receipt(answer.run_id).steps if step.name == "decide_route")
    assert route.texts is not None and route.texts["standalone"] == answer.standalone


@pytest.mark.parametrize(
    ("question", "found", "again"),
    [
        (QUESTION, "25 days", "What did you tell me about annual leave?"),
        (*LEAVE_ZH, "你刚才说年假是多少天？"),
        (*LEAVE_JA, "さっき有給休暇について何と言いましたか。"),
    ],
)
def test_an_earlier_answer_is_found_again_d4(engine_with: MakeEngine, question: str, found: str, again: str) -> None:
    engine = engine_with()
    first = engine.ask(question, conversation="c")
    assert found in first.text
    engine.ask("Hello!", conversation="c")
    answer = engine.ask(again, conversation="c")
    assert (answer.route, answer.form, answer.status) == ("history", "recalled", "answered")
    assert found in answer.text and answer.evidence[0].document_id == f"run:{first.run_id}"
    assert answer.sentences[0].supported and answer.sentences[0].citations[0].quote in answer.evidence[0].text
    assert "recalled" in [one.code for one in answer.notices]
    assert answer.score == first.score, "the same words, to the same question"
    assert "select_sources" not in steps_of(engine, answer)


def test_what_was_never_said_is_looked_for_in_the_documents_d4(engine_with: MakeEngine) -> None:
    engine = engine_with()
    engine.ask(QUESTION, conversation="c")
    answer = engine.ask("What did you tell me about a lost laptop?", conversation="c")
    assert answer.route == "history" and "within one hour" in answer.text
    assert answer.evidence[0].source != "history" and "search_context" in steps_of(engine, answer)


def test_one_users_history_is_never_found_by_another_d4(engine_with: MakeEngine) -> None:
    """Not in a conversation of the same name, and not where the whole history of a user is searched."""
    for scope in ("conversation", "user"):
        engine = engine_with(conversation={"history": scope})
        engine.ask(QUESTION, conversation="c", user=f"ana-{scope}")
        engine.ask("Where is a lost laptop reported?", conversation="c", user=f"bo-{scope}")
        asked = "What did you tell me about annual leave?"
        theirs = engine.ask(asked, conversation="c", user=f"bo-{scope}")
        assert all(one.source != "history" or "laptop" in one.title for one in theirs.evidence)
        own = engine.ask(asked, conversation="c", user=f"ana-{scope}")
        assert own.evidence[0].source == "history"


def test_the_history_of_the_user_is_searched_where_it_is_configured_d4(engine_with: MakeEngine) -> None:
    asked = "What did you tell me about annual leave?"
    for scope, source in (("conversation", "knowledge"), ("user", "history")):
        engine = engine_with(conversation={"history": scope})
        engine.ask(QUESTION, conversation=f"one-{scope}", user=scope)
        answer = engine.ask(asked, conversation=f"two-{scope}", user=scope)
        assert answer.evidence[0].source == source, scope


def test_rejected_answers_are_not_found_again_d4(engine_with: MakeEngine) -> None:
    engine = engine_with(approval={"policy": "always"})
    engine.decide(engine.ask(QUESTION, conversation="c").approval_id, "reject")
    waiting = engine.ask("What did you tell me about annual leave?", conversation="c")
    assert all(one.source != "history" for one in engine.approval(waiting.approval_id).draft.evidence)


def test_long_conversations_are_summed_up_and_the_summary_reaches_the_prompts_d2(engine_with: MakeEngine) -> None:
    decided = {"reason": "A question.", "route": "knowledge"}
    llm = ScriptedLLM.by_role(
        writer=GOOD,
        reviewer=PASS,
        router=lambda call: decided if "as JSON" in call.prompt else QUESTION,
        summarizer="They spoke of leave. SUMMED",
    )
    engine = engine_with(llm, conversation={"recent_turns": 2, "summarize_after": 500})
    answers = [engine.ask(QUESTION, conversation="c") for _ in range(9)]
    assert all(answer.status == "answered" for answer in answers)
    folded = [call for call in llm.calls if call.role == "summarizer"]
    assert 0 < len(folded) < 9, "not with every turn"
    asked = [call for call in llm.calls if "as JSON" not in call.prompt or call.role != "router"]
    last = {role: [call for call in asked if call.role == role][-1].prompt for role in ("router", "writer")}
    assert "SUMMED" in last["router"] and "SUMMED" in last["writer"]
    assert last["writer"].count(QUESTION) <= 2 + 4, "older turns are in the summary only"
    assert len(engine.turns("c")) == 9, "nothing is lost from what is stored"


def test_a_router_or_summarizer_that_is_down_is_replaced_by_code(engine_with: MakeEngine) -> None:
    down = ModelUnreachableError("It is down.")
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, router=down, summarizer=down)
    engine = engine_with(llm, conversation={"recent_turns": 1, "summarize_after": 500})
    answers = [engine.ask(QUESTION, conversation="c") for _ in range(6)]
    codes = {one.code for answer in answers for one in answer.notices}
    assert {"not_routed", "not_summarized"} <= codes and answers[-1].text == GOOD


def test_a_model_cannot_send_a_question_past_the_gates_d3(engine_with: MakeEngine) -> None:
    """A direct answer is not examined: code decides what is small talk, whatever a model says."""
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, router={"reason": "Easy.", "route": "direct"})
    answer = engine_with(llm).ask(QUESTION)
    assert answer.route == "knowledge" and answer.review is not None


@pytest.mark.parametrize("said", ["Hi there!", "Thanks a lot!", "你好", "こんにちは"])
def test_courtesies_are_answered_at_once_d3(engine_with: MakeEngine, said: str) -> None:
    engine = engine_with()
    answer = engine.ask(said, conversation="c")
    assert (answer.route, answer.status, answer.evidence, answer.quality) == ("direct", "answered", [], None)
    assert answer.text and steps_of(engine, answer)[-1] == "answer_directly"


def test_a_request_for_the_web_says_that_none_is_configured_d9(engine_with: MakeEngine) -> None:
    answer = engine_with().ask(f"Search the web: {QUESTION}")
    assert answer.route == "knowledge" and "web_not_configured" in [one.code for one in answer.notices]


def test_a_forgotten_conversation_leaves_nothing_behind_x3(engine_with: MakeEngine, root: Any) -> None:
    engine = engine_with()
    engine.ask("Marker question zebra: how many days of annual leave do full-time staff have?", conversation="secret")
    engine.ask(QUESTION, conversation="other")
    assert engine.forget_conversation("secret") == 1
    assert [one.conversation for one in engine.conversations()] == ["other"]
    engine.close()
    files = [*(root / "ledger").iterdir(), root / "observational_data.json"]
    assert not any(b"zebra" in path.read_bytes() for path in files if path.is_file())
    with pytest.raises(InputError, match="secret"):
        engine_with().forget_conversation("secret")


@pytest.mark.parametrize("name", ["x' OR '1'='1", "100%", "会話；一", '";DROP TABLE runs;--', "a" * 500])
def test_names_from_clients_are_only_ever_compared(engine_with: MakeEngine, name: str) -> None:
    engine = engine_with()
    engine.ask(QUESTION, conversation=name, user=name)
    assert [one.conversation for one in engine.conversations(user=name)] == [name]
    assert engine.conversations(user="local") == [] and engine.turns(name, user=name)[0].question == QUESTION


@pytest.mark.parametrize("name", ["a\0b", "a" * 501, 5])
def test_names_that_cannot_be_kept_are_refused(engine_with: MakeEngine, name: Any) -> None:
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
def test_what_was_said_last_is_said_again(engine_with: MakeEngine, question: str, found: str, again: str) -> None:
    engine = engine_with()
    nothing = engine.ask(again, conversation="c")
    assert (nothing.form, nothing.route) == ("direct", "history"), "and not looked for in the documents"
    engine.ask(question, conversation="c")
    answer = engine.ask(again, conversation="c")
    assert answer.route == "history" and found in answer.text and answer.score is not None and answer.score >= 0.75


def test_what_was_said_first_is_said_again(engine_with: MakeEngine) -> None:
    engine = engine_with()
    engine.ask(QUESTION, conversation="c")
    engine.ask("Where is a lost laptop reported?", conversation="c")
    answer = engine.ask("What was my first question?", conversation="c")
    assert "25 days" in answer.text and answer.evidence[0].title == QUESTION
