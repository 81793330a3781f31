"""What the tools do, with the permissions and limits of the API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import cast

from anyio import CancelScope, CapacityLimiter, get_cancelled_exc_class, move_on_after
from anyio.to_thread import run_sync
from starlette.requests import Request

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.models import Answer, Approval, User
from veracity.server.auth import require_role, unauthorized
from veracity.server.errors import RefusedError, stopping_error
from veracity.server.limits import ConcurrencyLimit
from veracity.server.live.events import LiveEvent
from veracity.server.live.runs import STOPPING_RUN, LiveRuns
from veracity.server.mcp.tool_schemas import (
    AskArguments,
    DecideArguments,
    PendingApproval,
    PendingArguments,
    PendingResult,
    RunResult,
    SearchArguments,
    SearchResult,
    StatusArguments,
)
from veracity.server.permissions import has_role, limit_patterns, redact_paths, require_full_id, require_visible
from veracity.server.sse import is_authorized, while_authorized

DECISION_KEY = "mcp"  # a repeated call with the same arguments is the same decision
NO_DECISIONS = (
    "Decisions are switched off here: start veracity mcp with --allow-decide, or connect to /mcp?allow=decide."
)

Report = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """Who calls a tool. `request` is None for the local user, whose permissions do not end during a call."""

    user: User
    allows_decisions: bool = False
    request: Request | None = None

    @property
    def may_decide(self) -> bool:
        return self.allows_decisions and has_role(self.user, "approver")


@dataclass(frozen=True, slots=True)
class Tools:
    """Each method is a tool. `report` sends the client a note of progress."""

    engine: Veracity
    live: LiveRuns
    searches: ConcurrencyLimit
    questions: ConcurrencyLimit
    decision_threads: CapacityLimiter

    async def search(self, caller: ToolCaller, arguments: SearchArguments, report: Report) -> SearchResult:
        only = limit_patterns(arguments.only, caller.user)
        found = await self.searches(
            caller.user.name, lambda: self.engine.search(arguments.query, arguments.limit, only=only)
        )
        return SearchResult.of(redact_paths(found, caller.user))

    async def ask(self, caller: ToolCaller, arguments: AskArguments, report: Report) -> RunResult:
        """Stops the run if the call is cancelled, also while it is being started."""
        started: list[str] = []

        def start() -> str:
            only = limit_patterns(arguments.only, caller.user)
            run_id = self.live.start(caller.user, arguments.question, conversation=arguments.conversation, only=only)
            started.append(run_id)
            return run_id

        try:
            run_id = await self.questions(caller.user.name, start)
            result = await self._result(caller, run_id, arguments.wait_seconds, report)
        except get_cancelled_exc_class():
            with CancelScope(shield=True):
                for run_id in started:
                    await run_sync(self.live.stop_run, caller.user, run_id)
            raise
        return _require_not_failed(result)

    async def answer_status(self, caller: ToolCaller, arguments: StatusArguments, report: Report) -> RunResult:
        run_id = await self.live.require_visible(require_full_id(arguments.run_id, "run"), caller.user)
        return await self._result(caller, run_id, arguments.wait_seconds, report)

    async def list_pending(self, caller: ToolCaller, arguments: PendingArguments, report: Report) -> PendingResult:
        user = None if has_role(caller.user, "approver") else caller.user.name

        def read() -> PendingResult:
            approvals = self.engine.approvals(user=user, limit=arguments.limit, after=arguments.after)
            shown = [PendingApproval.of(item, caller.may_decide) for item in redact_paths(approvals, caller.user)]
            return PendingResult(approvals=shown, total=self.engine.pending(user=user))

        return await run_sync(read)

    async def decide(self, caller: ToolCaller, arguments: DecideArguments, report: Report) -> RunResult:
        """The decision is recorded before the run resumes: cancelling the call does not undo it."""
        if not caller.allows_decisions:
            raise RefusedError(403, "Forbidden", NO_DECISIONS)
        decision = arguments.model_dump(include={"verdict", "reason", "edit", "draft_hash"})

        def record() -> Approval:
            approval = self.engine.approval(require_full_id(arguments.approval_id, "approval"))
            require_visible(caller.user, approval.user, "approval", arguments.approval_id)
            require_role(caller.user, "approver")
            return self.live.decide(caller.user, approval.approval_id, **decision, key=DECISION_KEY)

        decided = await run_sync(record, limiter=self.decision_threads)
        return _require_not_failed(await self._result(caller, decided.run_id, arguments.wait_seconds, report))

    async def _result(self, caller: ToolCaller, run_id: str, seconds: float, report: Report) -> RunResult:
        """The run when it ends or waits for approval, or as it is after so many seconds."""
        with move_on_after(seconds):
            if answer := await self._wait_for_answer(caller, run_id, report):
                return RunResult.of_answer(answer)
        progress = await run_sync(self.engine.progress, run_id)
        return RunResult.of_progress(redact_paths(progress, caller.user))

    async def _wait_for_answer(self, caller: ToolCaller, run_id: str, report: Report) -> Answer | None:
        """None if the run fails."""
        async with aclosing(self._follow(caller, run_id)) as events:
            async for event in events:
                kind = event.data["kind"] if event else ""
                if event and kind == "answer":
                    return cast(Answer, event.data["answer"])
                if kind == "failed":
                    return None
                if event and kind in ("queued", "started"):
                    await report(_describe(event))
        if caller.request and not await is_authorized(caller.request, caller.user):
            raise unauthorized()
        raise stopping_error(STOPPING_RUN.format(run_id))

    def _follow(self, caller: ToolCaller, run_id: str) -> AsyncGenerator[LiveEvent | None]:
        events = self.live.follow(run_id, caller.user)
        return while_authorized(caller.request, caller.user, events) if caller.request else events


def _describe(event: LiveEvent) -> str:
    if event.data["kind"] == "queued":
        return f"queued, {event.data['ahead']} ahead"
    return str(event.data["name"]).replace("_", " ")


def _require_not_failed(result: RunResult) -> RunResult:
    if result.status == "failed":
        raise VeracityError(f"{result.message.rstrip('.')} (run {result.run_id}).")
    return result
