"""Users take turns, however much one of them asks."""

import threading

from veracity.server.turns import Turns


def test_who_asks_much_keeps_nobody_else_waiting() -> None:
    turns, done = Turns(1, "test"), list[str]()
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
    turns, done = Turns(1, "test"), list[int]()
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
