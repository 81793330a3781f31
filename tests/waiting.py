"""Waits for what another thread or process does."""

import time
from collections.abc import Callable

# Settings in seconds, longer than the defaults, so that a slow machine gives the same answers.
PATIENT = {"quality": {"loop_deadline": 300.0}, "web": {"deadline": 300.0, "page_seconds": 100.0}}


def until(is_so: Callable[[], bool], seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
