"""Runs at work, for the routes: asked, decided on, followed.

A run is in the ledger before it waits for its turn, so nothing is lost when this process ends. Knows no HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from veracity.engine import Veracity
from veracity.errors import InputError, LeftError, LostLeaseError, NotFoundError, VeracityError
from veracity.models import Answer, Approval, RunEvent, RunSummary, User, Verdict
from veracity.server.errors import INSIDE, RefusedError, of_run, stopping
from veracity.server.limits import Limits, Places
from veracity.server.live.events import Following, LiveEvent, Stretch, place_of
from veracity.server.live.queue import Turns
from veracity.server.permissions import require_sight, sees_drafts, shown, without_drafts
from veracity.settings import ServerSettings

log = logging.getLogger("veracity.server")

SWEEP = 5.0  # seconds between two looks
LONGEST = 300.0  # seconds until what cannot be taken up is tried again


class Sweep:
    """Until `stopping` is set. What fails is tried again, after twice as long each time."""

    def __init__(
        self, engine: Veracity, take_up: Callable[[str], None], also: Callable[[], None], stopping: threading.Event
    ) -> None:
        """`also` is done at every look."""
        self._engine = engine
        self._take_up = take_up
        self._also = also
        self._stopping = stopping
        self._waits: dict[str, tuple[float, float]] = {}  # of runs that failed: how long, and until when

    def start(self) -> None:
        threading.Thread(target=self._sweep, name="veracity-sweep", daemon=True).start()

    def failed(self, run_id: str, problem: object) -> None:
        """From any thread: it could not be taken up, and the ledger says that it goes on."""
        if run_id not in self._waits:
            log.warning("Run %s is left for a while: %s", run_id, problem)
        wait = min(LONGEST, 2 * self._waits.get(run_id, (SWEEP, 0.0))[0])
        self._waits[run_id] = (wait, time.monotonic() + wait)

    def _sweep(self) -> None:
        while not self._stopping.is_set():
            try:
                self._look()
                self._also()
            except VeracityError as problem:
                log.warning("What was interrupted could not be looked for: %s", problem)
            except Exception:
                log.exception("The sweep failed")
            self._stopping.wait(SWEEP)

    def _look(self) -> None:
        now = time.monotonic()
        for run_id, (_, until) in list(self._waits.items()):
            if until + LONGEST < now:  # it has not failed since
                del self._waits[run_id]
        for run_id in self._engine.interrupted():
            if self._waits.get(run_id, (0.0, 0.0))[1] <= now:
                try:
                    self._take_up(run_id)
                except Exception as problem:  # noqa: BLE001 - one bad run must not keep all others from being taken up
                    self.failed(run_id, problem)


log = logging.getLogger("veracity.server")

DECIDERS = 2  # threads for what follows from a decision, which asks never take
REJECTERS = 2  # threads for rejections that search the web, which takes as long as a question: approvals wait for none
LINGER = 5.0  # seconds for which a stretch is remembered that is over, for who asked just now; then the ledger tells


class Working:
    """`on_change` hears of every run that ended or waits, `ended` how it ended and how long it took."""

    def __init__(
        self,
        engine: Veracity,
        places: Places,
        threads: int,
        on_change: Callable[[], None],
        ended: Callable[[str, float], None],
    ) -> None:
        self._engine = engine
        self._places = places
        self._on_change = on_change
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self.stretches: dict[str, Stretch] = {}
        self.stopping = threading.Event()
        self.working = 0
        self._asks = Turns(threads, "veracity-run", self._work, _tell_place)
        self._decisions = Turns(DECIDERS, "veracity-decision", self._work)
        self._rejections = Turns(REJECTERS, "veracity-rejection", self._work)
        self._failed_before: set[str] = set()
        self._sweep = Sweep(engine, self._take_up, self._end_stopped, self.stopping)
        self._sweep.start()

    def begin(self, run_id: str, asker: str) -> None:
        """With a run that was taken in just now; its asker has a place in the queue."""
        stretch = self._new_stretch(Stretch(run_id, self._loop, asker=asker))
        if not self._asks.submit(asker, stretch):
            self._places.leave(asker)
            stretch.end()  # it is taken up later

    def go_on(self, run_id: str, decided: Approval | None) -> None:
        """With a run that is there already, unless this process is at it for the same decision."""
        cause = decided.approval_id if decided else ""
        known = self.stretches.get(run_id)
        if known and not known.is_over and (not cause or known.cause == cause):
            return
        stretch = self._new_stretch(Stretch(run_id, self._loop, cause))
        if not self._turns_for(decided).submit(decided.user if decided else "", stretch):
            stretch.end()

    def end(self, run_id: str) -> None:
        """It was stopped: nothing more is told of it here, and if it waits for its turn that is free."""
        if stretch := self.stretches.get(run_id):
            stretch.end()
            if stretch.asker and self._asks.withdraw(stretch.asker, stretch):
                self._places.leave(stretch.asker)
                self._drop(stretch)

    def forget(self) -> None:
        """What is over: something was forgotten that may stand in it."""
        with self._lock:
            for run_id in [run_id for run_id, one in self.stretches.items() if one.is_over]:
                del self.stretches[run_id]

    def stop(self, grace: float) -> None:
        """Nothing new is begun; what is under way has `grace` seconds to end, and is then left to be taken up again."""
        self.stopping.set()
        for turns in (self._asks, self._decisions, self._rejections):
            turns.stop()
        end = time.monotonic() + grace
        while self.working and time.monotonic() < end:
            time.sleep(0.05)
        self._engine.leave()
        for stretch in list(self.stretches.values()):
            stretch.end()

    def _take_up(self, run_id: str) -> None:
        decided = None
        with suppress(NotFoundError):
            decided = self._engine.approval(run_id)
        self.go_on(run_id, decided)

    def _end_stopped(self) -> None:
        """What another process has stopped: whoever works on it learns so at its next step, and who follows it need not
        wait for that. At the second look: what fails here tells so itself."""
        with self._lock:
            there = [run_id for run_id, stretch in self.stretches.items() if not stretch.is_over]
        statuses = self._engine.run_statuses(there) if there else {}
        failed = {run_id for run_id, status in statuses.items() if status == "failed"}
        for run_id in failed & self._failed_before:
            self.end(run_id)
        self._failed_before = failed

    def _turns_for(self, decided: Approval | None) -> Turns[Stretch]:
        if decided is None:
            return self._asks
        searches = decided.state == "rejected" and decided.on_reject == "search"
        return self._rejections if searches else self._decisions

    def _new_stretch(self, stretch: Stretch) -> Stretch:
        with self._lock:
            self.stretches[stretch.run_id] = stretch
        return stretch

    def _drop(self, stretch: Stretch) -> None:
        with self._lock:
            if self.stretches.get(stretch.run_id) is stretch:
                del self.stretches[stretch.run_id]

    def _work(self, stretch: Stretch) -> None:
        if stretch.asker:
            self._places.leave(stretch.asker)
        if stretch.is_over:
            self._drop(stretch)
            return
        with self._lock:
            self.working += 1
        begun = time.monotonic()
        try:
            self._drive(stretch)
        except (LeftError, LostLeaseError):
            pass  # it goes on elsewhere, or later, and the ledger tells of it
        except VeracityError as problem:
            self._failed(stretch, problem, time.monotonic() - begun)
        except BaseException:
            log.exception("Run %s failed", stretch.run_id)
            self._failed(stretch, VeracityError(INSIDE), time.monotonic() - begun)
        finally:
            with self._lock:
                self.working -= 1
            self._places.took(time.monotonic() - begun)
            stretch.end()
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._loop.call_later, LINGER, self._drop, stretch)
            self._on_change()

    def _drive(self, stretch: Stretch) -> None:
        if not stretch.asker:
            stretch.begin(self._engine.progress(stretch.run_id).steps)
        for event in self._engine.resume(stretch.run_id, drafts=True):
            self._publish(stretch, event)

    def _failed(self, stretch: Stretch, problem: VeracityError, seconds: float) -> None:
        """If the ledger says so. Else the run goes on another time, and who follows it waits."""
        if self._engine.standing(stretch.run_id).status != "failed":
            self._sweep.failed(stretch.run_id, problem)
            return
        log.warning("Run %s failed: %s", stretch.run_id, problem)
        stretch.problem = problem
        self._ended("failed", seconds)
        stretch.publish("failed", problem=str(problem))

    def _publish(self, stretch: Stretch, event: RunEvent) -> None:
        if event.answer:
            self._ended(event.answer.status, event.answer.seconds)
            stretch.publish("answer", answer=event.answer.model_dump(mode="json"))
        elif event.step:
            stretch.publish_step(event.step)
        elif event.kind == "draft":
            stretch.publish("draft", text=event.text, begins=event.begins)
        else:
            stretch.publish(event.kind, name=event.name)


def _tell_place(stretch: Stretch, ahead: int) -> None:
    """Only to who has just asked: of a run that is taken up, another process may be telling."""
    if stretch.asker and ahead != stretch.ahead:
        stretch.ahead = ahead
        stretch.publish("queued", ahead=ahead)


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
