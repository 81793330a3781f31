"""Many requests: results in order, bounded concurrency, errors where they belong."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.evaluator.requests import request
from tests.loopback import LoopbackServer, hang
from veracity import EvaluationConfig, EvaluationRequest, Evaluator
from veracity.batches import map_in_order
from veracity.errors import InputError
from veracity.testing import ScriptedCall, ScriptedLLM

JUDGED = EvaluationConfig(enabled_metrics=["Relevance", "Coverage"])


def test_results_come_in_the_order_of_the_requests() -> None:
    def judge(call: ScriptedCall) -> dict[str, Any]:
        number = int(call.prompt.split("item ")[1].split('"')[0])
        time.sleep(0.02 if number % 3 == 0 else 0)
        return {"reason": "r", "score": number}

    evaluator = Evaluator(llm=ScriptedLLM(judge))
    requests = (request(submission=f"item {number}", config=JUDGED) for number in range(20))
    results = list(evaluator.evaluate_many(requests, concurrency=5))
    assert [result.overall_score for result in results] == list(range(20))


def test_concurrency_is_limited_and_requests_are_consumed_lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veracity.batches.SET_UP_SECONDS", 0)
    active, most, drawn = 0, 0, 0
    lock = threading.Lock()

    def work(item: int) -> int:
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        time.sleep(0.1)
        with lock:
            active -= 1
        return item

    def endless() -> Iterator[int]:
        nonlocal drawn
        for number in itertools.count():
            drawn += 1
            yield number

    results = list(itertools.islice(map_in_order(work, endless(), 3), 12))
    assert results == list(range(12))
    assert most == 3
    assert drawn <= 12 + 6


def test_the_metrics_of_one_request_still_run_in_sequence() -> None:
    """B12."""
    order: dict[str, list[str]] = {}

    def judge(call: ScriptedCall) -> dict[str, Any]:
        item = call.prompt.split("item ")[1].split('"')[0]
        order.setdefault(item, []).append("Relevance" if "relevance" in call.instructions else "Coverage")
        return {"reason": "r", "score": 1}

    evaluator = Evaluator(llm=ScriptedLLM(judge))
    list(evaluator.evaluate_many((request(submission=f"item {n}", config=JUDGED) for n in range(8)), concurrency=4))
    assert all(names == ["Relevance", "Coverage"] for names in order.values())


def test_the_first_error_is_raised() -> None:
    requests = [request(), request(submission=" "), request()]
    results = Evaluator().evaluate_many(requests, concurrency=1)
    assert next(results).overall_score == 100
    with pytest.raises(InputError):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


def test_errors_can_be_returned() -> None:
    requests: list[EvaluationRequest] = [request(), request(submission=" "), request()]
    first, second, third = Evaluator().evaluate_many(requests, return_errors=True)
    assert isinstance(second, InputError)
    assert not isinstance(first, Exception) and not isinstance(third, Exception)


def test_an_error_of_the_source_follows_the_results_before_it() -> None:
    def source() -> Iterator[EvaluationRequest]:
        yield from (request(), request())
        raise OSError("the file ended")

    results = Evaluator().evaluate_many(source(), concurrency=4)
    assert [next(results).overall_score, next(results).overall_score] == [100, 100]
    with pytest.raises(OSError, match="the file ended"):
        next(results)


def test_without_requests_there_are_no_results() -> None:
    assert list(Evaluator().evaluate_many([])) == []


@pytest.mark.parametrize("concurrency", [0, -1, 2.5, "4"])
def test_concurrency_is_checked_at_once(concurrency: Any) -> None:
    with pytest.raises(InputError, match="concurrency"):
        Evaluator().evaluate_many([], concurrency=concurrency)


PROGRAM = """
from veracity import EvaluationRequest, Evaluator
requests = (EvaluationRequest(user_query="Q", submission="An answer.", team_id="t") for _ in range(9))
list(Evaluator().evaluate_many(requests, concurrency=3))
"""


def test_an_interrupt_ends_it_while_a_model_hangs(server: LoopbackServer) -> None:
    server.respond_with(hang(120))
    environment = {**os.environ, "VERACITY_MODELS__JUDGE": "openai-chat:m"}
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], env=environment, stderr=subprocess.PIPE)
    while len(server.requests) < 3 and program.poll() is None:
        time.sleep(0.02)
    program.send_signal(signal.SIGINT)
    started = time.monotonic()
    program.communicate(timeout=60)
    assert program.returncode != 0
    assert time.monotonic() - started < 20
