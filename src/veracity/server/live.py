"""Runs at work: threads that drive them, and their events for whoever follows.

A run is in the ledger before it waits for its turn, so nothing is lost when this process ends. Knows no HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from functools import partial

from veracity.engine import Veracity
from veracity.errors import InputError, LeftError, LostLeaseError, VeracityError
from veracity.models import Answer, Approval, RunEvent, User, Verdict
from veracity.server.following import Following
from veracity.server.limits import Limits, too_many
from veracity.server.problems import INSIDE, RefusedError, of_run, stopping
from veracity.server.standing import require_sight, sees_drafts, without_drafts
from veracity.server.stretches import LiveEvent, Stretch, place_of
from veracity.server.turns import Turns
from veracity.settings import ServerSettings

log = logging.getLogger("veracity.server")

DECIDERS = 2  # threads for what follows from a decision, which asks never take
LINGER = 5.0  # seconds for which a stretch is remembered that is over, for who asked just now; then the ledger tells
SWEEP = 5.0  # seconds between two looks for what a process left that died


class LiveRuns:
    """`on_change` hears of every run that ended or waits."""

    def __init__(self, engine: Veracity, settings: ServerSettings, limits: Limits) -> None:
        self._engine = engine
        self._settings = settings
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._stretches: dict[str, Stretch] = {}
        self._lock = threading.Lock()
        self._places: Counter[str] = Counter()  # of each user, in the queue
        self._working = 0
        self._seconds = 5.0  # that a run took lately
        self._asks = Turns(settings.runs, "veracity-run")
        self._decisions = Turns(DECIDERS, "veracity-decision")
        self._stopping = threading.Event()
        self._following = Following(engine, self._stretches, self._stopping)
        self.on_change: Callable[[], None] = lambda: None
        self.ended: Callable[[str, float], None] = lambda status, seconds: None
        threading.Thread(target=self._sweep, name="veracity-sweep", daemon=True).start()

    @property
    def waiting(self) -> int:
        return self._places.total()

    @property
    def working(self) -> int:
        return self._working

    def start(
        self,
        caller: User,
        question: str,
        *,
        conversation: str = "",
        max_rewrites: int | None = None,
        deadline: float | None = None,
    ) -> str:
        """The run is in the ledger when this returns, and waits for its turn."""
        self._require_open()
        self._limits.require_ask(caller.name)
        self._require_no_more_than_set(max_rewrites, deadline)
        if conversation in (".", ".."):  # which no client could ever name in a path
            raise InputError('A conversation needs another name than "." and "..".')
        ahead = self._take_place(caller.name)
        try:
            run_id = self._engine.begin(
                question, conversation=conversation, user=caller.name, max_rewrites=max_rewrites, deadline=deadline
            )
            stretch = self._new_stretch(run_id)
            stretch.publish("queued", ahead=ahead)
            resume = partial(self._engine.resume, run_id, drafts=True)
            self._asks.submit(caller.name, partial(self._work, stretch, resume, caller.name))  # or it is taken up later
        except BaseException:
            self._leave_place(caller.name)
            raise
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
        engine = self._engine
        events = engine.stream_decision(
            approval_id, verdict, reason=reason, edit=edit, by=caller.name, draft_hash=draft_hash, key=key, drafts=True
        )
        decided = engine.approval(approval_id)
        self._go_on(decided.run_id, lambda: events, decided.user, decided.approval_id)
        self.on_change()
        return decided

    async def require_sight(self, run_id: str, caller: User) -> str:
        """The full id of a run that the caller may see."""
        run = (await self._following.progress(run_id)).run
        require_sight(caller, run.user, "run", run_id)
        return run.run_id

    async def follow(self, run_id: str, caller: User, after: str = "") -> AsyncIterator[LiveEvent]:
        """What happened since the event `after`, and what happens until the run ends or waits for a person."""
        named = await self.require_sight(run_id, caller)
        may_see_drafts = sees_drafts(caller, self._settings)
        async for event in self._following.events(named, place_of(after)):
            data = event.data if may_see_drafts else without_drafts(event.data)
            if data is not None:
                yield LiveEvent(event.id, data)

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
                stretch = self._stretches.get(run_id)
                raise (stretch and stretch.problem) or RefusedError(502, "RunFailed", event.data["problem"])
        raise stopping(f'The server is stopping: the run "{run_id}" goes on later.')

    def stop(self, grace: float) -> None:
        """Nothing new is begun; what is under way has `grace` seconds to end, and is then left to be taken up again."""
        self._stopping.set()
        self._asks.stop()
        self._decisions.stop()
        end = time.monotonic() + grace
        while self._working and time.monotonic() < end:
            time.sleep(0.05)
        self._engine.leave()
        for stretch in list(self._stretches.values()):
            stretch.end()

    def _require_open(self) -> None:
        if self._stopping.is_set():
            raise stopping("The server is stopping: ask again when it runs.")

    def _require_no_more_than_set(self, max_rewrites: int | None, deadline: float | None) -> None:
        """Who asks may ask for less than the settings allow, and not for more."""
        settings = self._engine.settings
        if deadline is not None and deadline > settings.answering.run_deadline:
            raise InputError(f"A run may take at most {settings.answering.run_deadline:g} seconds here.")
        if max_rewrites is not None and max_rewrites > settings.quality.max_rewrites:
            raise InputError(f"A query is rewritten at most {settings.quality.max_rewrites} times here.")

    def _take_place(self, user: str) -> int:
        """In the queue; one user may have half of it."""
        free = max(0, self._settings.runs - self._working)
        with self._lock:
            waiting, own = self._places.total(), self._places[user]
            if waiting >= self._settings.queue + free or own > self._settings.queue // 2 + free:
                wait = (waiting + 1) * self._seconds / self._settings.runs
                raise too_many(f"{waiting} questions wait already", min(120, wait))
            self._places[user] += 1
            return waiting

    def _leave_place(self, user: str) -> None:
        with self._lock:
            self._places[user] -= 1
            self._places += Counter()  # without those that are at zero

    def _new_stretch(self, run_id: str, cause: str = "") -> Stretch:
        stretch = Stretch(run_id, cause, self._loop)
        with self._lock:
            self._stretches[run_id] = stretch
        return stretch

    def forget(self) -> None:
        """What is over: something was forgotten that may stand in it."""
        with self._lock:
            for run_id in [run_id for run_id, one in self._stretches.items() if one.is_over]:
                del self._stretches[run_id]

    def _drop(self, stretch: Stretch) -> None:
        with self._lock:
            if self._stretches.get(stretch.run_id) is stretch:
                del self._stretches[stretch.run_id]

    def _go_on(self, run_id: str, events: Callable[[], Iterator[RunEvent]], user: str = "", cause: str = "") -> None:
        """With a run that is there already, unless this process is at it for the same cause."""
        known = self._stretches.get(run_id)
        if known and not known.is_over and (not cause or known.cause == cause):
            return
        stretch = self._new_stretch(run_id, cause)
        turns = self._decisions if cause else self._asks
        turns.submit(user, partial(self._work_on, stretch, events))  # or, when stopping, it is taken up later

    def _work_on(self, stretch: Stretch, events: Callable[[], Iterator[RunEvent]]) -> None:
        with suppress(VeracityError):  # then the run itself will tell
            stretch.begin(len(self._engine.progress(stretch.run_id).steps))
        self._work(stretch, events)

    def _work(self, stretch: Stretch, events: Callable[[], Iterator[RunEvent]], asker: str = "") -> None:
        """The `asker` leaves the queue."""
        if asker:
            self._leave_place(asker)
        with self._lock:
            self._working += 1
        begun = time.monotonic()
        try:
            for event in events():
                self._publish(stretch, event)
        except (LeftError, LostLeaseError):
            pass  # it goes on elsewhere, or later, and the ledger tells of it
        except VeracityError as problem:
            stretch.problem = problem
            stretch.publish("failed", problem=str(problem))
            self.ended("failed", time.monotonic() - begun)
        except BaseException:
            log.exception("Run %s failed", stretch.run_id)
            stretch.publish("failed", problem=INSIDE)
            self.ended("failed", time.monotonic() - begun)
        finally:
            with self._lock:
                self._working -= 1
                self._seconds = 0.9 * self._seconds + 0.1 * (time.monotonic() - begun)
            stretch.end()
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._loop.call_later, LINGER, self._drop, stretch)
            self.on_change()

    def _publish(self, stretch: Stretch, event: RunEvent) -> None:
        if event.answer:
            if stretch.cause and not stretch.events:
                return  # another process was faster to carry it out: the ledger tells of the steps too
            self.ended(event.answer.status, event.answer.seconds)
            stretch.publish("answer", answer=event.answer.model_dump(mode="json"))
        elif event.step:
            stretch.publish_step(event.step)
        elif event.kind == "draft":
            stretch.publish("draft", text=event.text, begins=event.begins)
        else:
            stretch.publish(event.kind, name=event.name)

    def _sweep(self) -> None:
        """Takes up what a process left that died: at the start, and while we run."""
        while not self._stopping.is_set():
            try:
                for run_id in self._engine.interrupted():
                    self._go_on(run_id, partial(self._engine.resume, run_id, drafts=True))
            except VeracityError as problem:
                log.warning("What was interrupted could not be looked for: %s", problem)
            except Exception:
                log.exception("The sweep failed")
            self._stopping.wait(SWEEP)
