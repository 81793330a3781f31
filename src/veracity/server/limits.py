"""How much one user, and all together, may ask of the server. What is over it is told when to come again."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from veracity.server.errors import RefusedError
from veracity.settings import ServerSettings

WRONG_TOKENS = 30  # in a minute, from one address
MOST_USERS = 10_000  # remembered at once; who was away for a minute starts afresh anyway


class Bucket:
    """Each user has `per_minute` pieces, which come back evenly over a minute."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def seconds_to_wait(self, user: str, *, takes: bool = True) -> float:
        """0 where one was taken, or could be."""
        now = time.monotonic()
        with self._lock:
            if len(self._left) > MOST_USERS:
                self._left.clear()
            left, since = self._left.get(user, (float(self._per_minute), now))
            left = min(self._per_minute, left + (now - since) * self._per_minute / 60)
            if left < 1:
                return (1 - left) * 60 / self._per_minute
            if takes:
                self._left[user] = (left - 1, now)
            return 0.0


class Limits:
    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._requests = Bucket(settings.requests_per_minute)
        self._asks = Bucket(settings.asks_per_minute)
        self._wrong_tokens = Bucket(WRONG_TOKENS)
        self._last_wrong: dict[str, int] = {}
        self._streams: Counter[str] = Counter()
        self._lock = threading.Lock()

    def require_request(self, user: str) -> None:
        if wait := self._requests.seconds_to_wait(user):
            raise too_many(f"More than {self._settings.requests_per_minute} requests in a minute", wait)

    def require_ask(self, user: str, *, takes: bool = True) -> None:
        if wait := self._asks.seconds_to_wait(user, takes=takes):
            raise too_many(f"More than {self._settings.asks_per_minute} questions in a minute", wait)

    def require_few_wrong_tokens(self, address: str) -> None:
        if wait := self._wrong_tokens.seconds_to_wait(address, takes=False):
            raise too_many(f"More than {WRONG_TOKENS} wrong tokens in a minute", wait)

    def note_wrong_token(self, address: str, token: str) -> None:
        """The same one again is no other guess, but a page that was left open."""
        if len(self._last_wrong) > MOST_USERS:
            self._last_wrong.clear()
        if self._last_wrong.get(address) != hash(token):
            self._last_wrong[address] = hash(token)
            self._wrong_tokens.seconds_to_wait(address)

    def open_stream(self, user: str) -> Callable[[], None]:
        """What is called when it is closed. One user may have a quarter of all that may be open at once."""
        most = self._settings.streams
        with self._lock:
            if self._streams.total() >= most or self._streams[user] >= max(1, most // 4):
                raise too_many("Too many event streams are open", 10)
            self._streams[user] += 1
        return partial(self._close_stream, user)

    @property
    def streams(self) -> int:
        return self._streams.total()

    def _close_stream(self, user: str) -> None:
        with self._lock:
            self._streams[user] -= 1
            self._streams += Counter()  # without those that are at zero


class Places:
    """In the queue of questions; one user may have half of it."""

    def __init__(self, settings: ServerSettings) -> None:
        self._threads = settings.runs
        self._most = settings.queue
        self._seconds = 5.0  # that a run took lately
        self._users: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        return self._users.total()

    def take(self, user: str, working: int) -> None:
        """So many are at work, on threads that are not free."""
        free = max(0, self._threads - working)
        with self._lock:
            waiting, own = self._users.total(), self._users[user]
            if waiting >= self._most + free or own > self._most // 2 + free:
                wait = (waiting + 1) * self._seconds / self._threads
                raise too_many(f"{waiting} questions wait already", min(120, wait))
            self._users[user] += 1

    def leave(self, user: str) -> None:
        with self._lock:
            self._users[user] -= 1
            self._users += Counter()  # without those that are at zero

    def took(self, seconds: float) -> None:
        with self._lock:
            self._seconds = 0.9 * self._seconds + 0.1 * seconds


def too_many(what: str, seconds: float) -> RefusedError:
    wait = max(1, math.ceil(seconds))
    return RefusedError(429, "TooMany", f"{what}: come again in {wait} s.", {"Retry-After": str(wait)})


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
