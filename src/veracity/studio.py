"""The graph of a run for LangGraph's own tools: `langgraph dev` and Studio open what langgraph.json names here.

They hand in a question and no parts, so this graph brings its own, from the workspace that VERACITY_WORKSPACE names.
Such a run is a rehearsal: it reads what the workspace remembers and leaves nothing there, so that it may be forked and
run again from any step. Whoever watches it decides on its draft, by what the run is resumed with. Knows no node.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt
from langsmith.run_helpers import tracing_context
from pydantic import BaseModel, Field, ValidationError

from veracity.assembly import Assembly
from veracity.deadlines import Deadline
from veracity.engine import checked_question
from veracity.errors import InputError
from veracity.graph.build import build_graph
from veracity.graph.context import Limits, Memory, Parts, WeakPoint
from veracity.graph.state import RunState, fresh_turn
from veracity.llm import Budget
from veracity.models import LOCAL, Decision, Evidence, PastTurn, Remembered
from veracity.runs.driver import untraced
from veracity.runs.runner import new_run_id

VARIABLE = "VERACITY_WORKSPACE"
ME = "studio"
ENDED = object()
HOW = 'Resume with {"verdict": "approve"}, and "edit" for other words, or with {"verdict": "reject", "reason": "…"}.'


class Question(BaseModel):
    """What Studio's form asks for. With the name of a conversation of `user`, its turns are known."""

    question: str
    conversation: str = ""
    user: str = LOCAL
    max_rewrites: int | None = Field(default=None, ge=0, le=20)


class Rehearsing(Assembly):
    """A workspace whose runs leave nothing in it."""

    def parts(self) -> Parts:
        """For one stretch of a run: its time begins now."""
        self._require_workspace()
        settings, ceiling = self._settings, self._settings.budget
        run = Deadline.within(settings.answering.run_deadline)
        limits = Limits(run, settings.quality.loop_deadline, Budget(ceiling.tokens, ceiling.cost_usd))
        return replace(self._kit.parts(limits), memory=Rehearsed(self._ledger))

    def start(self, asked: Any) -> Any:
        """The question as the state of a fresh turn. A state that somebody edited goes on as it is."""
        if not isinstance(asked, dict) or asked.get("run_id"):
            return asked
        try:
            given = Question.model_validate(asked)
        except ValidationError as problem:
            wrong = ", ".join(str(one["loc"][0]) for one in problem.errors())
            raise InputError(f'A run begins with {{"question": "…"}}; this cannot be used: {wrong}.') from None
        rewrites = self._settings.quality.max_rewrites if given.max_rewrites is None else given.max_rewrites
        return fresh_turn(new_run_id(), checked_question(given.question), given.user, rewrites, given.conversation)


class Rehearsed:
    """What is remembered, to be read only; the decision is the answer to an interrupt."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def weak_points(self, user: str, question: str) -> Sequence[WeakPoint]:
        return self._memory.weak_points(user, question)

    def keep_evidence(self, run_id: str, evidence: Sequence[Evidence], *, given: bool) -> None:
        """Nothing is kept."""

    def remembered(self, user: str, conversation: str, before_run: str | None = None) -> Remembered:
        """All of its turns: this run is none of them."""
        return self._memory.remembered(user, conversation)

    def keep_summary(self, user: str, conversation: str, summary: str, folded: int) -> None:
        """Nothing is kept."""

    def past_turns(
        self, user: str, conversation: str | None, query: str, vector: bytes | None, limit: int, leave_out: str = ""
    ) -> Sequence[PastTurn]:
        return self._memory.past_turns(user, conversation, query, vector, limit, leave_out)

    def turns(self, user: str, conversation: str, limit: int = 50) -> Sequence[PastTurn]:
        return self._memory.turns(user, conversation, limit)

    def decision(self, run_id: str, attempt: int) -> Decision | None:
        """Called by the node that waits, which is run again with the answer."""
        problem = ""
        while True:
            asked = {"approve": f"the draft of attempt {attempt}, in final_answer", "how": HOW}
            said = interrupt({**asked, "problem": problem} if problem else asked)
            told = {"verdict": said} if isinstance(said, str) else said
            try:
                known = {"by": ME, "at": datetime.now(UTC), "attempt": attempt}
                return Decision.model_validate({**told, **known})
            except (ValidationError, TypeError):
                problem = "That is no decision."


class Rehearsal(CompiledStateGraph[RunState, Any, Any, Any]):
    """The graph, to which parts and the state of a turn are handed in here."""

    def stream(self, input: Any, *args: Any, **options: Any) -> Iterator[Any]:
        here = _opened()
        began, given = here.start(input), {**options, "context": here.parts()}
        stream = super().stream  # questions and documents are sent nowhere, whatever the environment says
        yield from untraced(lambda: stream(began, *args, **given))

    async def astream(self, input: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        here = await asyncio.to_thread(_opened)  # opening a workspace takes time and reads files
        began, given = here.start(input), {**options, "context": await asyncio.to_thread(here.parts)}
        async with aclosing(super().astream(began, *args, **given)) as steps:  # type: ignore[type-var]
            while True:
                with tracing_context(enabled=False):  # not while we have yielded: the tracing of who asks is left alone
                    told = await anext(steps, ENDED)
                if told is ENDED:
                    return
                yield told

    def get_input_jsonschema(self, config: Any = None) -> dict[str, Any]:
        return Question.model_json_schema()

    def get_context_jsonschema(self, config: Any = None) -> dict[str, Any] | None:
        """There is none to be handed in."""
        return None


_workspaces: dict[Path, Rehearsing] = {}
_opening = threading.Lock()


def _opened() -> Rehearsing:
    """The workspace, opened once: its models take a while to load."""
    root = Path(os.environ.get(VARIABLE) or ".").expanduser().resolve()
    with _opening:
        if root not in _workspaces:
            _workspaces[root] = Rehearsing(root)
        return _workspaces[root]


def _made() -> Rehearsal:
    known = {name: value for name, value in vars(build_graph()).items() if name != "__orig_class__"}
    return Rehearsal(**{**known, "name": "veracity", "context_schema": None})


graph = _made()
