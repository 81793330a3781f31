"""Keeps when users were last here: beside their requests, and in the way of none.

Knows nothing about requests.
"""

from __future__ import annotations

import asyncio
import math
import time

from veracity.ledger.users import SEEN_EVERY, Users
from veracity.models import LOCAL, User


class Seeing:
    """For one event loop. Threads of its own do it: they may have to wait for others who write."""

    def __init__(self, users: Users) -> None:
        self._users = users
        self._noted: dict[str, float] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    def note(self, user: User) -> None:
        """Once an hour for each user who was added, however many requests come."""
        now = time.monotonic()
        if user.name == LOCAL or now - self._noted.get(user.name, -math.inf) < SEEN_EVERY.total_seconds():
            return
        self._noted[user.name] = now
        task = asyncio.create_task(asyncio.to_thread(self._users.seen, user))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
