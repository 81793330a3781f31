"""Ctrl-C while the graph runs a step: the step ends first, since LangGraph waits for it before it lets go."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from veracity.deadlines import Stop

Handler = Callable[[int, FrameType | None], Any]


@contextmanager
def stopping_on_interrupt(stop: Stop) -> Iterator[None]:
    """Set `stop` if the program's own handler of SIGINT raises inside the block, as Python's does.

    Signals arrive on the main thread, so elsewhere this does nothing.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    wrapped = _wrap(handler, stop)
    signal.signal(signal.SIGINT, wrapped)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is wrapped:  # the program's handler may have installed another one
            signal.signal(signal.SIGINT, handler)


def _wrap(handler: Handler, stop: Stop) -> Handler:
    def handle(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException:
            # On a thread of its own: this one may have been interrupted while it held a lock that `set` needs. Not with
            # `threading.Thread`, whose `start` takes a lock, too.
            _thread.start_new_thread(stop.set, ())
            raise

    return handle
