"""Deadlines and budgets: a run ends in time with its best result and a notice (SPEC C5, X7)."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, RETRY_DEADLINES, WRONG, fail
from veracity.engine import Veracity
from veracity.models import Answer
from veracity.testing import ScriptedLLM

SLACK_SECONDS = 10.0  # for a busy machine; a hanging call takes sixty


class Hang:
    """Blocks until the test is over."""

    def __init__(self) -> None:
        self.begun = False
        self.over = threading.Event()

    def __call__(self, *_: Any) -> Any:
        self.begun = True
        return self.over.wait(60) and "Too late."


@pytest.fixture
def hang() -> Iterator[Hang]:
    made = Hang()
    yield made
    made.over.set()


def codes(answer: Answer) -> list[str]:
    return [notice.code for notice in answer.notices]


def ask_until(make: Callable[[float], Veracity], is_reached: Callable[[], bool], deadline: float = 0.0) -> Answer:
    """Ask with longer and longer deadlines until the run reaches the step that hangs."""
    for seconds in RETRY_DEADLINES:
        engine, started = make(seconds), time.monotonic()
        answer = engine.ask(QUESTION, deadline=deadline or seconds)
        assert time.monotonic() - started < seconds + SLACK_SECONDS
        if is_reached():
            break
    return answer


def test_a_hanging_writer_leads_to_an_extractive_answer(engine_with: MakeEngine, hang: Hang) -> None:
    answer = ask_until(lambda _: engine_with(ScriptedLLM.by_role(writer=hang, reviewer=PASS)), lambda: hang.begun)
    assert (answer.status, answer.form) == ("answered", "extractive")
    assert "25 days" in answer.text
    assert "deadline" in codes(answer)


def test_a_hanging_redraft_leaves_the_draft(engine_with: MakeEngine, hang: Hang) -> None:
    script: dict[str, Any] = {"writer": [WRONG, hang], "reviewer": fail("Say 25.")}
    answer = ask_until(lambda _: engine_with(ScriptedLLM.by_role(**script)), lambda: hang.begun)
    assert answer.text == WRONG
    assert {"deadline", "review_failed", "unsupported"} <= set(codes(answer))


def test_a_hanging_reviewer_leaves_the_draft_not_reviewed(engine_with: MakeEngine, hang: Hang) -> None:
    answer = ask_until(lambda _: engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=hang)), lambda: hang.begun)
    assert answer.text == GOOD
    assert answer.review is not None
    assert answer.review.outcome == "not_reviewed"
    assert "not_reviewed" in codes(answer)


@pytest.mark.parametrize("limit", ["loop", "run"])
def test_c5_a_hanging_rewriter_leaves_the_evidence(engine_with: MakeEngine, hang: Hang, limit: str) -> None:
    def make(seconds: float) -> Veracity:
        quality = {"medium": 0.95, "high": 0.95, "loop_deadline": seconds if limit == "loop" else 60.0}
        return engine_with(ScriptedLLM.by_role(rewriter=hang), quality=quality)

    answer = ask_until(make, lambda: hang.begun, deadline=60.0 if limit == "loop" else 0.0)
    assert "25 days" in answer.text
    assert "rewrite_failed" in codes(answer)


def test_a_hanging_search_is_reported_as_incomplete(
    engine_with: MakeEngine, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(_: float) -> Veracity:
        engine = engine_with(quality={"loop_deadline": 0.5})
        monkeypatch.setattr(engine._parts.searcher, "find", hang)
        return engine

    answer = ask_until(make, lambda: hang.begun, deadline=60.0)
    assert answer.status == "abstained"
    assert answer.text == "The documents could not be searched in time."
    assert "search_incomplete" in codes(answer)


def test_a_hanging_source_leaves_the_results_of_the_others(
    engine_with: MakeEngine, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_time: list[str] = []

    def make(seconds: float) -> Veracity:
        engine = engine_with(quality={"loop_deadline": seconds})
        find, started = engine._parts.searcher.find, time.monotonic()

        def found(source: str, *rest: Any) -> Any:
            if source == "graph":
                return hang()
            result = find(source, *rest)
            if time.monotonic() - started < seconds / 2:
                in_time.append(source)
            return result

        monkeypatch.setattr(engine._parts.searcher, "find", found)
        return engine

    answer = ask_until(make, lambda: hang.begun and bool(in_time), deadline=60.0)
    assert "25 days" in answer.text
    assert "search_incomplete" in codes(answer)


def test_a_hanging_reranker_leaves_the_order(
    engine_with: MakeEngine, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(seconds: float) -> Veracity:
        engine = engine_with(quality={"loop_deadline": seconds})
        monkeypatch.setattr(engine._parts.searcher, "rerank", hang)
        return engine

    answer = ask_until(make, lambda: hang.begun, deadline=60.0)
    assert "25 days" in answer.text
    assert "not_reranked" in codes(answer)


def test_a_tiny_deadline_ends_in_an_abstention(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS))
    answer = engine.ask(QUESTION, deadline=1e-6)
    assert answer.status == "abstained"
    assert "search_incomplete" in codes(answer)


def test_x7_a_spent_budget_leaves_the_draft_not_reviewed(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)
    answer = engine_with(llm, budget={"tokens": 10}).ask(QUESTION)
    assert answer.text == GOOD
    assert answer.review is not None
    assert answer.review.outcome == "not_reviewed"
    assert "10 tokens" in next(notice.text for notice in answer.notices if notice.code == "not_reviewed")
    assert [call.role for call in llm.calls] == ["writer"]


def test_x7_a_budget_spent_by_the_rewriter_leads_to_an_extractive_answer(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(
        rewriter={"reason": "Sharper.", "query": "annual leave days staff", "sources": ["knowledge", "graph"]},
        writer=GOOD,
        reviewer=PASS,
    )
    engine = engine_with(llm, budget={"tokens": 10}, quality={"medium": 0.99, "high": 0.99, "max_rewrites": 1})
    answer = engine.ask(QUESTION)
    assert answer.form == "extractive"
    assert "budget" in codes(answer)
    assert [call.role for call in llm.calls] == ["rewriter"]
