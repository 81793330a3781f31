"""What comes of a change of the documents, as it happens, for whoever watches.

Knows nothing about what a change does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import Any

from veracity.errors import VeracityError
from veracity.models import IngestReport, Outcome
from veracity.server.problems import INSIDE
from veracity.server.stretches import LiveEvent

log = logging.getLogger("veracity.server")


class Telling:
    """What comes of one change. Outcomes may be told from any thread; made and listened to on the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._done = 0

    def waiting(self, ahead: int) -> None:
        self._tell({"kind": "waiting", "ahead": ahead})

    def outcome(self, outcome: Outcome, to_come: int | None) -> None:
        self._done += 1
        self._tell({"kind": "outcome", **outcome.model_dump(mode="json"), "done": self._done, "to_come": to_come})

    def cancelled(self, by: str) -> None:
        self._tell({"kind": "cancelled", "by": by})

    def report(self, report: IngestReport) -> None:
        self._tell({"kind": "report", **report.model_dump(mode="json")})
        self._tell(None)

    def failed(self, problem: str) -> None:
        self._tell({"kind": "failed", "problem": problem})
        self._tell(None)

    async def events(self) -> AsyncIterator[LiveEvent]:
        while (data := await self._events.get()) is not None:
            yield LiveEvent("", data)

    def _tell(self, data: dict[str, Any] | None) -> None:
        with suppress(RuntimeError):  # the loop may be gone with the server: the change goes on
            self._loop.call_soon_threadsafe(self._events.put_nowait, data)


Change = Callable[[Telling], Awaitable[IngestReport]]
_under_way: set[asyncio.Task[IngestReport]] = set()  # the loop itself would let go of them


def begin(change: Change, held: ExitStack) -> tuple[Telling, asyncio.Task[IngestReport]]:
    """What is `held`, a place in the queue above all, is let go when the change has ended."""
    telling = Telling()
    task = asyncio.create_task(_carried_out(change, telling, held))
    _under_way.add(task)
    task.add_done_callback(_ended)
    return telling, task


async def _carried_out(change: Change, telling: Telling, held: ExitStack) -> IngestReport:
    with held:
        try:
            report = await change(telling)
        except VeracityError as problem:
            telling.failed(str(problem))
            raise
        except Exception:
            log.exception("A change of the documents failed")
            telling.failed(INSIDE)
            raise
        telling.report(report)
        return report


def _ended(task: asyncio.Task[IngestReport]) -> None:
    _under_way.discard(task)
    if not task.cancelled():
        task.exception()  # was told; nobody else may ask for it
