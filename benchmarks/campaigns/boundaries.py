"""Kill points: before and after every write to the disk.

Patches the methods that write, for the whole process, and kills the process at a given boundary.
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
from veracity.ledger.inbox import Inbox

LEDGER = (
    "begin",
    "record",
    "keep_evidence",
    "keep_summary",
    "suspend",
    "decide",
    "acquire_lease",
    "finish",
    "fail",
    "deliver",
)
INBOX = ("decide", "_expire", "claim_delivery", "finish_delivery")
CHECKPOINTS = ("put", "put_writes", "delete_thread")
HALF_WRITTEN = "observation half written"


class Boundaries:
    """Kills the process when it reaches the boundary `die_at` for the `nth` time; never if `die_at` is empty.

    Calls `log` with each boundary before it can kill.
    """

    def __init__(self, die_at: str, nth: int, log: Callable[[str], None]) -> None:
        self._die_at = die_at
        self._left = nth
        self._log = log
        self._lock = threading.Lock()  # checkpoints are written on other threads

    def reach(self, name: str) -> None:
        with self._lock:
            self._log(name)
            self._left -= name == self._die_at
            if name == self._die_at and not self._left:
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)  # the signal may arrive a moment later

    def install(self) -> None:
        patched = ((Ledger, LEDGER), (Inbox, INBOX), (SqliteSaver, CHECKPOINTS), (Observations, ("append",)))
        for owner, names in patched:
            for name in names:
                setattr(owner, name, self._wrap(f"{owner.__name__}.{name}", getattr(owner, name)))
        observations._write_or_undo = self._write_in_halves
        event.listen(Engine, "commit", lambda _: self.reach("before a commit"))

    def _wrap(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self.reach(f"before {name}")
            result = method(*args, **kwargs)
            self.reach(f"after {name}")
            return result

        return wrapper

    def _write_in_halves(self, file: FileIO, content: bytes) -> None:
        file.write(content[: len(content) // 2])
        self.reach(HALF_WRITTEN)
        file.write(content[len(content) // 2 :])
        os.fsync(file.fileno())
