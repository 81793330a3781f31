"""Spans: attributes of model calls and steps, the cost of no-op spans, and exporter set-up."""

import json
import subprocess
import sys
import time
import types
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode

from tests.llm.sample_requests import question, text_request
from tests.loopback import LoopbackServer, raw, reply_with, status
from tests.traces import Spans, attributes, recorded
from veracity import telemetry
from veracity.errors import ConfigurationError
from veracity.llm import LLM
from veracity.models import Quality
from veracity.models.steps import ApprovalFacts, GradedEvidence, GradeFacts, WebSearchFacts
from veracity.settings import LLMSettings
from veracity.testing import ScriptedLLM

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


@pytest.fixture
def spans() -> Iterator[Spans]:
    with recorded() as spans:
        yield spans


def test_a_model_call_uses_opentelemetry_attribute_names(spans: Spans, server: LoopbackServer) -> None:
    llm = LLM(LLMSettings(backoff=0.01))
    server.respond_with(status(503), reply_with("So."))
    llm.write(text_request(temperature=0.5, max_tokens=99))
    llm.close()
    failed, call = spans.all
    assert (call.name, call.kind, call.status.status_code) == ("chat test-model", SpanKind.CLIENT, StatusCode.UNSET)
    assert attributes(call) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "test-model",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 99,
        "gen_ai.request.stream": False,
        "gen_ai.output.type": "text",
        "gen_ai.response.model": "test-model",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "veracity.role": "writer",
    }
    assert failed.status.status_code == StatusCode.ERROR and failed.status.description is None
    assert attributes(failed)["error.type"] == "ModelUnreachableError" and not failed.events


def test_cached_tokens_are_an_attribute(spans: Spans, server: LoopbackServer) -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "So."}}
    used = {
        "prompt_tokens": 9,
        "completion_tokens": 1,
        "total_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": used}
    server.respond_with(raw(json.dumps(reply).encode(), Content_Type="application/json"))
    llm = LLM()
    llm.write(text_request())
    llm.close()
    (call,) = spans.all
    assert attributes(call)["gen_ai.usage.cache_read.input_tokens"] == 8


def test_gen_ai_attribute_names_exist_in_opentelemetry() -> None:
    theirs = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    ours = {value for value in vars(telemetry).values() if isinstance(value, str) and value.startswith("gen_ai.")}
    assert len(ours) == 15 and ours - {telemetry.EVALUATION} <= theirs


def test_spans_record_streaming_and_output_type(spans: Spans) -> None:
    llm = ScriptedLLM("So.", {"reason": "Fine.", "score": 70})
    llm.write(text_request(), on_text=lambda _: None)
    llm.ask(question())
    streamed, asked = map(attributes, spans.all)
    assert streamed["gen_ai.request.stream"] and not asked["gen_ai.request.stream"]
    assert (streamed["gen_ai.output.type"], asked["gen_ai.output.type"]) == ("text", "json")
    assert (streamed["veracity.role"], asked["veracity.role"]) == ("writer", "judge")


def test_step_attributes_are_words_numbers_and_counts(spans: Spans) -> None:
    graded = GradeFacts(
        quality=Quality(grade="low", score=0.5),
        evidence=[GradedEvidence(id="a", source="knowledge", relevance_score=0.1)] * 2,
        sources=["knowledge"],
        is_best=True,
    )
    approved = ApprovalFacts(attempt=1, verdict="approve", by="wombat", edited=False)
    searched = WebSearchFacts(attempt=2, provider="x" * 99, outcome="The server said: secret.")
    for facts in (graded, approved, searched):
        with telemetry.step("x", expected=KeyError) as span:
            span.set_step(facts.trace_attributes(), failed=False)
    name = {"veracity.step.name": "x"}
    assert [attributes(span) for span in spans.all] == [
        {**name, "veracity.step.evidence": 2, "veracity.step.sources": 1, "veracity.step.grade": "low"}
        | {"veracity.step.score": 0.5},
        {**name, "veracity.step.attempt": 1, "veracity.step.verdict": "approve", "veracity.step.edited": False},
        {**name, "veracity.step.attempt": 2},
    ]


def test_pydantic_ai_instrumentation_is_off(spans: Spans) -> None:
    from pydantic_ai import Agent

    Agent.instrument_all()
    try:
        llm = ScriptedLLM("So.")
        llm.write(text_request())
        llm.write(text_request(), on_text=lambda _: None)
    finally:
        Agent.instrument_all(False)
    scopes = [span.instrumentation_scope.name for span in spans.all if span.instrumentation_scope]
    assert scopes == ["veracity", "veracity"]


def test_a_no_op_span_is_cheap() -> None:
    """`python -m pytest tests/test_telemetry.py -k cheap -s` prints the cost."""
    started, many = time.process_time(), 20_000
    for _ in range(many):
        with telemetry.step("retrieve", expected=KeyError) as span:
            span.set_step({}, failed=False)
    nanoseconds = (time.process_time() - started) / many * 1e9
    print(f"\n{nanoseconds:.0f} ns per no-op span")
    assert nanoseconds < 50_000


def test_opentelemetry_is_not_imported_without_a_provider() -> None:
    code = (
        "import sys; from veracity import telemetry\n"
        "with telemetry.step('x', expected=KeyError): pass\n"
        "assert telemetry.set_up() is False and telemetry.current_context() is None\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={}, timeout=60)


class TestSetUp:
    @pytest.fixture(autouse=True)
    def no_provider(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
        monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)

    def test_without_an_endpoint_it_is_a_no_op(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(ENDPOINT, raising=False)
        assert telemetry.set_up() is False

    def test_a_missing_exporter_package_says_how_to_install_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
        monkeypatch.setitem(sys.modules, EXPORTER, None)
        with pytest.raises(ConfigurationError, match=r'^OTEL_EXPORTER_OTLP_ENDPOINT is set.*"veracity\[otel\]"'):
            telemetry.set_up()

    def test_the_none_exporter_disables_tracing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
        monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
        monkeypatch.setitem(sys.modules, EXPORTER, None)
        assert telemetry.set_up() is False

    @pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"])
    def test_an_unsupported_protocol_is_an_error(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4317")
        monkeypatch.setenv(name, "grpc")
        with pytest.raises(ConfigurationError, match=f'^{name} .*"http/protobuf"'):
            telemetry.set_up()

    def test_an_unusable_variable_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module = types.ModuleType(EXPORTER)
        module.OTLPSpanExporter = lambda: float("ten seconds")  # type: ignore[attr-defined]
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
        monkeypatch.setitem(sys.modules, EXPORTER, module)
        with pytest.raises(ConfigurationError, match=r"^An OTEL_… environment variable .*'ten seconds'"):
            telemetry.set_up()

    def test_spans_reach_the_exporter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        exporter = InMemorySpanExporter()
        module = types.ModuleType(EXPORTER)
        module.OTLPSpanExporter = lambda: exporter  # type: ignore[attr-defined]
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
        monkeypatch.setitem(sys.modules, EXPORTER, module)
        monkeypatch.setattr(
            trace, "set_tracer_provider", lambda provider: monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
        )
        assert telemetry.set_up() is True
        assert telemetry.set_up() is False  # a provider exists now
        with telemetry.step("retrieve", expected=KeyError):
            pass
        provider = trace.get_tracer_provider()
        provider.force_flush()  # type: ignore[attr-defined]
        (span,) = exporter.get_finished_spans()
        assert span.name == "step retrieve" and span.resource.attributes["service.name"] == "veracity"
        provider.shutdown()  # type: ignore[attr-defined]
