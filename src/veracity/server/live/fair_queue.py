"""Worker threads with a fair queue: users take turns, so that one user's many jobs do not delay the others."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import zip_longest
from typing import Generic, TypeVar

log = logging.getLogger("veracity.server")

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Calls `work` for each job on daemon threads until `stop`. Calls `on_move` with the number of jobs ahead whenever
    that may have changed, but never once a job has started."""

    def __init__(
        self,
        threads: int,
        name: str,
        work: Callable[[T], object],
        on_move: Callable[[T, int], None] = lambda job, ahead: None,
    ) -> None:
        self._work = work
        self._on_move = on_move
        self._jobs: OrderedDict[str, deque[T]] = OrderedDict()
        self._changed = threading.Condition()
        self._is_stopped = False
        self._threads = [
            threading.Thread(target=self._run, name=f"{name}-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, user: str, job: T) -> bool:
        """False if the queue is stopped."""
        with self._changed:
            if not self._is_stopped:
                self._jobs.setdefault(user, deque()).append(job)
                self._report_moves()
                self._changed.notify()
            return not self._is_stopped

    def withdraw(self, user: str, job: T) -> bool:
        """False if the job has started or was never submitted."""
        with self._changed:
            own = self._jobs.get(user, deque())
            if job not in own:
                return False
            own.remove(job)
            if not own:
                del self._jobs[user]
            self._report_moves()
            return True

    def stop(self) -> None:
        """Drops waiting jobs; running jobs continue."""
        with self._changed:
            self._is_stopped = True
            self._jobs.clear()
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Waits for running jobs, after `stop`."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                self._work(job)
            except BaseException:
                log.exception("A queued job failed")

    def _next(self) -> T | None:
        """The oldest job of the next user, who then goes to the back of the queue."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._is_stopped)
            if self._is_stopped:
                return None
            user, own = self._jobs.popitem(last=False)
            job = own.popleft()
            if own:
                self._jobs[user] = own
            self._report_moves()
            return job

    def _report_moves(self) -> None:
        rounds = zip_longest(*self._jobs.values())
        for ahead, job in enumerate(job for jobs in rounds for job in jobs if job is not None):
            self._on_move(job, ahead)
