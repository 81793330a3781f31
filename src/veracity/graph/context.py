"""The dependencies of one run's nodes: agents, search, evaluator, memory, settings, limits. Never part of the state."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

from veracity import telemetry
from veracity.agents.base import Reviewer, Rewriter, Router, Summarizer, Writer
from veracity.deadlines import SLOW_HINT, Deadline, Stop
from veracity.errors import OutOfTimeError
from veracity.evaluator import Evaluator
from veracity.ledger import WeakPoint
from veracity.llm import Budget, CallLog
from veracity.models import Decision, Evidence, PastTurn, Remembered, RunParameters, WebPage
from veracity.models.people import is_experiment
from veracity.retrieval import Searcher
from veracity.retrieval.quality import QualityChecker
from veracity.settings import ApprovalSettings, Settings
from veracity.workers import NATIVE_CLOSE_SECONDS, Workers

T = TypeVar("T")

LOCAL_AGENTS = {
    "writer": "extractive",
    "reviewer": "local checks",
    "rewriter": "local",
    "router": "local",
    "summarizer": "local",
}


class Memory(Protocol):
    """The stored data of this run and earlier ones: the ledger, or a read-only view of it."""

    def weak_points(self, user: str, question: str) -> Sequence[WeakPoint]: ...

    def keep_evidence(self, run_id: str, evidence: Sequence[Evidence], *, given: bool) -> None: ...

    def remembered(self, user: str, conversation: str, before_run: str | None = None) -> Remembered: ...

    def keep_summary(self, user: str, conversation: str, summary: str, folded: int) -> None: ...

    def past_turns(
        self, user: str, conversation: str | None, query: str, vector: bytes | None, limit: int, exclude_run: str = ""
    ) -> Sequence[PastTurn]: ...

    def turns(self, user: str, conversation: str, limit: int = 50) -> Sequence[PastTurn]: ...

    def decision(self, run_id: str, attempt: int) -> Decision | None: ...


@dataclass(frozen=True, slots=True)
class WebFindings:
    """`problem` says why there is no evidence; it is empty otherwise."""

    evidence: list[Evidence]
    pages: list[WebPage]
    problem: str = ""


class Web(Protocol):
    @property
    def name(self) -> str: ...

    def look_up(self, query: str, question: str, deadline: Deadline) -> WebFindings: ...

    def close(self) -> None: ...


class RunLimits:
    """Deadline and budget of one run, and what it has used. A resumed run goes on with what is left. `stop` ends what
    the run waits for.

    The retrieval loop's own deadline starts with its first use. With `drafts`, pieces of drafts are streamed while they
    are written.
    """

    def __init__(self, run: RunParameters, settings: Settings, *, drafts: bool = False, send_backs: int = 0) -> None:
        self.stop = Stop()
        left = max(
            0.0, run.deadline * (1 + send_backs) - run.seconds
        )  # a draft that was sent back gets time of its own
        self.deadline = Deadline.within(left, self.stop, "answering.run_deadline")
        log = CallLog() if settings.receipts.prompts else None
        self.budget = Budget(settings.budget.tokens, settings.budget.cost_usd, run.usage, run.usage_by_role, log)
        self.drafts = drafts
        self._loop_seconds = settings.quality.loop_deadline
        self._earlier_seconds = run.seconds
        self._started = time.monotonic()
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Active time so far. The time that a run waits for approval does not count."""
        return self._earlier_seconds + time.monotonic() - self._started

    @property
    def loop(self) -> Deadline:
        with self._lock:
            return self._loop

    @cached_property
    def _loop(self) -> Deadline:
        return self.deadline.capped_at(self._loop_seconds, "quality.loop_deadline")


@dataclass(eq=False, repr=False)
class RunContext:
    """`for_run` copies the base context of a workspace and sets `run`, `token` (of the lease), `limits` and `searcher`.

    `searcher_for` returns the searcher of all documents, or of those that match paths and patterns: so no step of a run
    can search beyond `RunParameters.only`.

    `embed` returns a text's vector, or None for a language without one. `web` is None without a provider.

    `approval_in_force` returns the settings of the gate now: a calibrated threshold may change between two runs.

    The `local_` agents replace a model that fails; `extractor` writes when time or budget for the writer is used up;
    `recaller` quotes earlier answers.
    """

    router: Router
    local_router: Router
    summarizer: Summarizer
    local_summarizer: Summarizer
    searcher_for: Callable[[Sequence[str]], Searcher]
    checker: QualityChecker
    rewriter: Rewriter
    writer: Writer
    extractor: Writer
    recaller: Writer
    reviewer: Reviewer
    gate: Evaluator
    web: Web | None
    embed: Callable[[str], bytes | None]
    prompts: Mapping[str, str]
    memory: Memory
    settings: Settings
    workers: Workers
    approval_in_force: Callable[[], ApprovalSettings]
    run: RunParameters = field(init=False)
    token: int = field(init=False)
    limits: RunLimits = field(init=False)
    searcher: Searcher = field(init=False)

    def for_run(self, run: RunParameters, token: int = 0, *, drafts: bool = False, send_backs: int = 0) -> RunContext:
        context = copy(self)
        context.run, context.token = run, token
        context.limits = RunLimits(run, self.settings, drafts=drafts, send_backs=send_backs)
        context.settings = self.settings.model_copy(update={"approval": self.approval_in_force()})
        if is_experiment(run.user):
            context.settings = _for_experiments(context.settings)
        context.searcher = self.searcher_for(run.only)
        return context

    @property
    def models(self) -> dict[str, str]:
        """The model of each role, or what replaces it."""
        return {role: getattr(self, role).model or local for role, local in LOCAL_AGENTS.items()}

    def close(self) -> None:
        if self.web:
            self.web.close()
        self.workers.close(NATIVE_CLOSE_SECONDS)

    def run_within(self, deadline: Deadline, job: Callable[[], T], grace: float = 0.0) -> T:
        """Run a job on another thread, so that a hanging job cannot block the run past its deadline.

        `grace` is extra time for a job that observes the deadline itself. Raises `OutOfTimeError`, or `Stopped`.
        """
        job = telemetry.with_current_context(job)
        future = self.workers.submit(lambda _: job())
        # future.result(timeout) could not be told apart from a TimeoutError of the job
        if not Deadline.within(deadline.left + grace, deadline.stop).wait_for(future):
            future.cancel()
            raise OutOfTimeError(f"The search deadline ({deadline.name}) has passed: {SLOW_HINT}.")
        return future.result()  # type: ignore[no-any-return]


def _for_experiments(settings: Settings) -> Settings:
    """Nobody is asked about the cases of an experiment, and no case knows another one's answer."""
    approval = settings.approval.model_copy(update={"policy": "never"})
    conversation = settings.conversation.model_copy(update={"history": "conversation"})
    return settings.model_copy(update={"approval": approval, "conversation": conversation})
