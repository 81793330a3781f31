"""Ctrl-C while a run is in progress: the first stops it, which ends a model call at once and other steps soon.

A later one leaves the step to itself. One that follows at once is ignored, since it would disturb the first.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from veracity.cli.ui.console import error_console, plain

IGNORE_SECONDS = 2.0


@contextmanager
def interruptible(status: Any) -> Iterator[None]:
    """Handle SIGINT inside the block. `status` displays that the run is stopping. A no-op without a terminal."""
    if not error_console.is_terminal or threading.current_thread() is not threading.main_thread():
        yield
        return

    ignored_until = 0.0

    def stop(*_: object) -> None:
        nonlocal ignored_until
        ignored_until = time.monotonic() + IGNORE_SECONDS
        status.update(plain("Stopping … (Ctrl-C again: at once)"))
        signal.signal(signal.SIGINT, stop_at_once)
        raise KeyboardInterrupt

    def stop_at_once(*_: object) -> None:
        if time.monotonic() < ignored_until:
            return
        # The abandoned step would log an error when the process ends before it.
        logging.getLogger("concurrent.futures").setLevel(logging.CRITICAL)
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
