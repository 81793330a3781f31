"""Where a process may be killed: before and after everything that leaves a trace on the disk.

Wraps the methods that write, in this whole process, and kills it at the boundary it was told. Knows nothing about what
they write.
"""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections.abc import Callable
from io import FileIO
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from sqlalchemy import Engine, event

from veracity.ledger import Ledger, Observations, observations

LEDGER = (
    "begin",
    "record",
    "keep_evidence",
    "keep_summary",
    "suspend",
    "decide",
    "take_over",
    "finish",
    "deliver",
)
CHECKPOINTS = ("put", "put_writes", "delete_thread")
HALF_WRITTEN = "observation half written"


class Boundaries:
    """`die_at` is the boundary to die at, when it is reached for the `time`-th time; without a name the process lives.
    `note` is told of each, before it may be the last."""

    def __init__(self, die_at: str, time: int, note: Callable[[str], None]) -> None:
        self._die_at = die_at
        self._left = time
        self._note = note
        self._passing = threading.Lock()  # checkpoints are written on other threads

    def reach(self, name: str) -> None:
        with self._passing:
            self._note(name)
            self._left -= name == self._die_at
            if name == self._die_at and not self._left:
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)  # the kernel may take a moment

    def watch(self) -> None:
        for owner, names in ((Ledger, LEDGER), (SqliteSaver, CHECKPOINTS), (Observations, ("append",))):
            for name in names:
                setattr(owner, name, self._watched(f"{owner.__name__}.{name}", getattr(owner, name)))
        observations._write_or_undo = self._write_in_halves
        event.listen(Engine, "commit", lambda _: self.reach("before a commit"))

    def _watched(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def between(*given: Any, **named: Any) -> Any:
            self.reach(f"before {name}")
            result = method(*given, **named)
            self.reach(f"after {name}")
            return result

        return between

    def _write_in_halves(self, file: FileIO, content: bytes) -> None:
        file.write(content[: len(content) // 2])
        self.reach(HALF_WRITTEN)
        file.write(content[len(content) // 2 :])
        os.fsync(file.fileno())
