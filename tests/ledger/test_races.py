"""Races between servers, with forced interleavings: one transaction pauses while the other one tries to overtake it."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from tests.ledger.material import begin, bytes_of, make_evidence
from veracity.errors import InputError, LostLeaseError
from veracity.ledger import Ledger, forget
from veracity.ledger.rows import conversations, evidence, users
from veracity.runs import runner

RARE = "zanzibarquartz"


class Pause:
    """The first call of a function waits, after it is done, until the pause ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> None:
        self.reached, self._goes_on = threading.Event(), threading.Event()
        self._original: Callable[..., Any] = getattr(module, name)
        self._is_first = True
        monkeypatch.setattr(module, name, self._call)

    def end(self) -> None:
        self._goes_on.set()

    def _call(self, *arguments: Any, **options: Any) -> Any:
        is_first, self._is_first = self._is_first, False
        result = self._original(*arguments, **options)
        if is_first:
            self.reached.set()
            assert self._goes_on.wait(20)
        return result


@contextmanager
def overtaking(
    pause: Pause, slow: Callable[[], Any], fast: Callable[[], Any]
) -> Iterator[tuple[Future[Any], Future[Any]]]:
    """Start `slow`, and `fast` when it pauses. Let it go on when `fast` is done or waits for it."""
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(slow)
        assert pause.reached.wait(20)
        second = pool.submit(fast)
        try:
            second.exception(0.5)
        except TimeoutError:
            pass  # it waits
        finally:
            pause.end()
        yield first, second


@pytest.fixture
def other(ledger: Ledger, tmp_path: Path) -> Iterator[Ledger]:
    """Another server's handle of the same ledger."""
    begin(ledger, "r0")  # creates the tables
    other = Ledger(tmp_path / "ledger")
    other.runs()
    yield other
    other.close()


def test_two_servers_begin_the_first_turn_of_a_conversation(
    ledger: Ledger, other: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause = Pause(monkeypatch, conversations, "next_turn")
    turns = (lambda: begin(ledger, "a", conversation="c"), lambda: begin(other, "b", conversation="c"))
    with overtaking(pause, *turns) as (first, second):
        assert (first.result(), second.result()) == (1, 1)
    assert [(turn.run_id, turn.number) for turn in ledger.turns("ann", "c")] == [("a", 1), ("b", 2)]


def test_two_servers_add_users_that_look_alike(ledger: Ledger, other: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    pause = Pause(monkeypatch, users, "_require_distinct")
    ledger.users.add("zoe", "asker")
    with overtaking(pause, lambda: ledger.users.add("max", "asker"), lambda: other.users.add("MAX", "admin")) as (
        first,
        second,
    ):
        assert first.result()
        assert isinstance(second.exception(), InputError)
    assert [user.name for user in ledger.users.list()] == ["max", "zoe"]


@pytest.mark.parametrize("forgets_first", [True, False])
def test_a_passage_is_stored_while_its_document_is_forgotten(
    ledger: Ledger, other: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgets_first: bool
) -> None:
    """Whichever is first, the text is gone."""
    begin(ledger, "r1")
    passage = make_evidence("p1", text=RARE)
    calls = [lambda: other.forget_documents(["d1"]), lambda: ledger.keep_evidence("r1", [passage], given=True)]
    paused = (evidence, "blank_documents") if forgets_first else (forget, "find_forgotten")
    with overtaking(Pause(monkeypatch, *paused), *calls[:: 1 if forgets_first else -1]) as futures:
        for future in futures:
            future.result()
    assert ledger.evidence("r1")["p1"].text == ""
    ledger._scrub(ledger._read(forget.list_unscrubbed), None)
    assert RARE.encode() not in bytes_of(tmp_path / "ledger")


def test_a_process_that_lost_its_lease_cannot_write_checkpoints(ledger: Ledger, tmp_path: Path) -> None:
    old = Ledger(tmp_path / "ledger")
    token = begin(old, "r1")
    checkpoints = cast(Any, runner).open_checkpoints(tmp_path / "ledger")  # of the engine under test
    saver = checkpoints.saver(lambda: old.fenced("r1", token))
    config: Any = {"configurable": {"thread_id": "r1", "checkpoint_ns": ""}}
    state: Any = {"v": 4, "id": "1", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
    saved = saver.put(config, state, {}, {})
    old._owners.close()
    assert ledger.acquire_lease("r1") == token + 1
    with pytest.raises(LostLeaseError):
        saver.put(saved, state | {"id": "2"}, {}, {})
    with pytest.raises(LostLeaseError):
        saver.put_writes(saved, [("__interrupt__", "why")], "task")
    found = checkpoints.saver().get_tuple({"configurable": {"thread_id": "r1"}})
    assert found and found.checkpoint["id"] == "1"
    checkpoints.close()
    old.close()
