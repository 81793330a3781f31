"""Threads for what waits to be done, in which users take turns: who asks much keeps nobody else waiting.

Knows nothing about what is done.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import zip_longest
from typing import Generic, TypeVar

log = logging.getLogger("veracity.server")

T = TypeVar("T")


class Turns(Generic[T]):
    """The threads live until `stop`, whatever `work` does. Each that waits is told by `moved` how many come before it,
    whenever that may have changed, and never once its turn has come."""

    def __init__(
        self,
        threads: int,
        name: str,
        work: Callable[[T], object],
        moved: Callable[[T, int], None] = lambda one, at: None,
    ) -> None:
        self._work = work
        self._moved = moved
        self._waiting: OrderedDict[str, deque[T]] = OrderedDict()
        self._changed = threading.Condition()
        self._is_stopped = False
        for number in range(threads):
            threading.Thread(target=self._go_on, name=f"{name}-{number}", daemon=True).start()

    def submit(self, user: str, one: T) -> bool:
        """False: nothing is begun any more."""
        with self._changed:
            if not self._is_stopped:
                self._waiting.setdefault(user, deque()).append(one)
                self._tell()
                self._changed.notify()
            return not self._is_stopped

    def withdraw(self, user: str, one: T) -> bool:
        """False: its turn has come, or it never waited."""
        with self._changed:
            theirs = self._waiting.get(user, deque())
            if one not in theirs:
                return False
            theirs.remove(one)
            if not theirs:
                del self._waiting[user]
            self._tell()
            return True

    def stop(self) -> None:
        """What is under way goes on; what waits is left."""
        with self._changed:
            self._is_stopped = True
            self._waiting.clear()
            self._changed.notify_all()

    def _go_on(self) -> None:
        while (one := self._next()) is not None:
            try:
                self._work(one)
            except BaseException:
                log.exception("What had its turn failed")

    def _next(self) -> T | None:
        """The oldest of the user whose turn it is; that user comes last then."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_stopped)
            if self._is_stopped:
                return None
            user, theirs = self._waiting.popitem(last=False)
            one = theirs.popleft()
            if theirs:
                self._waiting[user] = theirs
            self._tell()
            return one

    def _tell(self) -> None:
        rounds = zip_longest(*self._waiting.values())
        for at, one in enumerate(one for each in rounds for one in each if one is not None):
            self._moved(one, at)
