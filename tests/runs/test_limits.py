"""Deadlines and budget: a run ends in time with the best it has, and says so (SPEC C5, X7)."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail
from veracity.engine import Veracity
from veracity.models import Answer
from veracity.testing import ScriptedLLM

SLACK = 2.0  # seconds; the machine may be busy


@pytest.fixture
def hang() -> Iterator[Callable[..., Any]]:
    """Says nothing until the test is over."""
    over = threading.Event()
    yield lambda *_: over.wait(60) and "Too late."
    over.set()


def codes(answer: Answer) -> list[str]:
    return [notice.code for notice in answer.notices]


def timed(engine: Veracity, question: str, deadline: float) -> tuple[Answer, float]:
    started = time.monotonic()
    return engine.ask(question, deadline=deadline), time.monotonic() - started


def test_a_writer_that_hangs_leaves_an_extract(engine_with: MakeEngine, hang: Any) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=hang, reviewer=PASS))
    answer, seconds = timed(engine, QUESTION, 1.0)
    assert (answer.status, answer.form) == ("answered", "extractive")
    assert "25 days" in answer.text
    assert "deadline" in codes(answer)
    assert seconds < 1.0 + SLACK


def test_a_redraft_that_hangs_leaves_the_draft(engine_with: MakeEngine, hang: Any) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=[WRONG, hang], reviewer=fail("Say 25.")))
    answer, seconds = timed(engine, QUESTION, 1.0)
    assert answer.text == WRONG
    assert {"deadline", "review_failed", "unsupported"} <= set(codes(answer))
    assert seconds < 1.0 + SLACK


def test_a_reviewer_that_hangs_leaves_the_draft_not_reviewed(engine_with: MakeEngine, hang: Any) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=hang))
    answer, seconds = timed(engine, QUESTION, 1.0)
    assert answer.text == GOOD
    assert answer.review is not None
    assert answer.review.outcome == "not_reviewed"
    assert "not_reviewed" in codes(answer)
    assert seconds < 1.0 + SLACK


@pytest.mark.parametrize("limit", ["loop", "run"])
def test_c5_a_rewriter_that_hangs_leaves_the_evidence(engine_with: MakeEngine, hang: Any, limit: str) -> None:
    quality = {"medium": 0.95, "high": 0.95, "loop_deadline": 1.0 if limit == "loop" else 60.0}
    engine = engine_with(ScriptedLLM.by_role(rewriter=hang), quality=quality)
    answer, seconds = timed(engine, QUESTION, 60.0 if limit == "loop" else 1.0)
    assert "25 days" in answer.text
    assert "rewrite_failed" in codes(answer)
    assert seconds < 1.0 + SLACK


def test_a_search_that_hangs_is_told_and_not_taken_for_silence(
    engine_with: MakeEngine, hang: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_with(quality={"loop_deadline": 0.5})
    monkeypatch.setattr(engine._searcher, "find", hang)
    answer, seconds = timed(engine, QUESTION, 5.0)
    assert answer.status == "abstained"
    assert answer.text == "The documents could not be searched in time."
    assert "search_incomplete" in codes(answer)
    assert seconds < 0.5 + SLACK


def test_one_source_that_hangs_leaves_what_the_other_found(
    engine_with: MakeEngine, hang: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_with(quality={"loop_deadline": 0.7})
    find = engine._searcher.find
    monkeypatch.setattr(
        engine._searcher, "find", lambda source, *rest: hang() if source == "graph" else find(source, *rest)
    )
    answer, seconds = timed(engine, QUESTION, 5.0)
    assert "25 days" in answer.text
    assert "search_incomplete" in codes(answer)
    assert seconds < 0.7 + SLACK


def test_a_reranker_that_hangs_leaves_the_order(
    engine_with: MakeEngine, hang: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_with(quality={"loop_deadline": 0.7})
    monkeypatch.setattr(engine._searcher, "rerank", hang)
    answer, seconds = timed(engine, QUESTION, 5.0)
    assert "25 days" in answer.text
    assert "not_reranked" in codes(answer)
    assert seconds < 0.7 + SLACK


def test_a_deadline_of_next_to_nothing(engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS))
    answer = engine.ask(QUESTION, deadline=1e-6)
    assert answer.status == "abstained"
    assert "search_incomplete" in codes(answer)


def test_x7_a_budget_that_is_spent_leaves_the_draft_not_reviewed(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)
    answer = engine_with(llm, budget={"tokens": 10}).ask(QUESTION)
    assert answer.text == GOOD
    assert answer.review is not None
    assert answer.review.outcome == "not_reviewed"
    assert "10 tokens" in next(notice.text for notice in answer.notices if notice.code == "not_reviewed")
    assert [call.role for call in llm.calls] == ["writer"]


def test_x7_a_budget_that_the_rewriter_spent_leaves_an_extract(engine_with: MakeEngine) -> None:
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
