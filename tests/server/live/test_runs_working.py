"""What follows from decisions waits for nobody who asks, and what goes wrong on the way loses no run."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.runs.websites import SearchServer
from tests.server.conftest import MakeEngine, Serve, Served
from tests.server.events import events_of
from veracity.errors import MissingKeyError
from veracity.ledger import database
from veracity.models import RunEvent
from veracity.runs.endings import Endings
from veracity.server.live import runs as runs_module
from veracity.server.live.runs import Sweep
from veracity.testing import ScriptedCall, ScriptedLLM


class Gate:
    """A writer that, once it `holds`, waits until it is let go."""

    def __init__(self) -> None:
        self.holds = False
        self.asked = threading.Semaphore(0)
        self.goes_on = threading.Event()

    def __call__(self, call: ScriptedCall) -> str:
        if self.holds:
            self.asked.release()
            assert self.goes_on.wait(30)
        return GOOD


def low(writer: Any = GOOD) -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=writer, reviewer=PASS, judge=judged(40))


def waiting(served: Served) -> dict[str, Any]:
    """A draft that waits for a person."""
    answer: dict[str, Any] = served.client().post("/api/ask", json={"question": QUESTION}).json()
    assert answer["status"] == "awaiting_approval"
    return answer


def decide(served: Served, answer: dict[str, Any], verdict: str) -> Any:
    return served.client().post(f"/api/approvals/{answer['approval_id']}/decision", json={"verdict": verdict})


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def status(served: Served, answer: dict[str, Any]) -> str:
    return served.engine.standing(answer["run_id"]).status


def test_an_approval_goes_out_whatever_is_asked_and_rejected(
    serve: Serve, gated: MakeEngine, website: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "SWEEP", 0.1)
    website.finds("Full-time staff have 25 days of paid annual leave a year, by law.")
    gate = Gate()
    served = serve(gated(low(gate), web=website.settings, server={"runs": 1}))
    first, second, here, elsewhere = (waiting(served) for _ in range(4))
    gate.holds = True
    with ThreadPoolExecutor() as others:
        try:
            decide(served, first, "reject")
            decide(served, second, "reject")
            others.submit(waiting, served)
            assert all(gate.asked.acquire(timeout=20) for _ in range(3))
            assert decide(served, here, "approve").json()["state"] == "approved"
            died = gated(low())  # it decides, and does nothing of what follows
            died.stream_decision(elsewhere["approval_id"], "approve")
            for answer in (here, elsewhere):
                events = events_of(served.client(), f"/api/runs/{answer['run_id']}/events?after=99.9")
                assert events[-1].data["answer"]["status"] == "answered"
        finally:
            gate.goes_on.set()


def test_what_was_decided_elsewhere_does_not_wait_any_more_for_who_follows_it(
    serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though this process remembers how it waited, and nobody has taken it up yet."""
    monkeypatch.setattr(runs_module, "SWEEP", 1.0)
    served = serve(gated(low()))
    answer = waiting(served)
    gated(low()).stream_decision(answer["approval_id"], "approve")
    assert status(served, answer) == "running"
    events = events_of(served.client(), f"/api/runs/{answer['run_id']}/events")
    assert [event.data["answer"]["status"] for event in events if event.kind == "answer"] == ["answered"]


def test_it_is_so_also_while_the_process_that_wrote_the_draft_is_at_it_still(
    serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has said its last word, and delivers observations, for which it may have to wait."""
    delivered, deliver = threading.Event(), Endings.deliver

    def late(endings: Endings) -> None:
        assert delivered.wait(30)
        deliver(endings)

    served = serve(gated(low()))
    other = gated(low())
    other.prepare()
    monkeypatch.setattr(Endings, "deliver", late)
    try:
        answer = waiting(served)
        other.stream_decision(answer["approval_id"], "approve")
        with ThreadPoolExecutor() as reading:
            follows = reading.submit(events_of, served.client(), f"/api/runs/{answer['run_id']}/events")
            time.sleep(0.5)  # it is not told that the draft waits
            assert not follows.done()
            delivered.set()
            decide(served, answer, "approve")
            assert follows.result().pop().data["answer"]["status"] == "answered"
    finally:
        delivered.set()


@pytest.mark.parametrize("what", ["conversation", "document"])
def test_what_was_forgotten_elsewhere_is_not_told_from_memory(serve: Serve, engine_with: MakeEngine, what: str) -> None:
    served = serve(engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)))
    asked = {"question": QUESTION, "conversation": "c"}
    answer = served.client().post("/api/ask", json=asked).json()
    other = engine_with()
    if what == "conversation":
        other.forget_conversation("c")
    else:
        other.forget(answer["evidence"][0]["document_id"])
    told = events_of(served.client(), f"/api/runs/{answer['run_id']}/events")[-1].data["answer"]
    assert GOOD not in str(told)


def test_who_follows_a_run_learns_that_it_was_stopped_at_another_server(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a model is at it or it waits for its turn."""
    monkeypatch.setattr(runs_module, "SWEEP", 0.1)
    gate = Gate()
    gate.holds = True
    served = serve(engine_with(ScriptedLLM.by_role(writer=gate, reviewer=PASS), server={"runs": 1}))
    asked: dict[str, Any] = {"method": "POST", "json": {"question": QUESTION}}
    with ThreadPoolExecutor() as asking:
        try:
            first = asking.submit(events_of, served.client(), "/api/ask", **asked)
            assert gate.asked.acquire(timeout=20)
            second = asking.submit(events_of, served.client(), "/api/ask", **asked)
            until(lambda: len(served.engine.runs()) == 2)
            other = engine_with()
            for run in other.runs():
                other.stop(run.run_id, by="ann")
            for followed in (first, second):
                assert followed.result(20)[-1].data["problem"] == "Stopped by ann."
        finally:
            gate.goes_on.set()


def test_a_question_that_is_stopped_while_it_waits_leaves_its_place_at_once(
    serve: Serve, engine_with: MakeEngine
) -> None:
    gate = Gate()
    gate.holds = True
    served = serve(engine_with(ScriptedLLM.by_role(writer=gate, reviewer=PASS), server={"runs": 1}))
    live, client = served.app.state.live, served.client()
    with ThreadPoolExecutor() as asking:
        try:
            asks = [asking.submit(client.post, "/api/ask", json={"question": QUESTION}) for _ in range(3)]
            assert gate.asked.acquire(timeout=20)
            until(lambda: live.waiting == 2)
            queued = [run.run_id for run in served.engine.runs() if not served.engine.progress(run.run_id).steps]
            assert [client.post(f"/api/runs/{run_id}/stop").json()["status"] for run_id in queued] == ["failed"] * 2
            assert live.waiting == 0
            assert not set(queued) & (set(live._working.stretches) | set(served.engine._runs._begun))
        finally:
            gate.goes_on.set()
        assert sorted(one.result().status_code for one in asks) == [200, 502, 502]


def test_one_run_that_cannot_be_read_keeps_no_other_from_being_taken_up(
    serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (gated(low()).ask(QUESTION) for _ in range(2))
    for answer in (first, second):
        gated(low()).stream_decision(answer.approval_id, "approve")
    engine = gated(low())
    approval = engine.approval

    def damaged(run_id: str) -> Any:
        if run_id == first.run_id:
            raise ValueError("the draft is damaged")
        return approval(run_id)

    monkeypatch.setattr(engine, "approval", damaged)
    monkeypatch.setattr(runs_module, "SWEEP", 0.1)
    served = serve(engine)
    until(lambda: served.engine.standing(second.run_id).status == "answered")


def test_the_pause_doubles_however_long_an_attempt_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is at it, the run is not among those that were left."""

    class Left:
        runs: ClassVar = ["r"]

        def interrupted(self) -> list[str]:
            return list(self.runs)

    monkeypatch.setattr(runs_module, "SWEEP", 1.0)
    sweep = Sweep(cast(Any, Left()), lambda run_id: None, lambda: None, threading.Event())
    for wait in (2.0, 4.0, 8.0):
        sweep.failed("r", "busy")
        Left.runs = []
        sweep._look()
        Left.runs = ["r"]
        assert sweep._waits["r"][0] == wait


def test_what_cannot_be_taken_up_has_not_failed_and_is_tried_again_later(
    serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as a run that was decided on, in a server that was started without the key."""
    monkeypatch.setattr(runs_module, "SWEEP", 0.05)
    served = serve(gated(low()))
    answer, tried, resume = waiting(served), list[float](), served.engine.resume

    def without_key(run_id: str, **_: Any) -> Iterator[RunEvent]:
        tried.append(time.monotonic())
        if len(tried) < 4:
            raise MissingKeyError("openai", ("OPENAI_API_KEY",), "openai:gpt-5")
        return resume(run_id, drafts=True)

    monkeypatch.setattr(served.engine, "resume", without_key)
    decide(served, answer, "approve")
    until(lambda: status(served, answer) == "answered")
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses[1] >= 0.2 and pauses[2] >= 0.4  # the first may be none: the sweep and the decision both begin it
    assert [record.message for record in caplog.records if "OPENAI_API_KEY" in record.message] == [
        f'Run {answer["run_id"]} is left for a while: The model "openai:gpt-5" needs a key of the provider "openai": '
        "set OPENAI_API_KEY in the environment."
    ]
    assert 'status="failed"' not in served.client().get("/metrics").text


def test_a_run_that_failed_is_in_the_log(
    serve: Serve, engine_with: MakeEngine, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(call: ScriptedCall) -> str:
        raise ValueError("the writer broke")

    served = serve(engine_with(ScriptedLLM.by_role(writer=breaks, reviewer=PASS)))
    events = events_of(served.client(), "/api/ask", method="POST", json={"question": QUESTION})
    assert events[-1].kind == "failed"
    assert events[0].data["run_id"] in caplog.text
    assert 'status="failed"} 1.0' in served.client().get("/metrics").text


def test_a_question_that_is_taken_in_while_the_server_is_told_to_stop_is_told_so(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(engine_with())
    begin = served.engine.begin

    def begun(*given: Any, **named: Any) -> str:
        run_id = begin(*given, **named)
        served.app.state.live.stop(grace=0)
        return run_id

    monkeypatch.setattr(served.engine, "begin", begun)
    refused = served.client().post("/api/ask", json={"question": QUESTION})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (503, "Stopping")
    assert served.app.state.live.waiting == 0


def test_who_reads_waits_for_no_decision_and_a_ledger_that_is_busy_is_told_as_that(
    serve: Serve, gated: MakeEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 3.0)
    served = serve(gated(low()))
    answer = waiting(served)
    writer = sqlite3.connect(root / "ledger" / "ledger.sqlite", isolation_level=None, check_same_thread=False)
    with ThreadPoolExecutor() as others:
        writer.execute("BEGIN IMMEDIATE")
        deciding = [others.submit(decide, served, answer, "approve") for _ in range(4)]
        until(lambda: served.app.state.reserved.borrowed_tokens == 4)
        assert served.client().get("/api/me").status_code == 200
        assert served.app.state.reserved.borrowed_tokens >= 1
        refused = deciding[0].result(20)
        writer.execute("ROLLBACK")
    writer.close()
    assert (refused.status_code, refused.json()["error"]["kind"]) == (503, "BusyLedgerError")
    assert int(refused.headers["retry-after"]) > 0
