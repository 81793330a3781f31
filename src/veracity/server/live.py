"""Runs at work, for the routes: asked, decided on, followed.

A run is in the ledger before it waits for its turn, so nothing is lost when this process ends. Knows no HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from veracity.engine import Veracity
from veracity.errors import InputError, VeracityError
from veracity.models import Answer, Approval, RunSummary, User, Verdict
from veracity.server.following import Following
from veracity.server.limits import Limits, Places
from veracity.server.places import shown
from veracity.server.problems import RefusedError, of_run, stopping
from veracity.server.standing import require_sight, sees_drafts, without_drafts
from veracity.server.stretches import LiveEvent, place_of
from veracity.server.working import Working
from veracity.settings import ServerSettings


class LiveRuns:
    """`on_change` hears of every run that ended or waits, `ended` how it ended and how long it took."""

    def __init__(
        self,
        engine: Veracity,
        settings: ServerSettings,
        limits: Limits,
        on_change: Callable[[], None],
        ended: Callable[[str, float], None],
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._limits = limits
        self._places = Places(settings)
        self._working = Working(engine, self._places, settings.runs, on_change, ended)
        self._following = Following(engine, self._working.stretches, self._working.stopping)
        self._on_change = on_change

    @property
    def waiting(self) -> int:
        return self._places.taken

    @property
    def working(self) -> int:
        return self._working.working

    def require_may_ask(self, caller: User) -> None:
        """For who has something to look up before a question is asked."""
        self._require_open()
        self._limits.require_ask(caller.name, takes=False)

    def start(
        self,
        caller: User,
        question: str,
        *,
        conversation: str = "",
        max_rewrites: int | None = None,
        deadline: float | None = None,
        key: str = "",
    ) -> str:
        """The run is in the ledger when this returns, and waits for its turn. Under one `key` a user asks once."""
        self._require_open()
        self._limits.require_ask(caller.name)
        self._require_no_more_than_set(max_rewrites, deadline)
        if conversation in (".", ".."):  # which no client could ever name in a path
            raise InputError('A conversation needs another name than "." and "..".')
        self._places.take(caller.name, self.working)
        try:
            run_id = self._engine.begin(
                question,
                conversation=conversation,
                user=caller.name,
                max_rewrites=max_rewrites,
                deadline=deadline,
                key=key,
            )
        except BaseException:
            self._places.leave(caller.name)
            raise
        self._working.begin(run_id, caller.name)
        return run_id

    def decide(
        self,
        caller: User,
        approval_id: str,
        verdict: Verdict,
        *,
        reason: str = "",
        edit: str | None = None,
        draft_hash: str | None = None,
        key: str | None = None,
    ) -> Approval:
        """The decision counts when this returns; what follows from it goes on by itself."""
        self._require_open()
        self._engine.stream_decision(
            approval_id, verdict, reason=reason, edit=edit, by=caller.name, draft_hash=draft_hash, key=key
        )  # whose events nobody waits for: another process may be faster to carry it out
        decided = self._engine.approval(approval_id)
        self._working.go_on(decided.run_id, decided)
        self._on_change()
        return decided

    def stop_run(self, caller: User, run_id: str) -> RunSummary:
        """It has failed at once, if it was under way; who follows it learns so from the ledger."""
        stopped = self._engine.stop(run_id, by=caller.name)
        if stopped.status == "failed":
            self._working.end(run_id)
        return stopped

    async def require_sight(self, run_id: str, caller: User) -> str:
        """The id of a run that the caller may see."""
        standing = await self._following.standing(run_id)
        require_sight(caller, standing.user, "run", run_id)
        return standing.run_id

    async def follow(self, run_id: str, caller: User, after: str = "") -> AsyncIterator[LiveEvent]:
        """What happened since the event `after`, and what happens until the run ends or waits for a person. That the
        caller may see it was looked at before: he asked, or see `require_sight`."""
        may_see_drafts = sees_drafts(caller, self._settings)
        async for event in self._following.events(run_id, place_of(after)):
            data = event.data if may_see_drafts else without_drafts(event.data)
            if data is not None:
                yield LiveEvent(event.id, shown(data, caller))

    async def outcome(self, run_id: str, caller: User) -> Answer:
        try:
            return await self._outcome(run_id, caller)
        except VeracityError as problem:
            raise of_run(problem, run_id) from problem

    async def _outcome(self, run_id: str, caller: User) -> Answer:
        async for event in self.follow(run_id, caller):
            if event.data["kind"] == "answer":
                return Answer.model_validate(event.data["answer"])
            if event.data["kind"] == "failed":
                stretch = self._working.stretches.get(run_id)
                raise (stretch and stretch.problem) or RefusedError(502, "RunFailed", event.data["problem"])
        raise stopping(f'The server is stopping: the run "{run_id}" goes on later.')

    def forget(self) -> None:
        """What is over: something was forgotten that may stand in it."""
        self._working.forget()

    def stop(self, grace: float) -> None:
        """Nothing new is begun; what is under way has `grace` seconds to end, and is then left to be taken up again."""
        self._working.stop(grace)

    def _require_open(self) -> None:
        if self._working.stopping.is_set():
            raise stopping("The server is stopping: ask again when it runs.")

    def _require_no_more_than_set(self, max_rewrites: int | None, deadline: float | None) -> None:
        """Who asks may ask for less than the settings allow, and not for more."""
        settings = self._engine.settings
        if deadline is not None and deadline > settings.answering.run_deadline:
            raise InputError(f"A run may take at most {settings.answering.run_deadline:g} seconds here.")
        if max_rewrites is not None and max_rewrites > settings.quality.max_rewrites:
            raise InputError(f"A query is rewritten at most {settings.quality.max_rewrites} times here.")
