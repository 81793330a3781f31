"""The feed says hello and then all that changes, however soon it does, and however much waits."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from tests.ledger.material import waits
from veracity.engine import Veracity
from veracity.errors import LedgerError
from veracity.ledger import Ledger
from veracity.models import ApprovalStanding, User
from veracity.server.live import feed as feed_module
from veracity.server.live.events import LiveEvent
from veracity.server.live.feed import Feed

BOB = User(name="bob", role="approver", created=datetime.now(UTC))
ANN = User(name="ann", role="asker", created=datetime.now(UTC))
PATIENCE = 10.0  # seconds for what should come


class Looking:
    """An engine that only looks at the ledger. `before` is called ahead of every look."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.before: Callable[[], object] = lambda: None
        self.version = (1, 1)

    def documents_version(self) -> tuple[int, int]:
        return self.version

    def approval_states(self, limit: int) -> list[ApprovalStanding]:
        self.before()
        return self._ledger.approval_states(limit)

    def pending(self, user: str | None) -> int:
        self.before()
        return self._ledger.pending(user)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger")
    yield made
    made.close()


def feed_of(engine: Looking) -> Feed:
    return Feed(cast(Veracity, engine))


async def heard(events: AsyncIterator[LiveEvent]) -> dict[str, Any]:
    return (await asyncio.wait_for(anext(events), PATIENCE)).data


def test_what_happens_right_after_hello_is_told(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "LOOK", 0.05)
    waits(ledger, "r1")
    engine, goes_on = Looking(ledger), threading.Event()

    async def listened() -> dict[str, Any]:
        async with aclosing(feed_of(engine).listen(BOB)) as events:
            assert await heard(events) == {"kind": "hello", "pending": 1}
            engine.before = lambda: goes_on.wait(PATIENCE)  # the next look comes later than what happens now
            waits(ledger, "r2")
            goes_on.set()
            return await heard(events)

    assert asyncio.run(listened())["run_id"] == "r2"


def test_hello_counts_all_that_wait_and_only_what_may_be_seen(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "NEWEST", 2)
    for number in range(5):
        waits(ledger, f"r{number}", user="ann" if number < 2 else "cat")
    ledger.decide("r4.1", "approve", by="bob")

    async def pending(user: User) -> int:
        async with aclosing(feed_of(Looking(ledger)).listen(user)) as events:
            return int((await heard(events))["pending"])

    assert [asyncio.run(pending(user)) for user in (BOB, ANN)] == [4, 2]


def test_where_nothing_can_be_counted_there_is_no_hello(ledger: Ledger) -> None:
    engine, looks = Looking(ledger), iter([False, True])

    def fails() -> None:
        if next(looks, True):
            raise LedgerError("The disk is gone.")

    engine.before = fails

    async def listened() -> list[LiveEvent]:
        return [event async for event in feed_of(engine).listen(BOB)]

    assert asyncio.run(asyncio.wait_for(listened(), PATIENCE)) == []


def test_who_reads_too_slowly_is_sent_away_rather_than_told_half(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "MOST_BEHIND", 3)

    async def listened() -> list[str]:
        feed = feed_of(Looking(ledger))
        events = feed.listen(BOB)
        hello = await heard(events)
        for _ in range(4):
            feed.tell("documents")
        await asyncio.sleep(0)
        return [hello["kind"], *[event.data["kind"] async for event in events]]

    assert asyncio.run(asyncio.wait_for(listened(), PATIENCE)) == ["hello"]


def test_streams_that_ended_can_be_opened_anew(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "LOOK", 0.05)

    async def listened() -> dict[str, Any]:
        feed = feed_of(Looking(ledger))
        events = feed.listen(BOB)
        await heard(events)
        feed.stop()
        assert [event async for event in events] == []
        async with aclosing(feed.listen(BOB)) as again:
            await heard(again)
            waits(ledger, "r1")
            return await heard(again)

    assert asyncio.run(listened())["kind"] == "approval"


def test_documents_that_another_process_changed_are_told_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "LOOK", 0.05)
    engine = Looking(ledger)

    async def listened() -> list[dict[str, Any]]:
        async with aclosing(feed_of(engine).listen(ANN)) as events:
            told = [await heard(events)]
            engine.version = (1, 2)
            told.append(await heard(events))
            waits(ledger, "r1", user="ann")
            return [*told, await heard(events)]

    assert [event["kind"] for event in asyncio.run(listened())] == ["hello", "documents", "approval"]
