"""`answering.guide`: the local writer helps a small model to find the answer, and abstains in its place."""

import json

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail
from veracity.engine import Veracity
from veracity.testing import ScriptedCall, ScriptedLLM

QUOTE = "Full-time staff have 25 days of paid annual leave a year. [1]"
UNANSWERED = {
    "en": "Who approves annual leave of full-time staff?",
    "zh": "带薪年假期间的工资是多少？",
    "ja": "有給休暇の給料はいくらですか。",
}
UNCLEAR = "How much does a lost laptop cost?"
QUESTIONS = {
    "en": (QUESTION, "25 days"),
    "zh": ("正式员工每年享有多少天带薪年假？", "十五天"),
    "ja": ("正社員には年に何日の有給休暇がありますか。", "二十日"),
}


def guided(engine_with: MakeEngine, llm: ScriptedLLM, **answering: object) -> Veracity:
    return engine_with(llm, answering={"guide": True, **answering})


def material(call: ScriptedCall) -> dict[str, object]:
    """The JSON document in the last message of a call."""
    text = call.prompt
    found: dict[str, object] = json.loads(text[text.index("{\n") : text.rindex("}") + 1])
    return found


def writer_calls(llm: ScriptedLLM) -> list[ScriptedCall]:
    return [call for call in llm.calls if call.role == "writer"]


@pytest.mark.parametrize("language", QUESTIONS)
def test_the_prompt_quotes_the_sentences_that_probably_answer(engine_with: MakeEngine, language: str) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)
    question, expected = QUESTIONS[language]
    guided(engine_with, llm).ask(question)
    quotes = material(writer_calls(llm)[0])["quotes"]
    assert isinstance(quotes, str) and expected in quotes and "[1]" in quotes


@pytest.mark.parametrize("language", UNANSWERED)
def test_x2_without_a_local_answer_the_model_is_not_asked(engine_with: MakeEngine, language: str) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)
    engine = guided(engine_with, llm)
    answer = engine.ask(UNANSWERED[language])
    assert answer.status == "abstained"
    assert answer.missing and llm.calls == []


def test_the_last_redraft_is_a_quote_and_is_reviewed(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=[WRONG, f"{WRONG} Yes. [1]"], reviewer=[fail("It is 25."), fail("No."), PASS])
    engine = guided(engine_with, llm, gener_epoch=2)
    answer = engine.ask(QUESTION)
    assert (answer.text, answer.form) == (QUOTE, "extractive")
    assert answer.review is not None and answer.review.passed
    assert len(writer_calls(llm)) == 2 and len(engine.receipt(answer.run_id).drafts) == 3


def test_a_quote_that_fails_its_review_does_not_count_more_than_other_drafts(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=WRONG, reviewer=[fail("No."), fail("No.", "No!", "Never.")])
    answer = guided(engine_with, llm, gener_epoch=1).ask(QUESTION)
    assert answer.text == WRONG  # fewer suggestions
    assert answer.review is not None and not answer.review.passed
    assert "review_failed" in [notice.code for notice in answer.notices]


def test_a_passage_as_the_last_redraft_waits_for_a_person(gated: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer="A lost laptop costs 900 euros. [1]", reviewer=[fail("It does not say."), PASS])
    engine = gated(llm, answering={"guide": True, "gener_epoch": 1})
    answer = engine.ask(UNCLEAR)
    assert answer.status == "awaiting_approval"
    (approval,) = engine.approvals()
    assert "900" not in approval.draft.text and "A lost laptop is reported" in approval.draft.text
    assert approval.why == "uncertain"


def test_without_the_setting_the_model_is_asked(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer="The documents do not mention who approves it.", reviewer=PASS)
    answer = engine_with(llm).ask(UNANSWERED["en"])
    assert answer.status == "abstained"
    assert "quotes" not in material(writer_calls(llm)[0])
