"""Threads that write take turns, and who decides goes before who asks."""

import threading
import time
from pathlib import Path

import pytest

from veracity.errors import BusyLedgerError
from veracity.ledger import database
from veracity.ledger.database import Database, WritingTurns


def test_who_goes_first_waits_for_the_one_that_is_at_it_and_no_other() -> None:
    turns, done = WritingTurns(), list[str]()
    assert turns.begin(False, 1)

    def write(name: str, first: bool) -> None:
        assert turns.begin(first, 20)
        done.append(name)
        turns.end()

    others = [threading.Thread(target=write, args=(f"ask{number}", False)) for number in range(3)]
    decides = threading.Thread(target=write, args=("decide", True))
    for thread in (*others, decides):
        thread.start()
    end = time.monotonic() + 20
    while not turns._first and time.monotonic() < end:
        time.sleep(0.01)
    turns.end()
    for thread in (*others, decides):
        thread.join(20)
    assert done[0] == "decide" and sorted(done[1:]) == ["ask0", "ask1", "ask2"]


def test_whoever_waits_in_vain_is_told_and_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    one = Database(tmp_path)
    for first in (False, True):
        with one.writing(), pytest.raises(BusyLedgerError), one.writing(first=first):
            raise AssertionError("two at once")
    with one.writing(), one.reading():
        pass
    one.close()
