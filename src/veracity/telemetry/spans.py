"""Spans around runs, their steps, calls to models and searches of the web.

They are told ids, names, numbers and outcomes; never a text of a question, an answer, a document or an error. Without a
provider of spans nothing happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from veracity.telemetry import names
from veracity.telemetry.tracers import context, tracer

if TYPE_CHECKING:
    from opentelemetry.context import Context

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
        for fact in names.FACTS:
            self.tell(names.STEP_FACT.format(fact=fact), _plain(known.get(fact)))
        if "problem" in facts:
            self._fail("_OTHER")

    def answered(self, model: str | None, finish_reason: str | None, input_tokens: int, output_tokens: int) -> None:
        self.tell(names.RESPONSE_MODEL, model)
        self._span.set_attribute(names.FINISH_REASONS, [finish_reason] if finish_reason else [])
        self.tell(names.INPUT_TOKENS, input_tokens)
        self.tell(names.OUTPUT_TOKENS, output_tokens)

    def looked_up(self, pages: int, evidence: int) -> None:
        self.tell(names.WEB_PAGES, pages)
        self.tell(names.WEB_EVIDENCE, evidence)

    def end(self, problem: BaseException | None = None) -> None:
        if problem is not None and not isinstance(problem, self._expected):
            self._fail(type(problem).__name__)
        self._span.end()

    def _fail(self, kind: str) -> None:
        from opentelemetry.trace import StatusCode  # noqa: PLC0415 - it is loaded

        self._span.set_attribute(names.ERROR, kind)
        self._span.set_status(StatusCode.ERROR)


SILENT = Span()


def run(run_id: str, stretch: int) -> Span:
    """One stretch of a run: it ends where a person is asked, and the next stretch begins with the decision."""
    return _begun(names.RUN, {names.RUN_ID: run_id, names.RUN_STRETCH: stretch})


def step(name: str, expected: type[BaseException]) -> Span:
    return _begun(names.STEP, {names.STEP_NAME: name}, expected=(expected,), name=name)


def model_call(call: ModelCall, parent: Context | None) -> Span:
    attributes = {
        names.OPERATION: "chat",
        names.PROVIDER: call.provider,
        names.REQUEST_MODEL: call.model,
        names.OUTPUT_TYPE: call.output,
        names.REQUEST_TEMPERATURE: call.temperature,
        names.REQUEST_MAX_TOKENS: call.max_tokens,
        names.REQUEST_STREAM: call.streams,
        names.ROLE: call.role,
    }
    return _begun(names.MODEL_CALL, attributes, parent=parent, calls_out=True, model=call.model)


def web_search(provider: str) -> Span:
    return _begun(names.WEB_SEARCH, {names.WEB_PROVIDER: provider}, calls_out=True, provider=provider)


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
