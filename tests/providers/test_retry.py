"""The retry loop, with a fake clock (SPEC B9)."""

import re
from collections.abc import Callable

import pytest

from veracity.deadlines import Deadline
from veracity.errors import (
    BudgetError,
    ConfigurationError,
    ModelAccessError,
    ModelError,
    ModelTimeoutError,
    ModelUnreachableError,
)
from veracity.providers.retry import MAX_BACKOFF_SECONDS, MAX_RETRIES, NotSentError, retry


class Clock:
    """Time passes only while someone sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def deadline(self, seconds: float = 1000) -> Deadline:
        return Deadline(self.now + seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("veracity.deadlines.time.monotonic", lambda: made.now)
    monkeypatch.setattr("veracity.deadlines.Stop.sleep", lambda _, seconds: made.sleep(seconds))
    monkeypatch.setattr("veracity.providers.retry.random.uniform", lambda low, high: high)
    return made


def failing(*problems: Exception) -> Callable[[], str]:
    """Raises the problems one after another, then succeeds."""
    remaining = iter(problems)

    def call() -> str:
        for problem in remaining:
            raise problem
        return "answer"

    return call


def test_success_needs_no_retry(clock: Clock) -> None:
    assert retry(failing(), backoff=1, deadline=clock.deadline()) == "answer"
    assert clock.pauses == []


def test_pauses_double(clock: Clock) -> None:
    call = failing(*[ModelUnreachableError("away")] * MAX_RETRIES)
    assert retry(call, backoff=1, deadline=clock.deadline()) == "answer"
    assert clock.pauses == [1, 2, 4]


@pytest.mark.parametrize("max_retries", [0, 1, 5])
def test_last_error_is_raised_with_the_number_of_calls(max_retries: int, clock: Clock) -> None:
    problems = [ModelUnreachableError(f"Away {number}.", retry_after=number) for number in range(max_retries + 1)]
    with pytest.raises(ModelUnreachableError) as caught:
        retry(failing(*problems), backoff=1, deadline=clock.deadline(), max_retries=max_retries)
    calls = f"{max_retries + 1} calls made" if max_retries else "1 call made"
    assert str(caught.value) == f"Away {max_retries} ({calls})."
    assert caught.value.retry_after == max_retries and caught.value.__context__ is None
    assert len(clock.pauses) == max_retries


def test_permanent_error_is_raised_at_once(clock: Clock) -> None:
    with pytest.raises(ModelAccessError, match=r"^No key \(1 call made\)\.$"):
        retry(failing(ModelAccessError("No key.")), backoff=1, deadline=clock.deadline())
    assert clock.pauses == []


@pytest.mark.parametrize("problem", [BudgetError("spent"), ConfigurationError("no such thing"), ValueError("odd")])
def test_other_errors_pass_through_unchanged(problem: Exception, clock: Clock) -> None:
    with pytest.raises(type(problem)) as caught:
        retry(failing(problem), backoff=1, deadline=clock.deadline())
    assert caught.value is problem and str(problem) in ("spent", "no such thing", "odd")


def test_retry_after_is_added_to_the_backoff(clock: Clock) -> None:
    assert retry(failing(ModelUnreachableError("busy", retry_after=20)), backoff=1, deadline=clock.deadline(100))
    assert clock.pauses == [21]


@pytest.mark.parametrize(
    ("retry_after", "seconds", "reason"),
    [
        (20, 15, "the provider asks to wait 20 s, llm.deadline leaves 15 s"),
        (20, 21, "no time for a retry, llm.deadline leaves 21 s"),
        (None, 1, "no time for a retry, llm.deadline leaves 1 s"),
        (None, 0, "no time for a retry, llm.deadline leaves 0 s"),
    ],
)
def test_retry_stops_at_the_deadline(retry_after: float | None, seconds: float, reason: str, clock: Clock) -> None:
    call = failing(ModelUnreachableError("Busy.", retry_after=retry_after))
    with pytest.raises(ModelUnreachableError, match=re.escape(f"Busy (1 call made; {reason}).")):
        retry(call, backoff=1, deadline=clock.deadline(seconds))
    assert clock.pauses == []


def test_last_timeout_names_the_deadline(clock: Clock) -> None:
    with pytest.raises(ModelTimeoutError, match=r"\(1 call made; my deadline leaves 0 s\)\.$"):
        retry(
            failing(ModelTimeoutError("Late.")),
            backoff=1,
            deadline=clock.deadline(0),
            max_retries=0,
            deadline_name="my deadline",
        )


def test_call_that_was_not_sent_does_not_count(clock: Clock) -> None:
    call = failing(ModelUnreachableError("away"), NotSentError("Too late."))
    with pytest.raises(ModelError, match=r"^Too late \(1 call made\)\.$"):
        retry(call, backoff=1, deadline=clock.deadline())


def test_backoff_is_capped(clock: Clock) -> None:
    retry(failing(*[ModelUnreachableError("away")] * 3), backoff=60, deadline=clock.deadline())
    assert clock.pauses == [MAX_BACKOFF_SECONDS] * 3


def test_zero_backoff(clock: Clock) -> None:
    retry(failing(*[ModelUnreachableError("away")] * 3), backoff=0, deadline=clock.deadline())
    assert sum(clock.pauses) == 0


def test_pauses_have_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("veracity.deadlines.Stop.sleep", lambda _, seconds: pauses.append(seconds))
    for _ in range(20):
        retry(failing(ModelUnreachableError("away")), backoff=1, deadline=Deadline())
    assert all(0.5 <= pause <= 1 for pause in pauses)
    assert len(set(pauses)) > 1
