"""Requests that compute or ask a provider: a few at once, of one user fewer, so that nobody waits for who sends many.

Knows nothing about what they do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from veracity.server.limits import too_many

T = TypeVar("T")

AT_ONCE = 4
OF_ONE_USER = 2
MOST_WAITING = 8  # of one user
COME_AGAIN = 5.0  # seconds


class Computing:
    """`what` is done, for whoever is told that too much of it waits. For one event loop."""

    def __init__(self, what: str, most_waiting: int = MOST_WAITING) -> None:
        self._what = what
        self._most_waiting = most_waiting
        self._threads = CapacityLimiter(AT_ONCE)
        self._users: dict[str, CapacityLimiter] = {}

    async def __call__(self, user: str, work: Callable[[], T]) -> T:
        own = self._users.setdefault(user, CapacityLimiter(OF_ONE_USER))
        waiting = own.statistics().tasks_waiting
        if waiting >= self._most_waiting:
            raise too_many(f"{waiting} of your {self._what} wait already", COME_AGAIN)
        async with own:
            return await run_sync(work, limiter=self._threads)
