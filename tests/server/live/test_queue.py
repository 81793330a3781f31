"""Users take turns, however much one of them asks."""

import threading
from collections.abc import Callable

import pytest

from veracity.server.live.queue import Turns


def test_who_asks_much_keeps_nobody_else_waiting() -> None:
    turns, done = Turns[Callable[[], object]](1, "test", lambda job: job()), list[str]()
    begun, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        goes_on.wait(10)

    turns.submit("ann", first)
    assert begun.wait(10)
    for number in range(5):
        turns.submit("ann", lambda number=number: done.append(f"ann{number}"))  # type: ignore[misc]
    turns.submit("ben", lambda: done.append("ben0"))
    turns.submit("cat", lambda: done.append("cat0"))
    turns.submit("ben", lambda: done.append("ben1"))
    turns.submit("ben", ended.set)
    goes_on.set()
    assert ended.wait(10)
    assert done[:5] == ["ann0", "ben0", "cat0", "ann1", "ben1"]
    turns.stop()


def test_what_waits_is_left_when_it_stops() -> None:
    turns, done = Turns[Callable[[], object]](1, "test", lambda job: job()), list[int]()
    begun, goes_on = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        goes_on.wait(10)
        done.append(1)

    turns.submit("ann", first)
    assert begun.wait(10)
    turns.submit("ann", lambda: done.append(2))
    turns.stop()
    assert not turns.submit("ann", lambda: done.append(3))
    goes_on.set()
    for thread in threading.enumerate():
        if thread.name.startswith("test-"):
            thread.join(10)
    assert done == [1]


def test_what_fails_takes_no_thread_with_it(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()

    def work(one: str) -> None:
        if one == "bad":
            raise MemoryError(one)
        done.set()

    turns = Turns(1, "test", work)
    turns.submit("ann", "bad")
    turns.submit("ann", "good")
    assert done.wait(10)
    turns.stop()
    assert "MemoryError" in caplog.text


def test_who_waits_is_told_how_many_come_before_until_the_turn_has_come() -> None:
    begun, goes_on = threading.Semaphore(0), threading.Semaphore(0)
    told: dict[str, list[int]] = {}

    def work(_: str) -> None:
        begun.release()
        assert goes_on.acquire(timeout=10)

    turns = Turns(1, "test", work, lambda one, ahead: told.setdefault(one, []).append(ahead))
    turns.submit("ann", "first")
    assert begun.acquire(timeout=10)
    for user, one in (("ann", "ann0"), ("ann", "ann1"), ("ben", "ben0")):
        turns.submit(user, one)
    assert told == {"first": [0], "ann0": [0, 0, 0], "ann1": [1, 2], "ben0": [1]}
    goes_on.release()
    assert begun.acquire(timeout=10)
    assert told == {"first": [0], "ann0": [0, 0, 0], "ann1": [1, 2, 1], "ben0": [1, 0]}
    turns.stop()
    goes_on.release()
