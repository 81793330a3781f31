"""What the nodes of a run work with. Handed in by whoever runs the graph, and never part of the state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

from veracity import telemetry
from veracity.agents.reviewer import Reviewer
from veracity.agents.rewriter import Rewriter
from veracity.agents.router import Router
from veracity.agents.summarizer import Summarizer
from veracity.agents.writer import Writer
from veracity.deadlines import Deadline
from veracity.errors import OutOfTimeError
from veracity.llm import Budget
from veracity.models import (
    Decision,
    EvaluationRequest,
    EvaluationResult,
    Evidence,
    PastTurn,
    Remembered,
    WebPage,
)
from veracity.retrieval import Searcher
from veracity.retrieval.quality import QualityChecker
from veracity.settings import Settings
from veracity.workers import Workers

T = TypeVar("T")


class WeakPoint(Protocol):
    """An earlier question of the asker that went wrong, and the passages that were at hand."""

    @property
    def question(self) -> str: ...

    @property
    def passage_ids(self) -> Sequence[str]: ...


class Memory(Protocol):
    """What is remembered of this run and of earlier ones."""

    def weak_points(self, user: str, question: str) -> Sequence[WeakPoint]: ...

    def keep_evidence(self, run_id: str, evidence: Sequence[Evidence], *, given: bool) -> None: ...

    def remembered(self, user: str, conversation: str, before_run: str | None = None) -> Remembered: ...

    def keep_summary(self, user: str, conversation: str, summary: str, folded: int) -> None: ...

    def past_turns(
        self, user: str, conversation: str | None, query: str, vector: bytes | None, limit: int, leave_out: str = ""
    ) -> Sequence[PastTurn]: ...

    def turns(self, user: str, conversation: str, limit: int = 50) -> Sequence[PastTurn]: ...

    def decision(self, run_id: str, attempt: int) -> Decision | None: ...


class Gate(Protocol):
    """Scores what would go out."""

    def evaluate(
        self, request: EvaluationRequest, *, budget: Budget | None = None, deadline: Deadline | None = None
    ) -> EvaluationResult: ...


class FoundOnWeb(Protocol):
    """`problem` says why nothing, or not all, was found."""

    @property
    def evidence(self) -> Sequence[Evidence]: ...

    @property
    def pages(self) -> Sequence[WebPage]: ...

    @property
    def problem(self) -> str: ...


class Web(Protocol):
    @property
    def name(self) -> str: ...

    def look_up(self, query: str, question: str, deadline: Deadline) -> FoundOnWeb: ...

    def close(self) -> None: ...


@dataclass
class Limits:
    """What one run may take. The loop of searches has a deadline of its own, which begins with the first search.
    `drafts`: somebody reads them while they are written."""

    run: Deadline
    loop_seconds: float
    budget: Budget
    drafts: bool = False
    _begin: threading.Lock = field(default_factory=threading.Lock)

    @property
    def loop(self) -> Deadline:
        with self._begin:
            return self._loop

    @cached_property
    def _loop(self) -> Deadline:
        return self.run.or_within(self.loop_seconds)


@dataclass(frozen=True)
class Parts:
    """`embed` gives a text's vector as it is kept, None where its language has none. `web` is None where no provider is
    configured. The `local_` ones stand in for models that fail."""

    router: Router
    local_router: Router
    summarizer: Summarizer
    local_summarizer: Summarizer
    searcher: Searcher
    checker: QualityChecker
    rewriter: Rewriter
    writer: Writer
    extractor: Writer  # for when there is no more time or money for the writer
    recaller: Writer  # quotes earlier answers
    reviewer: Reviewer
    gate: Gate
    web: Web | None
    embed: Callable[[str], bytes | None]
    prompts: Mapping[str, str]
    memory: Memory
    settings: Settings
    limits: Limits
    workers: Workers

    def within(self, deadline: Deadline, job: Callable[[], T], grace: float = 0.0) -> T:
        """Do it on another thread, so that nothing that hangs there can hold up the run. What keeps to the deadline by
        itself has a `grace` to tell of it."""
        job = telemetry.carried(job)
        future = self.workers.submit(lambda _: job())
        wait([future], deadline.left + grace)
        if not future.done():  # asking for the result might raise a timeout of the job's own
            future.cancel()
            raise OutOfTimeError("The time for searching was up.")
        return future.result()  # type: ignore[no-any-return]
