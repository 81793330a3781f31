"""Threads that drive runs, and tell what happens in them. Knows nothing about who asks and who follows.

Every run goes on in one way, by `engine.resume`: nothing happens where another process is at it, and the ledger tells.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from veracity.engine import Veracity
from veracity.errors import LeftError, LostLeaseError, NotFoundError, VeracityError
from veracity.models import Approval, RunEvent
from veracity.server.limits import Places
from veracity.server.problems import INSIDE
from veracity.server.stretches import Stretch
from veracity.server.sweeping import Sweep
from veracity.server.turns import Turns

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
