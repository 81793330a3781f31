"""OpenTelemetry spans around runs, steps, model calls and web searches. No span holds text.

Until a program sets up a tracer provider, spans are no-ops and OpenTelemetry is not imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from veracity.errors import ConfigurationError
from veracity.secrets import without_secrets
from veracity.version import __version__

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer

SCOPE = "veracity"
RUN_ID = "veracity.run.id"
RUN_STRETCH = "veracity.run.stretch"
RUN_OUTCOME = "veracity.run.outcome"
STEP_NAME = "veracity.step.name"
STEP_ATTRIBUTE = "veracity.step.{name}"
ROLE = "veracity.role"
WEB_PROVIDER = "veracity.web.provider"
WEB_PAGES = "veracity.web.pages"
WEB_EVIDENCE = "veracity.web.evidence"
ERROR = "error.type"
# OpenTelemetry's conventions for generative AI.
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
REQUEST_TEMPERATURE = "gen_ai.request.temperature"
REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
REQUEST_STREAM = "gen_ai.request.stream"
OUTPUT_TYPE = "gen_ai.output.type"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
EVALUATION = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"

# Environment variables; the one for traces takes precedence.
ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOL_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SUPPORTED_PROTOCOL = "http/protobuf"

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class ModelCall:
    """`output` is "text" or "json"."""

    provider: str
    model: str
    role: str
    output: str
    temperature: float
    max_tokens: int | None
    streams: bool


class Span:
    """A no-op span. As a context manager it is the parent of spans started inside."""

    __slots__ = ()
    context: Context | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        pass

    def set(self, name: str, value: str | float | None) -> None:
        pass

    def set_step(self, attributes: Mapping[str, str | float], *, failed: bool) -> None:
        pass

    def set_response(self, model: str | None, finish_reason: str | None, input_tokens: int, output_tokens: int) -> None:
        pass

    def set_web_results(self, pages: int, evidence: int) -> None:
        pass

    def end(self, error: BaseException | None = None) -> None:
        pass


NO_OP_SPAN = Span()


class _RecordedSpan(Span):
    """Ends with an error status on an exception that is not `expected`."""

    __slots__ = ("_expected", "_span", "_token", "context")

    def __init__(self, span: Any, parent: Context | None, expected: tuple[type[BaseException], ...]) -> None:
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415 - already imported by the program

        self._span = span
        self._expected = expected
        self.context = set_span_in_context(span, parent)

    def __enter__(self) -> Self:
        self._token = _contexts().attach(self.context)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        _contexts().detach(self._token)
        self.end(error)

    def set(self, name: str, value: str | float | None) -> None:
        if value is not None:
            self._span.set_attribute(name, value)

    def set_step(self, attributes: Mapping[str, str | float], *, failed: bool) -> None:
        for name, value in attributes.items():
            self.set(STEP_ATTRIBUTE.format(name=name), value)
        if failed:
            self._set_error("_OTHER")

    def set_response(self, model: str | None, finish_reason: str | None, input_tokens: int, output_tokens: int) -> None:
        self.set(RESPONSE_MODEL, model)
        self._span.set_attribute(FINISH_REASONS, [finish_reason] if finish_reason else [])
        self.set(INPUT_TOKENS, input_tokens)
        self.set(OUTPUT_TOKENS, output_tokens)

    def set_web_results(self, pages: int, evidence: int) -> None:
        self.set(WEB_PAGES, pages)
        self.set(WEB_EVIDENCE, evidence)

    def end(self, error: BaseException | None = None) -> None:
        if error is not None and not isinstance(error, self._expected):
            self._set_error(type(error).__name__)
        self._span.end()

    def _set_error(self, kind: str) -> None:
        from opentelemetry.trace import StatusCode  # noqa: PLC0415 - already imported by the program

        self._span.set_attribute(ERROR, kind)
        self._span.set_status(StatusCode.ERROR)


def run(run_id: str, stretch: int) -> Span:
    """A run until it ends or waits for approval. A resumed run is another stretch."""
    return _start("run", {RUN_ID: run_id, RUN_STRETCH: stretch})


def step(name: str, expected: type[BaseException]) -> Span:
    """A graph node. An `expected` exception is not an error."""
    return _start(f"step {name}", {STEP_NAME: name}, expected=(expected,))


def model_call(call: ModelCall, parent: Context | None) -> Span:
    attributes = {
        OPERATION: "chat",
        PROVIDER: call.provider,
        REQUEST_MODEL: call.model,
        OUTPUT_TYPE: call.output,
        REQUEST_TEMPERATURE: call.temperature,
        REQUEST_MAX_TOKENS: call.max_tokens,
        REQUEST_STREAM: call.streams,
        ROLE: call.role,
    }
    return _start(f"chat {call.model}", attributes, parent=parent, is_client=True)


def evaluation_result(metric: str, score: float) -> None:
    """An event of the current span for a metric's score, from 0 to 100. Comments quote texts and are left out."""
    if tracer():
        from opentelemetry.trace import get_current_span  # noqa: PLC0415 - already imported by the program

        get_current_span().add_event(EVALUATION, {EVALUATION_NAME: metric, EVALUATION_SCORE: score})


def web_search(provider: str) -> Span:
    return _start(f"web_search {provider}", {WEB_PROVIDER: provider}, is_client=True)


def tracer() -> Tracer | None:
    """None when the program has set up no tracer provider."""
    trace = sys.modules.get("opentelemetry.trace")
    get_provider = getattr(trace, "get_tracer_provider", None)  # missing while another thread imports the module
    if trace is None or get_provider is None:
        return None
    provider = get_provider()
    if type(provider) in (trace.ProxyTracerProvider, trace.NoOpTracerProvider):  # isinstance() takes 1 µs here
        return None
    return provider.get_tracer(SCOPE, __version__)  # type: ignore[no-any-return]


def current_context() -> Context | None:
    """The trace context of this thread, to be passed to another thread."""
    return _contexts().get_current() if tracer() else None


def with_current_context(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function for another thread so that its spans are children of the current span."""
    parent = current_context()
    if parent is None:
        return function

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        token = _contexts().attach(parent)
        try:
            return function(*args, **kwargs)
        finally:
            _contexts().detach(token)

    return call


def attach(context: Context | None) -> None:
    """Make it the current trace context for good. Only for a `contextvars` context that nothing else uses."""
    if context is not None:
        _contexts().attach(context)


def set_up() -> bool:
    """Export spans to the collector that the environment names. False without one, or if the program has a provider.

    Raises `ConfigurationError` for an unsupported protocol, unusable variables or a missing exporter package.
    """
    endpoint = _first_set(ENDPOINT_VARIABLES)
    if not endpoint or os.environ.get("OTEL_TRACES_EXPORTER") == "none" or tracer():
        return False
    protocol = _first_set(PROTOCOL_VARIABLES)
    if protocol and os.environ[protocol] != SUPPORTED_PROTOCOL:
        raise ConfigurationError(f'{protocol} names an unsupported protocol: set it to "{SUPPORTED_PROTOCOL}".')
    try:
        from opentelemetry import trace  # noqa: PLC0415 - slow, and optional
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise ConfigurationError(
            f'{endpoint} is set, but the exporter is not installed: pip install "veracity[otel]" '
            '(in a checkout ".[otel]"), or unset it.'
        ) from None
    try:
        resource = Resource.create({} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": SCOPE})
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except ValueError as error:
        detail = " ".join(without_secrets(str(error)).split())[:200]
        raise ConfigurationError(f"An OTEL_… environment variable has an unusable value ({detail}).") from None
    trace.set_tracer_provider(provider)
    return True


def _start(
    name: str,
    attributes: Mapping[str, Any],
    parent: Context | None = None,
    expected: tuple[type[BaseException], ...] = (),
    is_client: bool = False,
) -> Span:
    spans = tracer()
    if spans is None:
        return NO_OP_SPAN
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - already imported by the program

    present = {key: value for key, value in attributes.items() if value is not None}
    kind = SpanKind.CLIENT if is_client else SpanKind.INTERNAL
    return _RecordedSpan(spans.start_span(name, context=parent, kind=kind, attributes=present), parent, expected)


def _contexts() -> Any:
    from opentelemetry import context  # noqa: PLC0415 - already imported by the program

    return context


def _first_set(names: tuple[str, ...]) -> str:
    return next((name for name in names if os.environ.get(name)), "")
