"""Reports what each node did: its name when it starts, and a typed `Step` when it has finished.

The step, and the model calls that are kept with it, are part of the state, so that they are in the same checkpoint as
the node's result: after a crash a run has all or none of them. A node that fails has no checkpoint; its step goes to
the stream.
"""

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
from veracity.models.steps import STEP_TYPES, BaseStep, Facts, Texts

REPORT = "report"
STEPS = "steps"  # keys of the state
CALLS = "calls"


def report(facts: Facts, texts: Texts | None = None) -> Plain:
    """Merged into a node's update. It becomes the node's step."""
    return {REPORT: (facts, texts)}


def reporting(node: Callable[[Any, Runtime[RunContext]], Plain]) -> Any:
    """Wrap a node so that it writes its name to the stream and its `Step` to the state, inside a telemetry span."""
    name = node.__name__
    step_type = STEP_TYPES[name]

    @wraps(node)
    def run(state: Any, runtime: Runtime[RunContext]) -> Plain:
        started, begin = datetime.now(UTC), time.monotonic()
        runtime.stream_writer(name)

        def make_step(facts: Facts, texts: Texts | None) -> BaseStep:
            span.set_step(facts.trace_attributes(), failed="problem" in facts.model_fields_set)
            seconds = time.monotonic() - begin
            fields: Plain = {"facts": facts} if texts is None else {"facts": facts, "texts": texts}
            return step_type(name=name, started=started, seconds=seconds, **fields)

        with telemetry.step(name, expected=GraphBubbleUp) as span:  # an interrupt waits for approval
            try:
                update = node(state, runtime)
            except VeracityError as error:
                runtime.stream_writer(make_step(step_type.facts_type()(problem=str(error)), None))
                raise
            step = make_step(*update.pop(REPORT))
        calls = [call.model_dump(mode="json") for call in runtime.context.limits.budget.take_calls()]
        return {**update, STEPS: step.model_dump(mode="json"), **({CALLS: calls} if calls else {})}

    return run
