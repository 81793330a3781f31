"""Ctrl-C while a run is in progress: the first stops it after the current step, the second at once."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from veracity.cli.ui.console import error_console, plain


@contextmanager
def interruptible(status: Any) -> Iterator[None]:
    """Handle SIGINT inside the block. `status` displays that the run is stopping. A no-op without a terminal."""
    if not error_console.is_terminal or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        status.update(plain("Stopping … (Ctrl-C again: at once)"))
        signal.signal(signal.SIGINT, stop_at_once)
        raise KeyboardInterrupt

    def stop_at_once(*_: object) -> None:
        # The abandoned step would log an error when the process ends before it.
        logging.getLogger("concurrent.futures").setLevel(logging.CRITICAL)
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
