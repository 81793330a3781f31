"""Looks for runs that were left, by a process that died or decided on and not carried out: at the start, and then every
few seconds. Knows nothing about how they are taken up.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from veracity.engine import Veracity
from veracity.errors import VeracityError

log = logging.getLogger("veracity.server")

SWEEP = 5.0  # seconds between two looks
LONGEST = 300.0  # seconds until what cannot be taken up is tried again


class Sweep:
    """Until `stopping` is set. What fails is tried again, after twice as long each time."""

    def __init__(
        self, engine: Veracity, take_up: Callable[[str], None], also: Callable[[], None], stopping: threading.Event
    ) -> None:
        """`also` is done at every look."""
        self._engine = engine
        self._take_up = take_up
        self._also = also
        self._stopping = stopping
        self._waits: dict[str, tuple[float, float]] = {}  # of runs that failed: how long, and until when

    def start(self) -> None:
        threading.Thread(target=self._sweep, name="veracity-sweep", daemon=True).start()

    def failed(self, run_id: str, problem: object) -> None:
        """From any thread: it could not be taken up, and the ledger says that it goes on."""
        if run_id not in self._waits:
            log.warning("Run %s is left for a while: %s", run_id, problem)
        wait = min(LONGEST, 2 * self._waits.get(run_id, (SWEEP, 0.0))[0])
        self._waits[run_id] = (wait, time.monotonic() + wait)

    def _sweep(self) -> None:
        while not self._stopping.is_set():
            try:
                self._look()
                self._also()
            except VeracityError as problem:
                log.warning("What was interrupted could not be looked for: %s", problem)
            except Exception:
                log.exception("The sweep failed")
            self._stopping.wait(SWEEP)

    def _look(self) -> None:
        now = time.monotonic()
        for run_id, (_, until) in list(self._waits.items()):
            if until + LONGEST < now:  # it has not failed since
                del self._waits[run_id]
        for run_id in self._engine.interrupted():
            if self._waits.get(run_id, (0.0, 0.0))[1] <= now:
                try:
                    self._take_up(run_id)
                except Exception as problem:  # noqa: BLE001 - one bad run must not keep all others from being taken up
                    self.failed(run_id, problem)
