"""Spans: what is told of calls to models, what it costs where nobody takes them, and where they are sent."""

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

from tests.llm.asking import question, writing
from tests.loopback import LoopbackServer, says, status
from tests.traces import Spans, recorded, told
from veracity import telemetry
from veracity import telemetry as telemetry_module
from veracity.errors import ConfigurationError
from veracity.llm import LLM
from veracity.settings import LLMSettings
from veracity.testing import ScriptedLLM

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"


@pytest.fixture
def spans() -> Iterator[Spans]:
    with recorded() as spans:
        yield spans


def test_a_call_is_told_of_in_opentelemetrys_words(spans: Spans, server: LoopbackServer) -> None:
    llm = LLM(LLMSettings(backoff=0.01))
    server.behaves(status(503), says("So."))
    llm.write(writing(temperature=0.5, max_tokens=99))
    llm.close()
    failed, call = spans.all
    assert (call.name, call.kind, call.status.status_code) == ("chat test-model", SpanKind.CLIENT, StatusCode.UNSET)
    assert told(call) == {
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
    assert told(failed)["error.type"] == "ModelUnreachableError" and not failed.events


def test_the_words_are_opentelemetrys() -> None:
    theirs = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    ours = {
        value for value in vars(telemetry_module).values() if isinstance(value, str) and value.startswith("gen_ai.")
    }
    assert len(ours) == 11 and ours <= theirs


def test_streams_and_questions_say_what_they_are(spans: Spans) -> None:
    llm = ScriptedLLM("So.", {"reason": "Fine.", "score": 70})
    llm.write(writing(), on_text=lambda _: None)
    llm.ask(question())
    streamed, asked = map(told, spans.all)
    assert streamed["gen_ai.request.stream"] and not asked["gen_ai.request.stream"]
    assert (streamed["gen_ai.output.type"], asked["gen_ai.output.type"]) == ("text", "json")
    assert (streamed["veracity.role"], asked["veracity.role"]) == ("writer", "judge")


def test_of_the_facts_of_a_step_only_words_and_numbers_are_told(spans: Spans) -> None:
    facts = {
        "outcome": "The server said: secret.",
        "route": "正式员工",
        "grade": "x" * 99,
        "evidence": ["a", "b"],
        "score": 0.5,
        "by": "wombat",
        "abstains": False,
    }
    with telemetry.step("x", expected=KeyError) as span:
        span.facts(facts)
    assert told(spans.all[0]) == {
        "veracity.step.name": "x",
        "veracity.step.evidence": 2,
        "veracity.step.score": 0.5,
        "veracity.step.abstains": False,
    }


def test_pydantic_ai_tells_nobody_of_a_call(spans: Spans) -> None:
    from pydantic_ai import Agent

    Agent.instrument_all()
    try:
        llm = ScriptedLLM("So.")
        llm.write(writing())
        llm.write(writing(), on_text=lambda _: None)
    finally:
        Agent.instrument_all(False)
    scopes = [span.instrumentation_scope.name for span in spans.all if span.instrumentation_scope]
    assert scopes == ["veracity", "veracity"]


def test_a_span_that_nobody_takes_costs_next_to_nothing() -> None:
    """`python -m pytest tests/test_telemetry.py -k costs -s` prints it."""
    started, many = time.perf_counter(), 20_000
    for _ in range(many):
        with telemetry.step("retrieve", expected=KeyError) as span:
            span.facts({})
    nanoseconds = (time.perf_counter() - started) / many * 1e9
    print(f"\n{nanoseconds:.0f} ns for a span that nobody takes")
    assert nanoseconds < 50_000


def test_opentelemetry_is_loaded_for_nobody_who_does_not_want_it() -> None:
    code = (
        "import sys; from veracity import telemetry\n"
        "with telemetry.step('x', expected=KeyError): pass\n"
        "assert telemetry.set_up() is False and telemetry.here() is None\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={}, timeout=60)


class TestSettingUp:
    @pytest.fixture(autouse=True)
    def nothing_set_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
        monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)

    def test_without_an_address_nothing_happens(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(ENDPOINT, raising=False)
        assert telemetry.set_up() is False

    def test_without_the_extra_it_is_told_how_to_install_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
        monkeypatch.setitem(sys.modules, EXPORTER, None)
        with pytest.raises(ConfigurationError, match=r'^OTEL_EXPORTER_OTLP_ENDPOINT is set.*"veracity\[otel\]"'):
            telemetry.set_up()

    def test_who_wants_none_gets_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
        monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
        monkeypatch.setitem(sys.modules, EXPORTER, None)
        assert telemetry.set_up() is False

    @pytest.mark.parametrize("name", ["OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"])
    def test_another_protocol_is_told(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4317")
        monkeypatch.setenv(name, "grpc")
        with pytest.raises(ConfigurationError, match=f'^{name} .*"http/protobuf"'):
            telemetry.set_up()

    def test_a_variable_that_cannot_be_read_is_one_sentence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module = types.ModuleType(EXPORTER)
        module.OTLPSpanExporter = lambda: float("ten seconds")  # type: ignore[attr-defined]
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
        monkeypatch.setitem(sys.modules, EXPORTER, module)
        with pytest.raises(ConfigurationError, match=r"^An OTEL_… variable .*'ten seconds'"):
            telemetry.set_up()

    def test_spans_go_to_the_exporter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        exporter = InMemorySpanExporter()
        module = types.ModuleType(EXPORTER)
        module.OTLPSpanExporter = lambda: exporter  # type: ignore[attr-defined]
        monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
        monkeypatch.setitem(sys.modules, EXPORTER, module)
        monkeypatch.setattr(
            trace, "set_tracer_provider", lambda one: monkeypatch.setattr(trace, "_TRACER_PROVIDER", one)
        )
        assert telemetry.set_up() is True
        assert telemetry.set_up() is False  # there is one now
        with telemetry.step("retrieve", expected=KeyError):
            pass
        provider = trace.get_tracer_provider()
        provider.force_flush()  # type: ignore[attr-defined]
        (span,) = exporter.get_finished_spans()
        assert span.name == "step retrieve" and span.resource.attributes["service.name"] == "veracity"
        provider.shutdown()  # type: ignore[attr-defined]
