"""A run that is interrupted, left or stopped while a model is asked: the call ends at once and disconnects."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.campaigns.servers import ModelServer, environment

from tests.runs.scripts import DOCUMENTS, QUESTION
from veracity import EvaluationRequest, Evaluator, Veracity
from veracity.deadlines import Deadline, Stop
from veracity.errors import LostLeaseError, ShutdownError, Stopped
from veracity.runs.interrupts import stopping_on_interrupt
from veracity.settings import Settings
from veracity.workers import Workers

SECONDS = 20.0  # on a busy machine; alone it takes milliseconds
SETTINGS = {"models": {"writer": "openai-chat:writer", "reviewer": "openai-chat:reviewer", "embedder": "none"}}


class Holding(ModelServer):
    """Never answers the role; `asked` and `left` tell when it was asked and when its client disconnected."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.left = threading.Event(), threading.Event()
        self.on_asked: Callable[[], object] = lambda: None
        self.holds = True

    def _respond(self, peer: socket.socket, request: dict[str, Any]) -> None:
        if request["model"] != self.role or not self.holds:
            super()._respond(peer, {**request, "model": ""} if not self.holds else request)
            return
        self.asked.set()
        threading.Timer(0.1, self.on_asked).start()
        if not peer.recv(1):
            self.left.set()


@pytest.fixture
def server() -> Iterator[Holding]:
    with Holding() as made, environment(made.url):
        made.role = "writer"
        yield made


@pytest.fixture
def engine(server: Holding, tmp_path: Path) -> Iterator[Veracity]:
    with Veracity(tmp_path, settings=Settings.model_validate(SETTINGS)) as made:
        made.add(DOCUMENTS)
        made.prepare()
        yield made


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_a_question(engine: Veracity, server: Holding) -> None:
    server.on_asked = interrupt
    begin, handler = time.monotonic(), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        engine.ask(QUESTION)
    assert time.monotonic() - begin < 60 and server.left.wait(SECONDS)
    assert signal.getsignal(signal.SIGINT) is handler
    assert engine.runs(1)[0].status == "failed"


@pytest.mark.parametrize("role", ["writer", "reviewer"])
def test_ctrl_c_ends_a_stream(engine: Veracity, server: Holding, role: str) -> None:
    server.on_asked, server.role = interrupt, role
    with pytest.raises(KeyboardInterrupt):
        list(engine.stream(QUESTION, drafts=True))
    assert server.left.wait(SECONDS)


def test_ctrl_c_ends_an_evaluation(server: Holding, monkeypatch: pytest.MonkeyPatch) -> None:
    server.on_asked, server.role = interrupt, "judge"
    monkeypatch.setenv("VERACITY_MODELS__JUDGE", "openai-chat:judge")
    evaluator = Evaluator()
    with pytest.raises(KeyboardInterrupt):
        evaluator.evaluate(EvaluationRequest(user_query="Why?", submission="So.", team_id="t"))
    assert server.left.wait(SECONDS)
    evaluator.close()


def test_closing_a_stream_ends_the_call(engine: Veracity, server: Holding) -> None:
    events = engine.stream(QUESTION, drafts=True)
    next(event for event in events if event.name == "generate_answer")
    assert server.asked.wait(60)
    begin = time.monotonic()
    events.close()  # type: ignore[attr-defined]
    assert server.left.wait(SECONDS) and time.monotonic() - begin < 60


def test_stopping_a_run_ends_its_call(engine: Veracity, server: Holding) -> None:
    run_id = engine.begin(QUESTION)
    server.on_asked = lambda: engine.stop(run_id)
    with pytest.raises(LostLeaseError):
        list(engine.resume(run_id))
    assert server.left.wait(SECONDS)
    assert engine.runs(1)[0].status == "failed"


@pytest.mark.parametrize("role", ["writer", "reviewer"])
def test_shutdown_ends_the_call_and_another_process_resumes(server: Holding, tmp_path: Path, role: str) -> None:
    """The interrupted step has no result, so it is repeated."""
    server.role = role
    settings = Settings.model_validate(SETTINGS)
    with Veracity(tmp_path, settings=settings) as first:
        first.add(DOCUMENTS)
        server.on_asked = first.leave
        with pytest.raises(ShutdownError):
            first.ask(QUESTION)
    assert server.left.wait(SECONDS)
    server.holds = False
    with Veracity(tmp_path, settings=settings) as second:
        assert [answer.review.outcome for answer in second.recover() if answer.review] == ["passed"]


def test_handler_that_does_not_raise_stops_nothing() -> None:
    """It may want the run to finish first."""
    stop, seen = Stop(), list[int]()
    previous = signal.signal(signal.SIGINT, lambda number, _: seen.append(number))
    try:
        with stopping_on_interrupt(stop):
            interrupt()
            time.sleep(0.05)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert seen == [signal.SIGINT] and not stop.is_set


class TestStop:
    def test_ends_a_wait_for_a_future(self) -> None:
        stop, workers, released = Stop(), Workers(1, "test"), threading.Event()
        threading.Timer(0.05, stop.set).start()
        with pytest.raises(Stopped):
            Deadline(stop=stop).wait_for(workers.submit(lambda _: released.wait(60)))
        released.set()
        workers.close()

    def test_ends_a_pause(self) -> None:
        stop = Stop()
        threading.Timer(0.05, stop.set).start()
        with pytest.raises(Stopped):
            stop.sleep(60)

    def test_is_kept_by_derived_deadlines(self) -> None:
        stop = Stop()
        assert Deadline.within(5, stop).capped_at(1).stop is stop

    def test_calls_back_once_the_block_is_entered_or_it_is_set(self) -> None:
        stop, called = Stop(), list[int]()
        with stop.calling(lambda: called.append(1)):
            stop.set()
        with stop.calling(lambda: called.append(2)):
            pass
        stop.set()
        assert called == [1, 2]
