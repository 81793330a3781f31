"""Reports what each node did: its name when it starts, and a typed `Step` when it has finished."""

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
from veracity.graph.context import RunContext
from veracity.graph.state import Plain
from veracity.models.steps import STEP_TYPES, Facts, Texts

REPORT = "report"


def report(facts: Facts, texts: Texts | None = None) -> Plain:
    """Merged into a node's update. It goes to the step, not to the state."""
    return {REPORT: (facts, texts)}


def reporting(node: Callable[[Any, Runtime[RunContext]], Plain]) -> Any:
    """Wrap a node so that it writes its name and its `Step` to the stream, inside a telemetry span."""
    name = node.__name__
    step_type = STEP_TYPES[name]

    @wraps(node)
    def run(state: Any, runtime: Runtime[RunContext]) -> Plain:
        started, begin = datetime.now(UTC), time.monotonic()
        runtime.stream_writer(name)

        def finish(facts: Facts, texts: Texts | None) -> None:
            span.set_step(facts.trace_attributes(), failed="problem" in facts.model_fields_set)
            seconds = time.monotonic() - begin
            fields: Plain = {"facts": facts} if texts is None else {"facts": facts, "texts": texts}
            runtime.stream_writer(step_type(name=name, started=started, seconds=seconds, **fields))

        with telemetry.step(name, expected=GraphBubbleUp) as span:  # an interrupt waits for approval
            try:
                update = node(state, runtime)
            except VeracityError as error:
                finish(step_type.facts_type()(problem=str(error)), None)
                raise
            finish(*update.pop(REPORT))
        return update

    return run
