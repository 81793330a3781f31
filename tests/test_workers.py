"""The thread pool for calls (DESIGN 3)."""

import asyncio
import sys
import threading
import time

import pytest

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
