"""Calls are made again when that may help, within the deadline (no test waits)."""

import time
from collections.abc import Callable, Iterator

import pytest

from veracity.errors import ConfigurationError, ModelAccessError, ModelError, ModelUnreachableError
from veracity.providers.retry import LONGEST_PAUSE, MAX_RETRIES, retried
from veracity.settings import LLMSettings

SETTINGS = LLMSettings(call_timeout=10, backoff=1)


class Clock:
    """Time passes only when someone sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("veracity.providers.retry.time.monotonic", lambda: made.now)
    monkeypatch.setattr("veracity.providers.retry.time.sleep", made.sleep)
    monkeypatch.setattr("veracity.providers.retry.random.uniform", lambda low, high: high)
    return made


def failing(*problems: Exception) -> tuple[Callable[[float], str], list[float]]:
    """Raises one after another, then answers. With it, the seconds each call was given."""
    given: list[float] = []
    to_come: Iterator[Exception] = iter(problems)

    def call(seconds: float) -> str:
        given.append(seconds)
        for problem in to_come:
            raise problem
        return "answer"

    return call, given


def test_an_answer_is_taken_at_once(clock: Clock) -> None:
    call, given = failing()
    assert retried(call, SETTINGS, clock.now + 100) == "answer"
    assert (given, clock.slept) == ([10], [])


def test_pauses_double(clock: Clock) -> None:
    call, given = failing(*[ModelUnreachableError("away")] * MAX_RETRIES)
    assert retried(call, SETTINGS, clock.now + 100) == "answer"
    assert clock.slept == [1, 2, 4]
    assert given == [10] * 4


def test_after_the_last_retry_its_error_is_raised(clock: Clock) -> None:
    problems = [ModelUnreachableError(f"away {number}") for number in range(MAX_RETRIES + 1)]
    call, given = failing(*problems)
    with pytest.raises(ModelError) as caught:
        retried(call, SETTINGS, clock.now + 1000)
    assert caught.value is problems[-1]
    assert len(given) == MAX_RETRIES + 1


@pytest.mark.parametrize(
    "problem", [ModelAccessError("no key"), ConfigurationError("no such thing"), ValueError("odd")]
)
def test_what_asking_again_cannot_mend_is_raised_at_once(problem: Exception, clock: Clock) -> None:
    call, given = failing(problem)
    with pytest.raises(type(problem)) as caught:
        retried(call, SETTINGS, clock.now + 100)
    assert caught.value is problem
    assert (len(given), clock.slept) == (1, [])


def test_the_provider_is_given_the_time_it_asks_for(clock: Clock) -> None:
    call, _ = failing(ModelUnreachableError("busy", retry_after=20))
    assert retried(call, SETTINGS, clock.now + 100) == "answer"
    assert clock.slept == [21]


def test_no_pause_reaches_beyond_the_deadline(clock: Clock) -> None:
    call, given = failing(ModelUnreachableError("busy", retry_after=20))
    with pytest.raises(ModelUnreachableError, match="busy"):
        retried(call, SETTINGS, clock.now + 21)
    assert (len(given), clock.slept) == (1, [])


def test_a_call_gets_no_more_than_what_is_left(clock: Clock) -> None:
    call, given = failing(ModelUnreachableError("away"))
    assert retried(call, SETTINGS, clock.now + 4) == "answer"
    assert given == [4, 3]
    late, given = failing()
    assert retried(late, SETTINGS, clock.now - 5) == "answer"
    assert given == [0]


def test_a_pause_is_never_too_long(clock: Clock) -> None:
    call, _ = failing(*[ModelUnreachableError("away")] * 3)
    retried(call, LLMSettings(backoff=60), clock.now + 1000)
    assert clock.slept == [LONGEST_PAUSE] * 3


def test_without_backoff_nobody_waits(clock: Clock) -> None:
    call, _ = failing(*[ModelUnreachableError("away")] * 3)
    assert retried(call, LLMSettings(backoff=0), clock.now + 60) == "answer"
    assert sum(clock.slept) == 0


def test_pauses_vary_between_half_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("veracity.providers.retry.time.sleep", slept.append)
    for _ in range(20):
        call, _ = failing(ModelUnreachableError("away"))
        retried(call, SETTINGS, time.monotonic() + 100)
    assert all(0.5 <= pause <= 1 for pause in slept)
    assert len(set(slept)) > 1
