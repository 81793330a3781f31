"""The feed sends hello, then every change."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from tests.ledger.material import suspend_run
from veracity.engine import Veracity
from veracity.errors import LedgerError
from veracity.ledger import Ledger
from veracity.models import ApprovalStanding, User
from veracity.server.live import feed as feed_module
from veracity.server.live.events import LiveEvent
from veracity.server.live.feed import Feed

BOB = User(name="bob", role="approver", created=datetime.now(UTC))
ANN = User(name="ann", role="asker", created=datetime.now(UTC))
TIMEOUT_SECONDS = 60.0


class LedgerReader:
    """An engine, its inbox and its reader, that only read the ledger. Calls `before` ahead of each read."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.inbox = self.reader = self
        self.before: Callable[[], object] = lambda: None
        self.version = (1, 1)

    def states(self, limit: int) -> list[ApprovalStanding]:
        self.before()
        return self._ledger.approval_states(limit)

    def pending(self, user: str | None) -> int:
        self.before()
        return self._ledger.pending_count(user)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger(tmp_path / "ledger")
    yield made
    made.close()


def make_feed(engine: LedgerReader) -> Feed:
    return Feed(cast(Veracity, engine))


async def receive(events: AsyncIterator[LiveEvent]) -> dict[str, Any]:
    return (await asyncio.wait_for(anext(events), TIMEOUT_SECONDS)).data


def test_changes_right_after_hello_are_sent(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "POLL_SECONDS", 0.05)
    suspend_run(ledger, "r1")
    engine, goes_on = LedgerReader(ledger), threading.Event()

    async def listened() -> dict[str, Any]:
        async with aclosing(make_feed(engine).listen(BOB)) as events:
            assert await receive(events) == {"kind": "hello", "pending": 1}
            engine.before = lambda: goes_on.wait(TIMEOUT_SECONDS)  # delays the next poll
            suspend_run(ledger, "r2")
            goes_on.set()
            return await receive(events)

    assert asyncio.run(listened())["run_id"] == "r2"


def test_hello_counts_all_visible_pending_drafts(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "MAX_APPROVALS", 2)
    for number in range(5):
        suspend_run(ledger, f"r{number}", user="ann" if number < 2 else "cat")
    ledger.decide("r4.1", "approve", by="bob")

    async def pending(user: User) -> int:
        async with aclosing(make_feed(LedgerReader(ledger)).listen(user)) as events:
            return int((await receive(events))["pending"])

    assert [asyncio.run(pending(user)) for user in (BOB, ANN)] == [4, 2]


def test_an_unreadable_ledger_ends_the_stream_before_hello(ledger: Ledger) -> None:
    engine, looks = LedgerReader(ledger), iter([False, True])

    def fails() -> None:
        if next(looks, True):
            raise LedgerError("The disk is gone.")

    engine.before = fails

    async def listened() -> list[LiveEvent]:
        return [event async for event in make_feed(engine).listen(BOB)]

    assert asyncio.run(asyncio.wait_for(listened(), TIMEOUT_SECONDS)) == []


def test_slow_listeners_are_disconnected(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "MAX_UNREAD", 3)

    async def listened() -> list[str]:
        feed = make_feed(LedgerReader(ledger))
        events = feed.listen(BOB)
        hello = await receive(events)
        for _ in range(4):
            feed.publish("documents")
        await asyncio.sleep(0)
        return [hello["kind"], *[event.data["kind"] async for event in events]]

    assert asyncio.run(asyncio.wait_for(listened(), TIMEOUT_SECONDS)) == ["hello"]


def test_clients_can_reconnect_after_a_stop(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "POLL_SECONDS", 0.05)

    async def listened() -> dict[str, Any]:
        feed = make_feed(LedgerReader(ledger))
        events = feed.listen(BOB)
        await receive(events)
        feed.stop()
        assert [event async for event in events] == []
        async with aclosing(feed.listen(BOB)) as again:
            await receive(again)
            suspend_run(ledger, "r1")
            return await receive(again)

    assert asyncio.run(listened())["kind"] == "approval"


def test_document_changes_of_another_process_are_sent_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "POLL_SECONDS", 0.05)
    engine = LedgerReader(ledger)

    async def listened() -> list[dict[str, Any]]:
        async with aclosing(make_feed(engine).listen(ANN)) as events:
            received = [await receive(events)]
            engine.version = (1, 2)
            received.append(await receive(events))
            suspend_run(ledger, "r1", user="ann")
            return [*received, await receive(events)]

    assert [event["kind"] for event in asyncio.run(listened())] == ["hello", "documents", "approval"]
