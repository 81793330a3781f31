"""The thread pool for calls (DESIGN 3)."""

import asyncio
import itertools
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from veracity.batches import run_all
from veracity.errors import ConfigurationError
from veracity.workers import Workers


def test_the_number_of_threads_is_limited() -> None:
    workers = Workers(3, "test")
    gate = threading.Event()
    seen: set[int] = set()

    def job(_: object) -> None:
        seen.add(threading.get_ident())
        gate.wait(10)

    futures = [workers.submit(job) for _ in range(9)]
    time.sleep(0.05)
    gate.set()
    for future in futures:
        future.result(10)
    assert 1 <= len(seen) <= 3 and threading.get_ident() not in seen
    workers.close()


def test_each_thread_has_its_own_event_loop() -> None:
    workers = Workers(1, "test")
    first, second = (
        workers.submit(lambda _: asyncio.get_event_loop_policy().get_event_loop()).result(10) for _ in "ab"
    )
    assert first is second and not first.is_closed()
    workers.close()
    assert first.is_closed()


def test_a_cancelled_job_does_not_run() -> None:
    workers = Workers(1, "test")
    gate = threading.Event()
    done: list[str] = []
    first = workers.submit(lambda _: gate.wait(10))
    second = workers.submit(lambda _: done.append("second"))
    assert second.cancel()
    gate.set()
    first.result(10)
    workers.submit(lambda _: done.append("third")).result(10)
    assert done == ["third"]
    workers.close()


def test_a_stopped_job_is_cancelled_while_it_runs() -> None:
    workers, started, left = Workers(1, "test"), threading.Event(), list[str]()

    async def hang() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            left.append("cleanly")

    job = workers.submit(lambda _: asyncio.get_event_loop().run_until_complete(hang()))
    assert started.wait(10)
    job.stop()
    with pytest.raises(asyncio.CancelledError):
        job.result(10)
    job.stop()  # too late: the next job is not affected
    assert left == ["cleanly"]
    assert workers.submit(lambda _: asyncio.get_event_loop().run_until_complete(asyncio.sleep(0.05, 5))).result(10) == 5
    workers.close()


def test_a_job_stopped_before_its_loop_runs_is_cancelled() -> None:
    workers, started, goes_on = Workers(1, "test"), threading.Event(), threading.Event()

    def job(_: object) -> None:
        started.set()
        goes_on.wait(10)
        asyncio.get_event_loop().run_until_complete(asyncio.sleep(60))

    stopped, waiting = workers.submit(job), workers.submit(lambda _: 5)
    assert started.wait(10)
    stopped.stop()
    waiting.stop()
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        stopped.result(10)
    assert waiting.cancelled() and workers.submit(lambda _: 5).result(10) == 5
    workers.close()


def test_an_error_reaches_the_caller_and_the_thread_survives() -> None:
    workers = Workers(1, "test")
    with pytest.raises(ZeroDivisionError):
        workers.submit(lambda _: 1 // 0).result(10)
    with pytest.raises(SystemExit):
        workers.submit(lambda _: sys.exit()).result(10)
    assert workers.submit(lambda _: 5).result(10) == 5
    workers.close()


def test_thread_locals_are_closed_with_their_thread() -> None:
    class Model:
        closed = False

        async def __aenter__(self) -> None: ...

        async def __aexit__(self, *_: object) -> None:
            self.closed = True
            raise RuntimeError("ignored")

    workers = Workers(1, "test")
    models = [Model(), Model()]
    workers.submit(lambda kept: kept.update({("a", "x"): models[0], ("b", "x"): models[1]})).result(10)
    workers.close()
    assert all(model.closed for model in models)


def test_jobs_submitted_before_closing_are_run() -> None:
    workers = Workers(1, "test")
    futures = [workers.submit(lambda _: 1) for _ in range(5)]
    workers.close()
    assert [future.result(10) for future in futures] == [1] * 5
    with pytest.raises(ConfigurationError):
        workers.submit(lambda _: 1)


def test_every_item_is_taken_once() -> None:
    taken: list[int] = []
    run_all(taken.append, iter(range(500)), 8)
    assert sorted(taken) == list(range(500))


def test_an_exception_ends_the_others() -> None:
    stopped = threading.Event()

    def work(item: int) -> None:
        if item == 3:
            raise ValueError("the third")
        if item > 3:
            stopped.wait(30)

    with pytest.raises(ValueError, match="the third"):
        run_all(work, itertools.count(), 2, stopped.set)
    assert stopped.is_set()


def test_what_came_before_an_exception_of_the_source_is_finished() -> None:
    finished: list[int] = []

    def source() -> Iterator[int]:
        yield from range(4)
        raise LookupError("the file has changed")

    def work(item: int) -> None:
        time.sleep(0.05)
        finished.append(item)

    with pytest.raises(LookupError, match="has changed"):
        run_all(work, source(), 4)
    assert sorted(finished) == [0, 1, 2, 3]


def test_a_batch_of_quick_items_needs_one_thread() -> None:
    used = set[int]()
    run_all(lambda _: used.add(threading.get_ident()), range(500), 8)
    assert len(used) == 1


def test_a_batch_gets_all_its_threads_when_its_items_wait() -> None:
    together, met = threading.Barrier(6), list[int]()
    run_all(lambda _: met.append(together.wait(60)), range(6), 6)
    assert sorted(met) == [0, 1, 2, 3, 4, 5]


def test_a_batch_of_items_that_wait_briefly_uses_all_its_threads() -> None:
    used = set[int]()

    def item(_: int) -> None:
        used.add(threading.get_ident())
        time.sleep(0.05)

    run_all(item, range(200), 6)
    assert len(used) == 6
