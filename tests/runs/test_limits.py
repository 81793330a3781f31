"""Deadlines and budget: a run ends in time with the best it has, and says so (SPEC C5, X7)."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, MORE_AND_MORE, PASS, QUESTION, WRONG, fail
from veracity.engine import Veracity
from veracity.models import Answer
from veracity.testing import ScriptedLLM

SLACK = 10.0  # seconds; the machine may be busy, and what hangs does so for sixty


class Hang:
    """Says nothing until the test is over."""

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


def asked(make: Callable[[float], Veracity], is_there: Callable[[], bool], deadline: float = 0.0) -> Answer:
    """Within the deadline, or that of the engine: again with more time where that was over before the run came to what
    hangs."""
    for seconds in MORE_AND_MORE:
        engine, started = make(seconds), time.monotonic()
        answer = engine.ask(QUESTION, deadline=deadline or seconds)
        assert time.monotonic() - started < seconds + SLACK
        if is_there():
            break
    return answer


def test_a_writer_that_hangs_leaves_an_extract(engine_with: MakeEngine, hang: Hang) -> None:
    answer = asked(lambda _: engine_with(ScriptedLLM.by_role(writer=hang, reviewer=PASS)), lambda: hang.begun)
    assert (answer.status, answer.form) == ("answered", "extractive")
    assert "25 days" in answer.text
    assert "deadline" in codes(answer)


def test_a_redraft_that_hangs_leaves_the_draft(engine_with: MakeEngine, hang: Hang) -> None:
    script: dict[str, Any] = {"writer": [WRONG, hang], "reviewer": fail("Say 25.")}
    answer = asked(lambda _: engine_with(ScriptedLLM.by_role(**script)), lambda: hang.begun)
    assert answer.text == WRONG
    assert {"deadline", "review_failed", "unsupported"} <= set(codes(answer))


def test_a_reviewer_that_hangs_leaves_the_draft_not_reviewed(engine_with: MakeEngine, hang: Hang) -> None:
    answer = asked(lambda _: engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=hang)), lambda: hang.begun)
    assert answer.text == GOOD
    assert answer.review is not None
    assert answer.review.outcome == "not_reviewed"
    assert "not_reviewed" in codes(answer)


@pytest.mark.parametrize("limit", ["loop", "run"])
def test_c5_a_rewriter_that_hangs_leaves_the_evidence(engine_with: MakeEngine, hang: Hang, limit: str) -> None:
    def make(seconds: float) -> Veracity:
        quality = {"medium": 0.95, "high": 0.95, "loop_deadline": seconds if limit == "loop" else 60.0}
        return engine_with(ScriptedLLM.by_role(rewriter=hang), quality=quality)

    answer = asked(make, lambda: hang.begun, deadline=60.0 if limit == "loop" else 0.0)
    assert "25 days" in answer.text
    assert "rewrite_failed" in codes(answer)


def test_a_search_that_hangs_is_told_and_not_taken_for_silence(
    engine_with: MakeEngine, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(_: float) -> Veracity:
        engine = engine_with(quality={"loop_deadline": 0.5})
        monkeypatch.setattr(engine._searcher, "find", hang)
        return engine

    answer = asked(make, lambda: hang.begun, deadline=60.0)
    assert answer.status == "abstained"
    assert answer.text == "The documents could not be searched in time."
    assert "search_incomplete" in codes(answer)


def test_one_source_that_hangs_leaves_what_the_other_found(
    engine_with: MakeEngine, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_time: list[str] = []

    def make(seconds: float) -> Veracity:
        engine = engine_with(quality={"loop_deadline": seconds})
        find, started = engine._searcher.find, time.monotonic()

        def found(source: str, *rest: Any) -> Any:
            if source == "graph":
                return hang()
            result = find(source, *rest)
            if time.monotonic() - started < seconds / 2:
                in_time.append(source)
            return result

        monkeypatch.setattr(engine._searcher, "find", found)
        return engine

    answer = asked(make, lambda: hang.begun and bool(in_time), deadline=60.0)
    assert "25 days" in answer.text
    assert "search_incomplete" in codes(answer)


def test_a_reranker_that_hangs_leaves_the_order(
    engine_with: MakeEngine, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(seconds: float) -> Veracity:
        engine = engine_with(quality={"loop_deadline": seconds})
        monkeypatch.setattr(engine._searcher, "rerank", hang)
        return engine

    answer = asked(make, lambda: hang.begun, deadline=60.0)
    assert "25 days" in answer.text
    assert "not_reranked" in codes(answer)


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
