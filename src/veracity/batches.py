"""Calls a function for every item of a batch, concurrently."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from functools import partial
from itertools import islice
from typing import TypeVar

from veracity.workers import CLOSE_SECONDS, ThreadLocals, Workers

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")

# A batch starts with one thread, because quick items in several would compete for Python's lock. It gets more if its
# threads end fewer than QUICK_ITEMS each within PACE_SECONDS, counted from SET_UP_SECONDS, in which models are set up.
PACE_SECONDS = 0.1
QUICK_ITEMS = 4
SET_UP_SECONDS = 0.25


def map_in_order(
    function: Callable[[A], B], items: Iterable[A], concurrency: int, stop: Callable[[], None] = lambda: None
) -> Iterator[B]:
    """Call the function concurrently and yield results in order. Items are consumed lazily.

    Twice as many items are queued as can run, so that one slow item does not leave workers idle. `stop` is called when
    the iteration ends, to end calls under way.
    """
    source = iter(items)
    workers = BatchWorkers(concurrency)
    waiting: deque[Future[B]] = deque()

    failure: Exception | None = None

    def run(item: A, _: ThreadLocals) -> B:
        try:
            return function(item)
        finally:
            workers.item_ended()

    def draw(count: int) -> None:
        """An exception of the source is raised after the results of the items before it."""
        nonlocal failure
        try:
            for item in islice(source, count if failure is None else 0):
                waiting.append(workers.submit(partial(run, item)))
        except Exception as problem:  # noqa: BLE001 - raised below
            failure = problem

    try:
        draw(2 * concurrency)
        while waiting:
            yield waiting.popleft().result()
            draw(1)
        if failure is not None:
            raise failure
    finally:
        for future in waiting:
            future.cancel()
        stop()
        workers.close()


class BatchWorkers(Workers):
    """Starts with one thread, on whose event loop jobs may make calls, see `current_worker`. Another thread, the pacer,
    adds more while items are slow."""

    def __init__(self, max_threads: int) -> None:
        super().__init__(1, "veracity-batch")
        self._most = max_threads
        self._ended = 0
        self._is_closed = threading.Event()
        if max_threads > 1:
            threading.Thread(target=self._keep_pace, daemon=True, name="veracity-pacer").start()

    def close(self, timeout_seconds: float = CLOSE_SECONDS) -> None:
        self._is_closed.set()
        super().close(timeout_seconds)

    def item_ended(self) -> None:
        self._ended += 1  # by any thread: it need not be exact

    def _keep_pace(self) -> None:
        """Double the threads as long as items are slow and jobs wait."""
        self._is_closed.wait(SET_UP_SECONDS)
        seen = self._ended
        while len(self._threads) < self._most and not self._is_closed.wait(PACE_SECONDS):
            ended, seen = self._ended - seen, self._ended
            if ended < QUICK_ITEMS * len(self._threads):
                self._add_threads()

    def _add_threads(self) -> None:
        with self._lock:
            if self._is_closed.is_set() or self._tasks.empty():
                return
            self._max_threads = min(2 * self._max_threads, self._most)
            for _ in range(min(self._max_threads - len(self._threads), self._tasks.qsize())):
                self._start_thread()

    def _start_thread(self, *, makes_calls: bool = False) -> None:
        super()._start_thread(makes_calls=not self._threads)


def run_all(
    function: Callable[[T], object], items: Iterable[T], threads: int, stop: Callable[[], None] = lambda: None
) -> None:
    """Call the function for every item. Each thread takes the next item itself, so that none waits for this one.

    `stop` is called at the end, to end calls under way after an exception. An exception of `items` is raised when the
    calls for the items before it have ended.
    """
    source, problems = _Source(items), list[BaseException]()
    workers = BatchWorkers(threads)

    def work(_: ThreadLocals) -> None:
        for item in source:
            if problems:
                return
            try:
                function(item)
            except BaseException as problem:
                problems.append(problem)
                raise
            workers.item_ended()

    try:
        jobs = [workers.submit(work) for _ in range(threads)]
        for job in wait(jobs, return_when=FIRST_EXCEPTION).done:
            job.result()
        if source.problem:
            raise source.problem
    finally:
        stop()
        workers.close()


class _Source(Iterable[T]):
    """Items that threads share. An exception ends them, and is kept."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items, self._lock = iter(items), threading.Lock()
        self.problem: Exception | None = None

    def __iter__(self) -> Iterator[T]:
        while (item := self._next()) is not None:
            yield item

    def _next(self) -> T | None:
        with self._lock:
            try:
                return None if self.problem else next(self._items, None)
            except Exception as problem:  # noqa: BLE001 - raised by `run_all`
                self.problem = problem
                return None
