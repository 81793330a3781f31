"""Whether there is somebody who takes spans, and where on its thread a program is. Loads OpenTelemetry for nobody."""

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
RUN = "run"
STEP = "step {name}"
MODEL_CALL = "chat {model}"
WEB_SEARCH = "web_search {provider}"

RUN_ID = "veracity.run.id"
RUN_STRETCH = "veracity.run.stretch"
RUN_OUTCOME = "veracity.run.outcome"
STEP_NAME = "veracity.step.name"
STEP_FACT = "veracity.step.{fact}"
ROLE = "veracity.role"
WEB_PROVIDER = "veracity.web.provider"
WEB_PAGES = "veracity.web.pages"
WEB_EVIDENCE = "veracity.web.evidence"
ERROR = "error.type"
# OpenTelemetry's own, for calls to models.
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
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"

# What is told of a step where its facts hold it: numbers, single words, and of a list how long it is.
FACTS = (
    *(
        "abstains",
        "attempt",
        "confidence",
        "edited",
        "epoch",
        "evidence",
        "folded",
        "form",
        "found",
        "grade",
        "outcome",
    ),
    *("pages", "provider", "route", "score", "source", "sources", "status", "suggestions", "threshold"),
    *("verdict",),
)


T = TypeVar("T")
P = ParamSpec("P")


def tracer() -> Tracer | None:
    """None where nobody set one up, for which OpenTelemetry need not be loaded."""
    trace = sys.modules.get("opentelemetry.trace")
    provider_of = getattr(trace, "get_tracer_provider", None)  # missing while another thread is loading it
    if trace is None or provider_of is None:
        return None
    provider = provider_of()
    if type(provider) in (trace.ProxyTracerProvider, trace.NoOpTracerProvider):  # an isinstance() takes 1 µs here
        return None
    return provider.get_tracer(SCOPE, __version__)  # type: ignore[no-any-return]


def context() -> Any:
    from opentelemetry import context  # noqa: PLC0415 - it is loaded, or we were not here

    return context


def here() -> Context | None:
    """For another thread: what is current on this one."""
    return context().get_current() if tracer() else None


def carried(job: Callable[P, T]) -> Callable[P, T]:
    """The job, to be done on another thread: what begins there belongs to what is current here."""
    where = here()
    if where is None:
        return job

    @wraps(job)
    def there(*args: P.args, **kwargs: P.kwargs) -> T:
        token = context().attach(where)
        try:
            return job(*args, **kwargs)
        finally:
            context().detach(token)

    return there


def stay(where: Context | None) -> None:
    """What begins from now on in this context of Python's belongs there. For one that nobody else uses."""
    if where is not None:
        context().attach(where)


ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
SPOKEN = "http/protobuf"


def set_up() -> bool:
    """Send spans to the collector that the environment names, if it names one. A program's own provider stays."""
    named = _given(ENDPOINTS)
    if not named or os.environ.get("OTEL_TRACES_EXPORTER") == "none" or tracer():
        return False
    protocol = _given(PROTOCOLS)
    if protocol and os.environ[protocol] != SPOKEN:
        raise ConfigurationError(f'{protocol} names a protocol that is not spoken here: set it to "{SPOKEN}".')
    try:
        from opentelemetry import trace  # noqa: PLC0415 - slow, and only for who wants it
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise ConfigurationError(
            f'{named} is set, and what sends spans there is not installed: pip install "veracity[otel]" '
            '(in a checkout ".[otel]"), or unset it.'
        ) from None
    try:
        resource = Resource.create({} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": SCOPE})
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    except ValueError as problem:
        told = " ".join(without_secrets(str(problem)).split())[:200]
        raise ConfigurationError(f"An OTEL_… variable of the environment cannot be used ({told}).") from None
    trace.set_tracer_provider(provider)
    return True


def _given(names: tuple[str, ...]) -> str:
    """The first that is set: that for spans wins over that for everything."""
    return next((name for name in names if os.environ.get(name)), "")


__all__ = ["ModelCall", "Span", "carried", "here", "model_call", "run", "set_up", "stay", "step", "web_search"]


LONGEST_WORD = 40


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
    """One that is under way. In a `with` it is what begins inside belongs to; what is raised there ends it as an error,
    unless it is `expected`. This one is for where nothing is traced."""

    __slots__ = ()
    here: Context | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, problem: BaseException | None, _trace: object) -> None:
        pass

    def tell(self, name: str, value: str | float | None) -> None:
        pass

    def facts(self, facts: Mapping[str, Any]) -> None:
        pass

    def answered(self, model: str | None, finish_reason: str | None, input_tokens: int, output_tokens: int) -> None:
        pass

    def looked_up(self, pages: int, evidence: int) -> None:
        pass

    def end(self, problem: BaseException | None = None) -> None:
        pass


class _Recorded(Span):
    __slots__ = ("_expected", "_span", "_token", "here")

    def __init__(self, span: Any, parent: Context | None, expected: tuple[type[BaseException], ...]) -> None:
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415 - it is loaded

        self._span = span
        self._expected = expected
        self.here = set_span_in_context(span, parent)

    def __enter__(self) -> Self:
        self._token = context().attach(self.here)
        return self

    def __exit__(self, _kind: object, problem: BaseException | None, _trace: object) -> None:
        context().detach(self._token)
        self.end(problem)

    def tell(self, name: str, value: str | float | None) -> None:
        if value is not None:
            self._span.set_attribute(name, value)

    def facts(self, facts: Mapping[str, Any]) -> None:
        known = {**facts, **(facts.get("quality") or {})}
        for fact in FACTS:
            self.tell(STEP_FACT.format(fact=fact), _plain(known.get(fact)))
        if "problem" in facts:
            self._fail("_OTHER")

    def answered(self, model: str | None, finish_reason: str | None, input_tokens: int, output_tokens: int) -> None:
        self.tell(RESPONSE_MODEL, model)
        self._span.set_attribute(FINISH_REASONS, [finish_reason] if finish_reason else [])
        self.tell(INPUT_TOKENS, input_tokens)
        self.tell(OUTPUT_TOKENS, output_tokens)

    def looked_up(self, pages: int, evidence: int) -> None:
        self.tell(WEB_PAGES, pages)
        self.tell(WEB_EVIDENCE, evidence)

    def end(self, problem: BaseException | None = None) -> None:
        if problem is not None and not isinstance(problem, self._expected):
            self._fail(type(problem).__name__)
        self._span.end()

    def _fail(self, kind: str) -> None:
        from opentelemetry.trace import StatusCode  # noqa: PLC0415 - it is loaded

        self._span.set_attribute(ERROR, kind)
        self._span.set_status(StatusCode.ERROR)


SILENT = Span()


def run(run_id: str, stretch: int) -> Span:
    """One stretch of a run: it ends where a person is asked, and the next stretch begins with the decision."""
    return _begun(RUN, {RUN_ID: run_id, RUN_STRETCH: stretch})


def step(name: str, expected: type[BaseException]) -> Span:
    return _begun(STEP, {STEP_NAME: name}, expected=(expected,), name=name)


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
    return _begun(MODEL_CALL, attributes, parent=parent, calls_out=True, model=call.model)


def web_search(provider: str) -> Span:
    return _begun(WEB_SEARCH, {WEB_PROVIDER: provider}, calls_out=True, provider=provider)


def _begun(
    span_name: str,
    attributes: Mapping[str, Any],
    parent: Context | None = None,
    expected: tuple[type[BaseException], ...] = (),
    calls_out: bool = False,
    **named: str,
) -> Span:
    taker = tracer()
    if taker is None:
        return SILENT
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - it is loaded

    told = {name: value for name, value in attributes.items() if value is not None}
    kind = SpanKind.CLIENT if calls_out else SpanKind.INTERNAL
    span = taker.start_span(span_name.format(**named), context=parent, kind=kind, attributes=told)
    return _Recorded(span, parent, expected)


def _plain(value: Any) -> str | float | None:
    """A number or a single word, and of a list how long it is. A sentence may hold anything."""
    if isinstance(value, list):
        return len(value)
    if isinstance(value, str):
        is_word = value.isascii() and value.isidentifier() and len(value) <= LONGEST_WORD
        return value if is_word else None
    return value if isinstance(value, int | float) else None
