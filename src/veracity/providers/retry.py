"""Calls a provider again when that may help: at most 1 + MAX_RETRIES calls, all within the deadline.

Knows nothing about what is asked.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from typing import TypeVar

from veracity.errors import ModelError
from veracity.settings import LLMSettings

MAX_RETRIES = 3
LONGEST_PAUSE = 30.0

T = TypeVar("T")


def retried(call: Callable[[float], T], settings: LLMSettings, end: float) -> T:
    """`call` is told how many seconds it may take. `end` is the deadline, as `time.monotonic` counts."""
    for attempt in itertools.count(1):
        try:
            return call(min(settings.call_timeout, max(0.0, end - time.monotonic())))
        except ModelError as problem:
            failure = problem.with_traceback(None)  # which leads to the caller and would keep it alive
        time.sleep(_pause(failure, attempt, settings.backoff, end))
    raise AssertionError("the last attempt returns or raises")


def _pause(failure: ModelError, attempt: int, first: float, end: float) -> float:
    """Seconds before the next attempt, at least as many as the provider asks for; raise where none can follow."""
    backoff: float = min(LONGEST_PAUSE, first * 2 ** (attempt - 1))
    pause = (failure.retry_after or 0.0) + backoff * random.uniform(0.5, 1.0)
    if not failure.retryable or attempt > MAX_RETRIES or time.monotonic() + pause >= end:
        raise failure
    return pause
