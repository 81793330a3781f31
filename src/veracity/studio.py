"""The graph for LangGraph's tools: `langgraph dev` and Studio open `graph`, which langgraph.json names.

They pass only a question, so this graph takes its context from the workspace that VERACITY_WORKSPACE names. Such a run
reads the ledger and writes nothing, so it can be forked and repeated from any step. The value that resumes it is the
decision on its draft.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt
from pydantic import BaseModel, Field, ValidationError

from veracity.assembly import Assembly
from veracity.errors import InputError
from veracity.graph.build import build_graph
from veracity.graph.context import RunContext
from veracity.graph.state import RunState, fresh_turn
from veracity.inputs import MAX_REWRITES, check_question
from veracity.ledger import Ledger
from veracity.models import LOCAL, Decision, Evidence, Remembered, RunParameters
from veracity.run_requests import new_run_id
from veracity.runs.driver import EXHAUSTED, isolated, langsmith_tracing

VARIABLE = "VERACITY_WORKSPACE"
HELP = 'Resume with {"verdict": "approve"}, optionally with "edit", or with {"verdict": "reject", "reason": "…"}.'

_workspaces: dict[Path, Assembly] = {}
_lock = threading.Lock()


class Question(BaseModel):
    """The input form of Studio. `conversation` continues a conversation of `user`."""

    question: str
    conversation: str = ""
    user: str = LOCAL
    max_rewrites: int | None = Field(default=None, ge=0, le=MAX_REWRITES)


class ReadOnlyMemory:
    """A view of the ledger that stores nothing and takes the decision from an interrupt."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.weak_points = ledger.weak_points
        self.past_turns = ledger.past_turns
        self.turns = ledger.turns

    def keep_evidence(self, run_id: str, evidence: Sequence[Evidence], *, given: bool) -> None:
        """No-op."""

    def keep_summary(self, user: str, conversation: str, summary: str, folded: int) -> None:
        """No-op."""

    def remembered(self, user: str, conversation: str, before_run: str | None = None) -> Remembered:
        """All turns of the conversation: this run is not in the ledger."""
        return self._ledger.remembered(user, conversation)

    def decision(self, run_id: str, attempt: int) -> Decision | None:
        """Interrupt the run until it is resumed with a valid decision."""
        request = {"approve": f"the draft of attempt {attempt}, in final_answer", "how": HELP}
        while True:
            value = interrupt(request)
            fields = {"verdict": value} if isinstance(value, str) else value
            try:
                return Decision.model_validate({**fields, "by": "studio", "at": datetime.now(UTC), "attempt": attempt})
            except (ValidationError, TypeError):
                request["problem"] = "This is not a decision."


class StudioGraph(CompiledStateGraph[RunState, Any, Any, Any]):
    """The graph of a run, with a context and an initial state of its own."""

    def stream(self, input: Any, *args: Any, **options: Any) -> Iterator[Any]:
        state, context = _prepare(input)
        updates = super().stream(state, *args, **{**options, "context": context})
        with isolated(updates, langsmith=context.settings.telemetry.langsmith) as isolated_updates:
            yield from isolated_updates

    async def astream(self, input: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        state, context = await asyncio.to_thread(_prepare, input)  # reads files
        stream = super().astream(state, *args, **{**options, "context": context})
        async with aclosing(stream) as updates:  # type: ignore[type-var]
            while True:
                # Not around the yield: the caller's tracing is unchanged.
                with langsmith_tracing(context.settings.telemetry.langsmith):
                    update = await anext(updates, EXHAUSTED)
                if update is EXHAUSTED:
                    return
                yield update

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        return Question.model_json_schema()

    def get_context_jsonschema(self, config: Any = None) -> dict[str, Any] | None:
        return None


def _prepare(input: Any) -> tuple[Any, RunContext]:
    """The initial state for a question, and a context whose deadline starts now. Any other input stays unchanged."""
    root = Path(os.environ.get(VARIABLE) or ".").expanduser().resolve()
    with _lock:  # one assembly for each workspace: its models take a while to load
        if root not in _workspaces:
            _workspaces[root] = Assembly(root)
        parts = _workspaces[root]
    is_new = isinstance(input, dict) and not input.get("run_id")
    run = _run_parameters(parts, input if is_new else {"question": "resumed"})
    memory = ReadOnlyMemory(parts.ledger)  # raises without a workspace
    context = parts.context.for_run(run)
    context.memory = memory
    return (fresh_turn(run) if is_new else input), context


def _run_parameters(parts: Assembly, input: dict[str, Any]) -> RunParameters:
    try:
        asked = Question.model_validate(input)
    except ValidationError as error:
        fields = ", ".join(str(detail["loc"][0]) for detail in error.errors())
        raise InputError(f'A run starts with {{"question": "…"}}. These fields cannot be used: {fields}.') from None
    settings = parts.settings
    return RunParameters(
        run_id=new_run_id(),
        question=check_question(asked.question),
        user=asked.user,
        conversation=asked.conversation,
        max_rewrites=settings.quality.max_rewrites if asked.max_rewrites is None else asked.max_rewrites,
        deadline=settings.answering.run_deadline,
    )


def _make_graph() -> StudioGraph:
    fields = {name: value for name, value in vars(build_graph()).items() if name != "__orig_class__"}
    return StudioGraph(**{**fields, "name": "veracity", "context_schema": None})


graph = _make_graph()
