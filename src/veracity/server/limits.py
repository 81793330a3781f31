"""Rate limits and concurrency limits, per user and overall. Refusals say when to retry."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from veracity.engine import Veracity
from veracity.errors import VeracityError
from veracity.server.errors import RefusedError
from veracity.settings import ServerSettings

log = logging.getLogger("veracity.server")

EXCHANGE_SECONDS = 1.0  # between exchanges with other servers
MAX_WRONG_TOKENS = 30  # per minute and address
MAX_REMEMBERED = 10_000  # users or addresses
MAX_CONCURRENT = 4
MAX_CONCURRENT_PER_USER = 2
MAX_WAITING_PER_USER = 8
RETRY_SECONDS = 5.0
PENDING_RETRY_SECONDS = 60.0  # people decide, which takes its time

T = TypeVar("T")


def too_many(reason: str, seconds: float) -> RefusedError:
    wait = max(1, math.ceil(seconds))
    return RefusedError(429, "TooMany", f"{reason}: try again in {wait} s.", {"Retry-After": str(wait)})


class TokenBucket:
    """`per_minute` actions of each user, refilled evenly over a minute."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()  # since the last collect()

    def seconds_to_wait(self, user: str, *, takes: bool = True) -> float:
        """0 if an action is allowed now; it is counted unless `takes` is False."""
        now = time.monotonic()
        with self._lock:
            if len(self._left) > MAX_REMEMBERED:
                self._left.clear()
                self._taken.clear()
            left, since = self._left.get(user, (float(self._per_minute), now))
            left = min(self._per_minute, left + (now - since) * self._per_minute / 60)
            if left < 1:
                return (1 - left) * 60 / self._per_minute
            if takes:
                self._left[user] = (left - 1, now)
                self._taken[user] += 1
            return 0.0

    def collect(self) -> Counter[str]:
        """The actions since the last call."""
        with self._lock:
            taken, self._taken = self._taken, Counter()
            return taken

    def give_back(self, taken: Mapping[str, int]) -> None:
        """The next collect() returns these, too."""
        with self._lock:
            self._taken.update(taken)

    def set_spent(self, spent: Mapping[str, float]) -> None:
        """Replaces what is known of these users. Does not include actions since the last collect()."""
        with self._lock:
            for user, count in spent.items():
                self._left[user] = (self._per_minute - count - self._taken[user], time.monotonic())


class SlotCounter:
    """Slots that users hold, limited in total and per user."""

    def __init__(self) -> None:
        self._users: Counter[str] = Counter()
        self._elsewhere: Counter[str] = Counter()  # on other servers
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        return self._users.total()

    def take(self, user: str, limit: int, limit_per_user: int) -> bool:
        """False if no slot is free."""
        with self._lock:
            total, own = self._users.total() + self._elsewhere.total(), self._users[user] + self._elsewhere[user]
            if total >= limit or own >= limit_per_user:
                return False
            self._users[user] += 1
            return True

    def release(self, user: str) -> None:
        with self._lock:
            self._users[user] -= 1
            self._users += Counter()  # drops zero counts

    def by_user(self) -> dict[str, int]:
        with self._lock:
            return dict(self._users)

    def set_elsewhere(self, users: Mapping[str, int]) -> None:
        with self._lock:
            self._elsewhere = Counter(users)


class Limits:
    """Limits on requests, questions, wrong tokens and event streams."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._requests = TokenBucket(settings.requests_per_minute)
        self._asks = TokenBucket(settings.asks_per_minute)
        self._wrong_tokens = TokenBucket(MAX_WRONG_TOKENS)
        self._last_wrong: dict[str, int] = {}
        self._streams = SlotCounter()
        self._had_streams = False

    def require_request(self, user: str) -> None:
        if wait := self._requests.seconds_to_wait(user):
            raise too_many(f"More than {self._settings.requests_per_minute} requests in a minute", wait)

    def require_ask(self, user: str, *, takes: bool = True) -> None:
        if wait := self._asks.seconds_to_wait(user, takes=takes):
            raise too_many(f"More than {self._settings.asks_per_minute} questions in a minute", wait)

    def require_ask_of_deployment(self, nth_newest: datetime | None) -> None:
        """`nth_newest` is when the user asked the oldest of the questions that a minute allows, on any server."""
        if nth_newest is not None and (wait := 60 - (datetime.now(UTC) - nth_newest).total_seconds()) > 0:
            raise too_many(f"More than {self._settings.asks_per_minute} questions in a minute", wait)

    def require_few_pending(self, pending: int) -> None:
        """`pending` of the user's questions wait for approval. They are kept until a person decides."""
        if pending >= self._settings.pending_per_user:
            raise RefusedError(
                429,
                "TooMany",
                f"{pending} of your questions wait for approval, and server.pending_per_user allows no more: ask again "
                "when some of them are decided.",
                {"Retry-After": str(round(PENDING_RETRY_SECONDS))},
            )

    def require_few_wrong_tokens(self, address: str) -> None:
        if wait := self._wrong_tokens.seconds_to_wait(address, takes=False):
            raise too_many(f"More than {MAX_WRONG_TOKENS} wrong tokens in a minute", wait)

    def count_wrong_token(self, address: str, token: str) -> None:
        """A repeated token is not another guess: an open page sends the same one again and again."""
        if len(self._last_wrong) > MAX_REMEMBERED:
            self._last_wrong.clear()
        if self._last_wrong.get(address) != hash(token):
            self._last_wrong[address] = hash(token)
            self._wrong_tokens.seconds_to_wait(address)

    def open_stream(self, user: str) -> Callable[[], None]:
        """Returns the function that closes the stream. One user may hold a quarter of all streams."""
        limit = self._settings.streams
        if not self._streams.take(user, limit, max(1, limit // 4)):
            raise too_many("Too many event streams are open", 10)
        return partial(self._streams.release, user)

    @property
    def streams(self) -> int:
        return self._streams.taken

    def exchange(self, engine: Veracity) -> None:
        """Tell the other servers of requests and streams, and learn of theirs. Raises `VeracityError`."""
        requests, streams = self._requests.collect(), self._streams.by_user()
        if not requests and not streams and not self._had_streams:
            return
        try:
            traffic = engine.traffic.exchange(requests, streams, engine.settings.server.requests_per_minute)
        except BaseException:
            self._requests.give_back(requests)
            raise
        self._had_streams = bool(streams)
        self._requests.set_spent(traffic.spent)
        self._streams.set_elsewhere(traffic.streams_elsewhere)


async def exchange_periodically(limits: Limits, engine: Veracity) -> None:
    """Lets the limits hold for all servers that share the ledger, until it is cancelled. One that sees no others'
    requests for a moment may exceed them by what arrives in that moment."""
    while engine.settings.store.ledger:
        await asyncio.sleep(EXCHANGE_SECONDS)
        try:
            await run_sync(limits.exchange, engine)
        except VeracityError as error:
            log.debug("The limits hold for this server only: %s", error)
        except Exception:
            log.exception("The requests of other servers could not be counted")


class QueueSlots(SlotCounter):
    """Slots in the queue of questions. One user may hold half of them."""

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__()
        self._threads, self._slots = settings.runs, settings.queue
        self._run_seconds = 5.0  # moving average

    def require(self, user: str, running: int) -> None:
        """Takes a slot. `running` questions occupy threads; each free thread adds a slot."""
        free = max(0, self._threads - running)
        if not self.take(user, self._slots + free, self._slots // 2 + free + 1):
            wait = (self.taken + 1) * self._run_seconds / self._threads
            raise too_many(f"{self.taken} questions are queued already", min(120, wait))

    def require_queue(self, waiting: int, own: int) -> None:
        """For a queue in the ledger, where `waiting` questions are queued, `own` of them by this user."""
        if waiting >= self._slots or own > self._slots // 2:
            raise too_many(f"{waiting} questions are queued already", min(120, waiting * self._run_seconds))

    def record_run(self, seconds: float) -> None:
        self._run_seconds = 0.9 * self._run_seconds + 0.1 * seconds


class ConcurrencyLimit:
    """Caps concurrent expensive requests, overall and per user. Belongs to one event loop."""

    def __init__(self, name: str, max_waiting_per_user: int = MAX_WAITING_PER_USER) -> None:
        self._name = name
        self._max_waiting = max_waiting_per_user
        self._threads = CapacityLimiter(MAX_CONCURRENT)
        self._users: dict[str, CapacityLimiter] = {}

    async def __call__(self, user: str, work: Callable[[], T]) -> T:
        own = self._users.setdefault(user, CapacityLimiter(MAX_CONCURRENT_PER_USER))
        waiting = own.statistics().tasks_waiting
        if waiting >= self._max_waiting:
            raise too_many(f"{waiting} of your {self._name} are waiting already", RETRY_SECONDS)
        async with own:
            return await run_sync(work, limiter=self._threads)
