"""The fair queue."""

import threading
from collections.abc import Callable

import pytest

from veracity.server.live.fair_queue import FairQueue


def test_users_take_turns() -> None:
    queue, done = FairQueue[Callable[[], object]](1, "test", lambda job: job()), list[str]()
    begun, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        goes_on.wait(10)

    queue.submit("ann", first)
    assert begun.wait(10)
    for number in range(5):
        queue.submit("ann", lambda number=number: done.append(f"ann{number}"))  # type: ignore[misc]
    queue.submit("ben", lambda: done.append("ben0"))
    queue.submit("cat", lambda: done.append("cat0"))
    queue.submit("ben", lambda: done.append("ben1"))
    queue.submit("ben", ended.set)
    goes_on.set()
    assert ended.wait(10)
    assert done[:5] == ["ann0", "ben0", "cat0", "ann1", "ben1"]
    queue.stop()


def test_stop_drops_waiting_jobs() -> None:
    queue, done = FairQueue[Callable[[], object]](1, "test", lambda job: job()), list[int]()
    begun, goes_on = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        goes_on.wait(10)
        done.append(1)

    queue.submit("ann", first)
    assert begun.wait(10)
    queue.submit("ann", lambda: done.append(2))
    queue.stop()
    assert not queue.submit("ann", lambda: done.append(3))
    goes_on.set()
    for thread in threading.enumerate():
        if thread.name.startswith("test-"):
            thread.join(10)
    assert done == [1]


def test_a_failing_job_does_not_end_its_thread(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()

    def work(item: str) -> None:
        if item == "bad":
            raise MemoryError(item)
        done.set()

    queue = FairQueue(1, "test", work)
    queue.submit("ann", "bad")
    queue.submit("ann", "good")
    assert done.wait(10)
    queue.stop()
    assert "MemoryError" in caplog.text


def test_queue_positions_are_reported_until_a_job_starts() -> None:
    begun, goes_on = threading.Semaphore(0), threading.Semaphore(0)
    positions: dict[str, list[int]] = {}

    def work(_: str) -> None:
        begun.release()
        assert goes_on.acquire(timeout=10)

    queue = FairQueue(1, "test", work, lambda item, ahead: positions.setdefault(item, []).append(ahead))
    queue.submit("ann", "first")
    assert begun.acquire(timeout=10)
    for user, item in (("ann", "ann0"), ("ann", "ann1"), ("ben", "ben0")):
        queue.submit(user, item)
    assert positions == {"first": [0], "ann0": [0, 0, 0], "ann1": [1, 2], "ben0": [1]}
    goes_on.release()
    assert begun.acquire(timeout=10)
    assert positions == {"first": [0], "ann0": [0, 0, 0], "ann1": [1, 2, 1], "ben0": [1, 0]}
    queue.stop()
    goes_on.release()
