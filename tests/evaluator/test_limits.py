"""How long an evaluation takes: in proportion to the texts, until its deadline, or until it is stopped."""

import cProfile
import pstats
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.evaluator.requests import request
from tests.loopback import Handler, LoopbackServer, drip_bytes, verdict
from veracity import EvaluationConfig, EvaluationRequest, Evaluator
from veracity.deadlines import Deadline, Stop
from veracity.errors import EvaluationError, OutOfTimeError, Stopped
from veracity.evaluator import scoring
from veracity.settings import Settings

TEXTS = {  # a sentence of the answer, and of its context
    "repeated": ("It lasts 24 months. ", "The warranty lasts 24 months. "),
    "en": ("Product {n} lasts {m} months [1]. ", "The warranty of product {n} lasts {k} months. "),
    "zh": ("产品{n}的期限是{m}个月[1]。", "产品{n}的保修期限为{k}个月。"),
    "ja": ("製品{n}は{m}か月です[1]。", "製品{n}の保証期間は{k}か月です。"),
}
SHORT, LONG = 4000, 16_000  # characters


def fill(sentence: str, length: int) -> str:
    first = 10 * length  # so that texts of different lengths share no sentence that could be cached
    numbers = range(first, first + length // len(sentence))
    return "".join(sentence.format(n=n, m=n % 40, k=n % 37) for n in numbers)


def long_request(name: str, length: int) -> EvaluationRequest:
    answer, context = (fill(sentence, length) for sentence in TEXTS[name])
    return request(user_query="How long is the warranty in Dublin?", submission=answer, context=[context])


def count_calls(work: Callable[[], object]) -> int:
    """The number of function calls: unlike the time, it is the same on every machine."""
    with cProfile.Profile() as profile:
        work()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", TEXTS)
def test_the_work_grows_in_proportion_to_the_texts(name: str) -> None:
    evaluator = Evaluator()
    evaluator.evaluate(request())
    short = count_calls(lambda: evaluator.evaluate(long_request(name, SHORT)))
    long = count_calls(lambda: evaluator.evaluate(long_request(name, LONG)))
    assert long / short < 1.2 * LONG / SHORT


def test_the_deadline_ends_local_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "LOCAL_SECONDS", 0.0)
    evaluator = Evaluator(settings=Settings.model_validate({"evaluator": {"deadline": 1e-6}}))
    with pytest.raises(
        EvaluationError, match=r'"Groundedness" failed: It took longer than evaluator\.deadline'
    ) as failed:
        evaluator.evaluate(request())
    assert isinstance(failed.value.cause, OutOfTimeError)


def test_a_late_run_is_scored_by_local_metrics_all_the_same() -> None:
    assert Evaluator().evaluate(request(), deadline=Deadline.within(-1)).overall_score == 100


class StopLater(Stop):
    """Is set when it is checked for the `limit`-th time."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.checks, self._limit = 0, limit

    def check(self) -> None:
        self.checks += 1
        if self.checks == self._limit:
            self.set()
        super().check()


@pytest.mark.parametrize("name", TEXTS)
def test_local_metrics_stop_between_two_sentences(name: str) -> None:
    sentences = SHORT // max(map(len, TEXTS[name]))
    for limit in (1, sentences // 2, sentences):
        stop = StopLater(limit)
        with pytest.raises(Stopped):
            Evaluator().evaluate(long_request(name, SHORT + limit), stop=stop)
        assert stop.checks == limit


def test_calls_under_way_end_when_the_iteration_is_left(server: LoopbackServer) -> None:
    """As after an error or Ctrl-C."""
    endless = drip_bytes(600, every=0.05)

    def respond(handler: Handler, body: dict[str, Any]) -> None:
        (verdict() if "item 0" in str(body) else endless)(handler, body)

    server.respond_with(respond)
    evaluator = Evaluator(settings=Settings.model_validate({"models": {"judge": "openai-chat:m"}}))
    judged = EvaluationConfig(enabled_metrics=["Relevance"])
    requests = [request(submission=f"item {number}", config=judged) for number in range(3)]
    results = evaluator.evaluate_many(requests, concurrency=3)
    assert next(results).overall_score == 80
    end = time.monotonic() + 30
    while len(server.requests) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    assert server.active_requests == 2
    results.close()  # type: ignore[attr-defined]
    while server.active_requests and time.monotonic() < end:
        time.sleep(0.01)
    assert server.active_requests == 0
