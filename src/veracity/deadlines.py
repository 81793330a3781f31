"""Deadlines on the monotonic clock, and the signal that stops work before its deadline.

Waiting takes a `Deadline` as an argument. Local computations, such as the checks of an answer, are many small functions
below a few large ones: they run `under` a deadline and call `check_time` between two pieces of work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import inf
from typing import Any

from veracity.errors import OutOfTimeError, Stopped

SLOW_HINT = 'for a slow server set llm.pace = "slow" or raise the limit'  # advice where a deadline was missed


class Stop:
    """Ends the waits of a run, from any thread and for good. They raise `Stopped`."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._callbacks: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        """Safe in a signal handler that interrupts this object's own methods: the lock is not awaited."""
        self._event.set()
        for callback in tuple(self._callbacks):
            callback()

    def check(self) -> None:
        """Raise `Stopped` if it is set."""
        if self._event.is_set():
            raise Stopped

    def sleep(self, seconds: float) -> None:
        self._event.wait(seconds)
        self.check()

    @contextmanager
    def calling(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call back once it is set, at once if it is already; not after the block. It may be called twice."""
        with self._lock:
            self._callbacks = [*self._callbacks, callback]
        try:
            if self._event.is_set():
                callback()
            yield
        finally:
            with self._lock:
                self._callbacks = [other for other in self._callbacks if other is not callback]


NEVER = Stop()


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time on the monotonic clock; `inf` means no deadline. `stop` may end waits earlier. `name` is the
    setting it comes from, for messages."""

    end: float = inf
    stop: Stop = field(default=NEVER, compare=False, repr=False)
    name: str = field(default="", compare=False)

    @classmethod
    def within(cls, seconds: float, stop: Stop = NEVER, name: str = "") -> Deadline:
        return cls(time.monotonic() + seconds, stop, name)

    @property
    def left(self) -> float:
        """Remaining seconds; 0 if the deadline has passed."""
        return max(0.0, self.end - time.monotonic())

    @property
    def has_passed(self) -> bool:
        return self.left <= 0

    def capped_at(self, seconds: float, name: str = "") -> Deadline:
        """The earlier of this deadline and `seconds` from now, which is called `name`."""
        end = time.monotonic() + seconds
        return Deadline(end, self.stop, name) if end < self.end else self

    def wait_for(self, future: Future[Any]) -> bool:
        """Wait until the future is done or the deadline has passed; return whether it is done. Raises `Stopped`."""
        woken = threading.Event()
        future.add_done_callback(lambda _: woken.set())
        with self.stop.calling(woken.set):
            woken.wait(min(self.left, threading.TIMEOUT_MAX))
        self.stop.check()
        return future.done()


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def under(deadline: Deadline) -> Iterator[None]:
    """Computations inside the block, on this thread, end at the deadline or its stop signal."""
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)


def check_time() -> None:
    """Raise `Stopped` or `OutOfTimeError` if the computation has to end. Costs less than a microsecond."""
    deadline = _current.get()
    if deadline is not None:
        deadline.stop.check()
        if deadline.has_passed:
            limit = deadline.name or "its deadline"
            raise OutOfTimeError(f"It took longer than {limit} allows: shorten the text or raise the limit.")
