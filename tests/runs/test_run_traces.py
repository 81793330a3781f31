"""The spans of a run, which hold no text."""

import threading
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, fail, judged
from tests.runs.websites import SearchServer
from tests.traces import Spans, attributes, recorded
from veracity.errors import ModelAccessError, ModelUnreachableError
from veracity.testing import ScriptedLLM


@pytest.fixture
def spans() -> Iterator[Spans]:
    with recorded() as spans:
        yield spans


def test_a_run_with_its_steps_and_calls_is_one_trace(spans: Spans, engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(90))
    answer = engine_with(llm).ask(QUESTION)
    (run,) = spans.named("run")
    assert attributes(run) == {
        "veracity.run.id": answer.run_id,
        "veracity.run.stretch": 1,
        "veracity.run.outcome": "ended",
    }
    steps = [span for span in spans.all if span.name.startswith("step ")]
    assert {"step generate_answer", "step retrieve", "step eval_answer", "step evaluate"} <= {
        item.name for item in steps
    }
    assert {spans.parent(step) for step in steps} == {"run"}
    assert len({span.context.trace_id for span in spans.all if span.context}) == 1
    calls = [span for span in spans.all if span.name.startswith("chat ")]
    assert {call.name: spans.parent(call) for call in calls} == {
        "chat test:writer": "step generate_answer",
        "chat test:reviewer": "step eval_answer",
        "chat test:judge": "step evaluate",
    }
    reviewed, graded, scored = (
        spans.named(f"step {name}")[-1] for name in ("eval_answer", "grade_documents", "evaluate")
    )
    assert attributes(reviewed)["veracity.step.outcome"] == "passed"
    assert attributes(graded)["veracity.step.grade"] in ("high", "medium", "low")
    assert attributes(scored)["veracity.step.score"] == 0.9
    results = [event for event in scored.events if event.name == "gen_ai.evaluation.result"]
    assert [dict(event.attributes or {})["gen_ai.evaluation.score.value"] for event in results] == [90, 90, 90]
    assert {key for event in results for key in event.attributes or {}} == {
        "gen_ai.evaluation.name",
        "gen_ai.evaluation.score.value",
    }


def test_a_call_on_another_thread_is_a_child_of_its_step(spans: Spans, engine_with: MakeEngine) -> None:
    rewritten = {"reason": "r", "query": "days of paid annual leave"}
    engine_with(ScriptedLLM.by_role(rewriter=rewritten)).ask("What is the wombat quota?")
    (call, *_) = spans.named("chat test:rewriter")
    assert spans.parent(call) == "step rewrite_query"


def test_no_text_is_traced(spans: Spans, gated: MakeEngine, website: SearchServer) -> None:
    """Neither questions, drafts, evidence, suggestions, reasons, pages nor errors."""
    website.finds("A wombat has 30 days of leave a year.")
    llm = ScriptedLLM.by_role(
        writer=[WRONG, GOOD, "A wombat has 30 days of leave a year. [1]", ModelUnreachableError("wombat")],
        reviewer=[fail("wombat"), PASS, PASS],
        judge=judged(10, 10),
    )
    engine = gated(llm, web=website.settings)
    waiting = engine.ask(QUESTION)
    assert waiting.status == "awaiting_approval" and waiting.approval_id
    engine.decide(waiting.approval_id, "reject", reason="wombat", by="wombat")
    with pytest.raises(ModelUnreachableError):
        engine.ask("正式员工每年有多少天带薪年假")
    (search,) = spans.named("web_search searxng")
    assert spans.parent(search) == "step web_search"
    assert attributes(search) == {
        "veracity.web.provider": "searxng",
        "veracity.web.pages": 1,
        "veracity.web.evidence": 1,
    }
    assert len(spans.all) > 40
    assert {event.name for span in spans.all for event in span.events} == {"gen_ai.evaluation.result"}
    sent = "".join(span.to_json() for span in spans.all)
    for text in ("wombat", "leave", "days", "paid", "年假", "\\u5e74", "portal"):
        assert text not in sent


def test_a_resumed_run_is_a_second_span(spans: Spans, gated: MakeEngine) -> None:
    engine = gated(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(10)))
    waiting = engine.ask(QUESTION)
    assert waiting.approval_id
    engine.decide(waiting.approval_id, "approve")
    first, second = spans.named("run")
    assert (attributes(first)["veracity.run.outcome"], attributes(second)["veracity.run.outcome"]) == ("waits", "ended")
    assert attributes(first)["veracity.run.id"] == attributes(second)["veracity.run.id"]
    asked = spans.named("step human_approval")
    assert len(asked) == 2 and attributes(asked[-1])["veracity.step.verdict"] == "approve"
    assert all(span.status.status_code == StatusCode.UNSET for span in asked)  # waiting for approval is not an error


def test_a_failing_run_has_error_spans(spans: Spans, engine_with: MakeEngine) -> None:
    with pytest.raises(ModelAccessError):
        engine_with(ScriptedLLM.by_role(writer=ModelAccessError("No."), reviewer=PASS)).ask(QUESTION)
    for name in ("run", "step generate_answer", "chat test:writer"):
        (span,) = spans.named(name)
        assert span.status.status_code == StatusCode.ERROR and span.status.description is None
        assert attributes(span)["error.type"] == "ModelAccessError"


def test_the_span_of_an_abandoned_run_ends(spans: Spans, engine_with: MakeEngine) -> None:
    events = engine_with().stream(QUESTION)
    next(events)
    events.close()  # type: ignore[attr-defined]
    (run,) = spans.named("run")
    assert attributes(run)["veracity.run.outcome"] == "left"


def test_concurrent_runs_are_separate_traces(spans: Spans, engine_with: MakeEngine) -> None:
    engine = engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS))
    threads = [threading.Thread(target=engine.ask, args=(QUESTION,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    traces: dict[int, list[str]] = {}
    for span in spans.all:
        assert span.context
        traces.setdefault(span.context.trace_id, []).append(span.name)
    assert len(traces) == 4
    assert len({tuple(sorted(names)) for names in traces.values()}) == 1


def test_a_run_is_a_child_of_the_current_span(spans: Spans, engine_with: MakeEngine) -> None:
    with trace.get_tracer("a program").start_as_current_span("request") as request:
        for _ in engine_with().stream(QUESTION):
            assert trace.get_current_span() is request  # the run never becomes the current span
    (run,) = spans.named("run")
    assert spans.parent(run) == "request"
