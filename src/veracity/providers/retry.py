"""Retries calls to providers: backoff with jitter, Retry-After, and an overall deadline."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable
from typing import TypeVar

from veracity.deadlines import Deadline
from veracity.errors import BudgetError, ModelError, ModelTimeoutError

MAX_RETRIES = 3
MAX_BACKOFF_SECONDS = 30.0

T = TypeVar("T")


class NotSentError(ModelTimeoutError):
    """The deadline passed before the call was sent."""

    retryable = False


def retry(
    call: Callable[[], T],
    *,
    backoff: float,
    deadline: Deadline,
    max_retries: int = MAX_RETRIES,
    deadline_name: str = "llm.deadline",
) -> T:
    """Calls until it succeeds, at most 1 + `max_retries` times.

    Raises the last ModelError, with the number of calls, if it is not retryable or no retry fits before the deadline.
    BudgetError and other errors pass through unchanged.
    """
    for attempt in itertools.count(1):
        try:
            return call()
        except BudgetError:
            raise
        except ModelError as problem:
            failure = problem.with_traceback(None)  # the traceback would keep the caller alive
        deadline.stop.sleep(_pause_or_raise(failure, attempt, max_retries, backoff, deadline, deadline_name))
    raise AssertionError("the last attempt returns or raises")


def _pause_or_raise(
    failure: ModelError, attempt: int, max_retries: int, backoff: float, deadline: Deadline, deadline_name: str
) -> float:
    """Seconds before the next attempt: the provider's Retry-After plus the backoff."""
    calls = attempt - isinstance(failure, NotSentError)
    left = deadline.left
    remaining = f"{deadline_name} leaves {left:.0f} s"
    if not failure.retryable or attempt > max_retries:
        limit = "the limit of a call is llm.call_timeout" if left > 0 else remaining
        raise _with_calls(failure, calls, limit if type(failure) is ModelTimeoutError else "")
    requested = failure.retry_after or 0.0
    pause: float = requested + min(MAX_BACKOFF_SECONDS, backoff * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
    if pause >= left:
        reason = f"the provider asks to wait {requested:.0f} s" if requested >= left > 0 else "no time for a retry"
        raise _with_calls(failure, calls, f"{reason}, {remaining}")
    return pause


def _with_calls(failure: ModelError, calls: int, reason: str) -> ModelError:
    """A copy of the error whose message includes the number of calls and why there was no further attempt."""
    tail = f"{calls} call{'' if calls == 1 else 's'} made" + (f"; {reason}" if reason else "")
    error = copy.copy(failure)
    error.args = (f"{str(failure).rstrip('.')} ({tail}).",)
    return error
