"""Whether and when a model is asked once more."""

from __future__ import annotations

import copy
import random
import time

from veracity.errors import ModelError, ModelTimeoutError
from veracity.llm.limits import Due

LONGEST_PAUSE = 30.0


class NeverSentError(ModelTimeoutError):
    """The deadline passed before the call was made."""

    retryable = False


def pause_or_raise(failure: ModelError, attempt: int, max_retries: int, backoff: float, due: Due) -> None:
    """Wait before the next attempt, at least as long as the provider asks; raise where none can follow."""
    calls = attempt - isinstance(failure, NeverSentError)
    if not failure.retryable or attempt > max_retries:
        too_late = type(failure) is ModelTimeoutError and due.deadline.has_passed
        raise _with_calls(failure, calls, due.leaves if too_late else "")
    asked_for = failure.retry_after or 0.0
    pause = asked_for + min(LONGEST_PAUSE, backoff * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
    left = due.deadline.left
    if pause >= left:
        asks = f"the provider asks to wait {asked_for:.0f} s" if asked_for >= left > 0 else "another would be too late"
        raise _with_calls(failure, calls, f"{asks}, {due.leaves}")
    time.sleep(pause)


def _with_calls(failure: ModelError, calls: int, why: str = "") -> ModelError:
    """The same error, telling how often the model was asked."""
    tail = f"{calls} call{'' if calls == 1 else 's'} made" + (f"; {why}" if why else "")
    told = copy.copy(failure)
    told.args = (f"{str(failure).rstrip('.')} ({tail}).",)
    return told
