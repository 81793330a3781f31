"""Many calls of one function, a few at a time, with the results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import islice
from typing import TypeVar

from veracity.workers import Workers

A = TypeVar("A")
B = TypeVar("B")


def in_order(function: Callable[[A], B], items: Iterable[A], concurrency: int) -> Iterator[B]:
    """Items are drawn only as results are taken, so the input may be endless.

    Twice as many are under way or waiting as can run, so that one slow item does not leave the others idle.
    """
    source = iter(items)
    workers = Workers(concurrency, "veracity-batch")
    waiting: deque[Future[B]] = deque()

    def begin(item: A) -> Future[B]:
        return workers.submit(lambda _: function(item))

    failure: Exception | None = None

    def draw(count: int) -> None:
        """A source that fails is told after the results of what it gave before."""
        nonlocal failure
        try:
            for item in islice(source, count if failure is None else 0):
                waiting.append(begin(item))
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
        workers.close()
