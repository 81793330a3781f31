"""Threads for what waits to be done, in which users take turns: who asks much keeps nobody else waiting.

Knows nothing about what is done.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable

Job = Callable[[], None]


class Turns:
    """The threads live until `stop`. A job handles its own errors."""

    def __init__(self, threads: int, name: str) -> None:
        self._waiting: OrderedDict[str, deque[Job]] = OrderedDict()
        self._changed = threading.Condition()
        self._is_stopped = False
        for number in range(threads):
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True).start()

    def submit(self, user: str, job: Job) -> bool:
        """False: nothing is begun any more."""
        with self._changed:
            if not self._is_stopped:
                self._waiting.setdefault(user, deque()).append(job)
                self._changed.notify()
            return not self._is_stopped

    def stop(self) -> None:
        """What is under way goes on; what waits is left."""
        with self._changed:
            self._is_stopped = True
            self._waiting.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        while job := self._next():
            job()

    def _next(self) -> Job | None:
        """The oldest job of the user whose turn it is; that user comes last then."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_stopped)
            if self._is_stopped:
                return None
            user, jobs = self._waiting.popitem(last=False)
            job = jobs.popleft()
            if jobs:
                self._waiting[user] = jobs
            return job
