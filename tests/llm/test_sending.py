"""Calls on the first thread of a batch, in its event loop (DESIGN 3)."""

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from tests.llm.sample_requests import MODEL, question
from tests.loopback import LoopbackServer, after, disconnect, drip_bytes, hang, verdict
from veracity.batches import BatchWorkers, run_all
from veracity.deadlines import Deadline, Stop
from veracity.errors import ModelError, ModelTimeoutError, ModelUnreachableError, Stopped
from veracity.llm import LLM
from veracity.settings import LLMSettings
from veracity.workers import Workers, current_worker

PATIENT = LLMSettings(backoff=0.01, call_timeout=3600, deadline=3600)


@pytest.fixture
def batch() -> Iterator[BatchWorkers]:
    workers = BatchWorkers(1)
    yield workers
    workers.close()


def until(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_call_stays_on_the_thread_of_a_batch(server: LoopbackServer, batch: BatchWorkers) -> None:
    llm, other = LLM(PATIENT), LLM(PATIENT)
    server.respond_with(verdict(70))
    assert batch.submit(lambda _: llm.ask(question()).value.score).result(60) == 70
    assert batch.submit(lambda _: other.ask(question()).value.score).result(60) == 70
    models = batch.submit(lambda kept: list(kept.values())).result(10)
    assert len(models) == 2 and models[0] is not models[1], "each client has a model of its own"
    assert batch.submit(lambda _: llm.ask(question()).value.score).result(60) == 70
    assert batch.submit(lambda kept: list(kept.values())).result(10) == models
    llm.close()
    other.close()


@pytest.mark.parametrize("behaviour", [hang(600), drip_bytes(600)], ids=["hangs", "drips"])
def test_a_call_that_does_not_end_is_cancelled_at_the_deadline(
    behaviour: Any, server: LoopbackServer, batch: BatchWorkers
) -> None:
    llm = LLM(PATIENT)
    batch.submit(lambda _: llm.ask(question())).result(60)
    server.respond_with(behaviour)
    with pytest.raises(ModelTimeoutError):
        batch.submit(lambda _: llm.ask(question(), deadline=Deadline.within(0.3))).result(60)
    server.reset()
    server.respond_with(verdict(70))
    assert batch.submit(lambda _: llm.ask(question()).value.score).result(60) == 70
    llm.close()


def test_a_stopped_call_is_cancelled_and_not_the_next_one(server: LoopbackServer, batch: BatchWorkers) -> None:
    llm, stop = LLM(PATIENT), Stop()
    server.respond_with(hang(600))
    call = batch.submit(lambda _: llm.ask(question(), deadline=Deadline(stop=stop)))
    until(lambda: server.requests)
    stop.set()
    with pytest.raises(Stopped):
        call.result(60)
    stop.set()  # too late
    server.reset()
    server.respond_with(after(0.2, verdict(70)))
    assert batch.submit(lambda _: llm.ask(question()).value.score).result(60) == 70
    llm.close()


def test_a_stopped_job_is_cancelled_with_its_call(server: LoopbackServer, batch: BatchWorkers) -> None:
    llm = LLM(PATIENT)
    server.respond_with(hang(600))
    job = batch.submit(lambda _: llm.ask(question()))
    until(lambda: server.requests)
    job.stop()
    with pytest.raises(Stopped):
        job.result(60)
    llm.close()


def test_retries_are_as_on_other_threads(server: LoopbackServer, batch: BatchWorkers) -> None:
    llm = LLM(PATIENT)
    server.respond_with(disconnect, verdict(70))
    assert batch.submit(lambda _: llm.ask(question()).value.score).result(60) == 70
    server.respond_with(disconnect)
    with pytest.raises(ModelError) as caught:
        batch.submit(lambda _: llm.ask(question(max_retries=1))).result(60)
    assert isinstance(caught.value, ModelUnreachableError) and f'"{MODEL}"' in str(caught.value)
    llm.close()


def test_the_number_of_calls_is_limited(server: LoopbackServer) -> None:
    """`llm.workers` holds for batches and other callers together."""
    llm, scores = LLM(LLMSettings(workers=2, deadline=3600)), list[float]()
    llm.ask(question())
    server.respond_with(after(0.1, verdict(70)))
    others = [threading.Thread(target=lambda: scores.append(llm.ask(question()).value.score)) for _ in range(4)]
    for thread in others:
        thread.start()
    run_all(lambda _: scores.append(llm.ask(question()).value.score), range(20), 1)
    for thread in others:
        thread.join(60)
    assert scores == [70.0] * 24 and server.max_concurrent_requests <= 2
    llm.close()


def test_a_call_that_waits_for_its_turn_is_not_sent_once_it_is_stopped(
    server: LoopbackServer, batch: BatchWorkers
) -> None:
    llm, stop = LLM(LLMSettings(workers=1, deadline=3600)), Stop()
    server.respond_with(hang(600))
    calls = list[Future[Any]]()
    with ThreadPoolExecutor(1) as other:
        calls.append(other.submit(llm.ask, question(), deadline=Deadline(stop=stop)))
        until(lambda: server.requests)
        calls.append(batch.submit(lambda _: llm.ask(question(), deadline=Deadline(stop=stop))))
        stop.set()
        for call in calls:
            with pytest.raises(Stopped):
                call.result(60)
    assert len(server.requests) == 1
    llm.close()


def test_only_the_first_thread_of_a_batch_makes_calls(batch: BatchWorkers) -> None:
    async def inside() -> object:
        return current_worker()

    assert current_worker() is None
    assert batch.submit(lambda _: current_worker()).result(10) is not None
    assert batch.submit(lambda _: asyncio.get_event_loop().run_until_complete(inside())).result(10) is None
    others = Workers(1, "others")
    assert others.submit(lambda _: current_worker()).result(10) is None
    others.close()


def test_a_job_that_runs_an_event_loop_of_its_own_changes_nothing(server: LoopbackServer, batch: BatchWorkers) -> None:
    llm = LLM(PATIENT)

    def job(deadline: Deadline) -> float:
        asyncio.run(asyncio.sleep(0))
        return llm.ask(question(), deadline=deadline).value.score

    server.respond_with(verdict(70))
    for _ in range(3):
        assert batch.submit(lambda _: job(Deadline.within(600))).result(60) == 70
    server.respond_with(hang(600))
    with pytest.raises(ModelTimeoutError):
        batch.submit(lambda _: job(Deadline.within(0.3))).result(60)
    llm.close()


def test_a_call_that_waits_for_its_turn_can_be_stopped(server: LoopbackServer, batch: BatchWorkers) -> None:
    llm, stop = LLM(LLMSettings(workers=1, deadline=3600)), Stop()
    server.respond_with(after(600, verdict(70)))
    with ThreadPoolExecutor(1) as other:
        first = other.submit(llm.ask, question())
        until(lambda: server.requests)
        second = batch.submit(lambda _: llm.ask(question(), deadline=Deadline(stop=stop)))
        stop.set()
        with pytest.raises(Stopped):
            second.result(60)
        server.reset()  # and with that it answers
        first.result(60)
    llm.close()
