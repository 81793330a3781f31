"""Tells whoever watches a run what each step did: when it begins, and when it has ended. Knows no step."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime

from veracity import telemetry
from veracity.errors import VeracityError
from veracity.graph.context import Parts
from veracity.graph.state import Plain
from veracity.models import Step

TRACE = "trace"


def trace(facts: Plain | None = None, texts: Plain | None = None) -> Plain:
    """What a node adds to its update for those who watch. `texts` is what may come from documents."""
    return {TRACE: {"facts": facts or {}, "texts": texts or {}}}


def traced(node: Callable[[Any, Runtime[Parts]], Plain]) -> Any:
    """The node, telling of itself: its name when it begins, a `Step` when it has ended."""
    name = node.__name__

    @wraps(node)
    def run(state: Any, runtime: Runtime[Parts]) -> Plain:
        started, begun = datetime.now(UTC), time.monotonic()
        runtime.stream_writer(name)

        def ended(facts: Plain, texts: Plain) -> None:
            seconds = time.monotonic() - begun
            span.facts(facts)
            runtime.stream_writer(Step(name=name, started=started, seconds=seconds, facts=facts, texts=texts))

        with telemetry.step(name, expected=GraphBubbleUp) as span:  # which only waits for a person
            try:
                update = node(state, runtime)
            except VeracityError as problem:
                ended({"problem": str(problem)}, {})
                raise
            told = update.pop(TRACE, {"facts": {}, "texts": {}})
            ended(**told)
        return update

    return run
