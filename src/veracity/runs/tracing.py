"""Keeps what LangGraph does to ourselves: no run is sent to a tracing service, whatever the environment says.

LangGraph would send questions, documents and answers to LangSmith where LANGSMITH_TRACING is set, which a user may have
done for quite another program.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from typing import TypeVar

from langsmith.run_helpers import tracing_context

from veracity import telemetry

T = TypeVar("T")


def untraced(begin: Callable[[], Iterator[T]], span: telemetry.Span | None = None) -> Iterator[T]:
    """What the iterator yields. It runs in a context of its own, so that the tracing of whoever asks is left alone.
    What is traced of it, which holds no text, belongs to the span, where there is one."""
    context = contextvars.copy_context()
    context.run(tracing_context(enabled=False).__enter__)
    if span:
        context.run(telemetry.stay, span.here)
    steps = context.run(begin)
    nothing = object()
    try:
        while (told := context.run(next, steps, nothing)) is not nothing:
            yield told  # type: ignore[misc]
    finally:
        if close := getattr(steps, "close", None):
            context.run(close)
