"""Runs of a server: resumed streams, decisions, recovery, limits and shutdown."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, cast

import httpx
import pytest

from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.runs.websites import SearchServer
from tests.server.conftest import TOKEN, MakeEngine, Serve, Served
from tests.server.events import Event, events_of, read_events
from tests.waiting import until
from veracity.errors import MissingKeyError
from veracity.ledger import database
from veracity.models import RunEvent, RunProgress, RunStanding
from veracity.runs.endings import Endings
from veracity.server.live import events as events_module
from veracity.server.live import runs as runs_module
from veracity.server.live.runs import RecoverySweep
from veracity.settings import Settings
from veracity.testing import ScriptedCall, ScriptedLLM


class Held:
    """A writer that blocks until `goes_on` is set."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.goes_on = threading.Event()

    def __call__(self, call: ScriptedCall) -> str:
        self.asked.set()
        assert self.goes_on.wait(60)
        return GOOD


def ask_and_leave(served: Served, until: str) -> tuple[str, list[Event]]:
    """Reads the stream until a step of this name started or finished, then disconnects."""
    seen: list[Event] = []
    with served.client().stream(
        "POST", "/api/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"}
    ) as response:
        for event in read_events(response):
            seen.append(event)
            if event.data.get("name") == until:
                break
    return seen[0].data["run_id"], seen


def end_of(stopped: Served) -> None:
    """Closes the engine like a process that ends, after the current step."""
    end = time.monotonic() + 30
    while stopped.app.state.live.running:
        assert time.monotonic() < end
        time.sleep(0.02)
    stopped.engine.close()


def named(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.kind, event.data.get("name", "")) for event in events if event.kind in ("finished", "answer")]


def test_an_interrupted_stream_resumes(serve: Serve, engine_with: MakeEngine) -> None:
    held = Held()
    served = serve(engine_with(ScriptedLLM.by_role(writer=held, reviewer=PASS)))
    run_id, seen = ask_and_leave(served, "generate_answer")
    assert held.asked.wait(30)
    threading.Timer(0.3, held.goes_on.set).start()
    rest = events_of(served.client(), f"/api/runs/{run_id}/events", headers={"Last-Event-ID": seen[-1].id})
    whole = events_of(served.client(), f"/api/runs/{run_id}/events")
    assert named(seen + rest) == named(whole)
    assert rest[-1].data["answer"]["text"] == GOOD
    assert not {event.id for event in seen} & {event.id for event in rest}


def test_another_process_resumes_a_stream_from_the_ledger(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    llm = ScriptedLLM.by_role(writer=held, reviewer=PASS)
    first, second = serve(engine_with(llm)), serve(engine_with(llm))
    run_id, seen = ask_and_leave(first, "generate_answer")
    assert held.asked.wait(30)
    looks, progress = list[str](), second.engine.progress
    glances, standing = list[int](), second.engine.standing

    def looked(run_id: str) -> RunProgress:
        looks.append(run_id)
        return progress(run_id)

    def glanced(run_id: str) -> RunStanding:
        if not held.goes_on.is_set():
            glances.append(len(looks))
        if len(glances) == 9:
            held.goes_on.set()
        return standing(run_id)

    monkeypatch.setattr(events_module, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(second.engine, "progress", looked)
    monkeypatch.setattr(second.engine, "standing", glanced)
    rest = events_of(second.client(), f"/api/runs/{run_id}/events", headers={"Last-Event-ID": seen[-1].id})
    assert glances[-1] <= 2  # steps are not read while nothing changes
    whole = events_of(first.client(), f"/api/runs/{run_id}/events")
    assert named(seen + rest) == named(whole)
    assert rest[-1].data["answer"]["text"] == GOOD


def test_the_ledger_replays_the_same_events(serve: Serve, engine_with: MakeEngine) -> None:
    first = serve(engine_with())
    events = events_of(first.client(), "/api/ask", method="POST", json={"question": QUESTION})
    run_id = events[0].data["run_id"]
    second = serve(engine_with())
    again = events_of(second.client(), f"/api/runs/{run_id}/events")
    assert named(again) == named(events)
    assert again[-1].data["answer"] == events[-1].data["answer"]
    half = events_of(second.client(), f"/api/runs/{run_id}/events?after={again[4].id}")
    assert [event.id.split(".")[0] for event in half] == [event.id.split(".")[0] for event in again[5:]]


def test_a_decision_in_another_process_can_be_followed(serve: Serve, gated: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(40))
    first, second = serve(gated(llm)), serve(gated(llm))
    events = events_of(first.client(), "/api/ask", method="POST", json={"question": QUESTION})
    answer = events[-1].data["answer"]
    assert answer["status"] == "awaiting_approval" and GOOD not in answer["text"]
    decided = second.client().post(f"/api/approvals/{answer['approval_id']}/decision", json={"verdict": "approve"})
    assert decided.json()["state"] == "approved"
    rest = events_of(first.client(), f"/api/runs/{answer['run_id']}/events", headers={"Last-Event-ID": events[-1].id})
    assert rest[-1].data["answer"]["status"] == "answered"
    assert rest[-1].data["answer"]["text"] == GOOD


def test_a_run_continues_after_the_client_disconnects(serve: Serve, engine_with: MakeEngine) -> None:
    held = Held()
    served = serve(engine_with(ScriptedLLM.by_role(writer=held, reviewer=PASS)))
    run_id, _ = ask_and_leave(served, "prepare_messages")
    held.goes_on.set()
    end = time.monotonic() + 30
    while served.client().get(f"/api/runs/{run_id}").json()["run"]["status"] == "running" and time.monotonic() < end:
        time.sleep(0.05)
    assert served.client().get(f"/api/runs/{run_id}").json()["answer"]["text"] == GOOD


def test_a_server_resumes_runs_of_a_stopped_server(serve: Serve, engine_with: MakeEngine) -> None:
    held = Held()
    stopped = serve(engine_with(ScriptedLLM.by_role(writer=held, reviewer=PASS)))
    run_id, seen = ask_and_leave(stopped, "generate_answer")
    threading.Timer(0.2, held.goes_on.set).start()
    stopped.app.state.live.stop(grace=0)
    refused = stopped.client().post("/api/ask", json={"question": QUESTION})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (503, "Stopping")
    assert int(refused.headers["retry-after"]) > 0
    end_of(stopped)
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)
    rest = events_of(
        serve(engine_with(llm)).client(), f"/api/runs/{run_id}/events", headers={"Last-Event-ID": seen[-1].id}
    )
    assert rest[-1].data["answer"]["text"] == GOOD


def test_queued_questions_survive_a_stop(serve: Serve, engine_with: MakeEngine) -> None:
    held = Held()
    stopped = serve(engine_with(ScriptedLLM.by_role(writer=held, reviewer=PASS), server={"runs": 1}))
    first, _ = ask_and_leave(stopped, "generate_answer")
    with stopped.client().stream(
        "POST", "/api/ask", json={"question": "How are receipts handed in?"}, headers={"Accept": "text/event-stream"}
    ) as response:
        queued = next(read_events(response))
    assert (queued.kind, queued.data["ahead"]) == ("queued", 0)
    threading.Timer(0.2, held.goes_on.set).start()
    stopped.app.state.live.stop(grace=0)
    end_of(stopped)
    after = serve(engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS))).client()
    for run_id in (first, queued.data["run_id"]):
        assert events_of(after, f"/api/runs/{run_id}/events")[-1].kind == "answer"


def test_too_many_questions_are_refused_with_retry_after(serve: Serve, engine_with: MakeEngine) -> None:
    held = Held()
    served = serve(engine_with(ScriptedLLM.by_role(writer=held, reviewer=PASS), server={"runs": 1, "queue": 2}))
    streams = []
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with httpx.Client(base_url=served.url, headers=headers, timeout=30, trust_env=False) as client:
        for _ in range(3):
            request = client.build_request(
                "POST", "/api/ask", json={"question": QUESTION}, headers={"Accept": "text/event-stream"}
            )
            streams.append(client.send(request, stream=True))
            assert held.asked.wait(30)
        refused = client.post("/api/ask", json={"question": QUESTION})
        held.goes_on.set()
        received = [list(read_events(item)) for item in streams]
    assert [events[-1].kind for events in received] == ["answer"] * 3
    ahead = [[event.data["ahead"] for event in events if event.kind == "queued"] for events in received]
    assert ahead == [[0], [0], [1, 0]]
    assert (refused.status_code, refused.json()["error"]["kind"]) == (429, "TooMany")
    assert int(refused.headers["retry-after"]) >= 1


def test_an_invalid_last_event_id_replays_all_events(serve: Serve, engine_with: MakeEngine) -> None:
    client = serve(engine_with()).client()
    events = events_of(client, "/api/ask", method="POST", json={"question": QUESTION})
    again = events_of(client, f"/api/runs/{events[0].data['run_id']}/events", headers={"Last-Event-ID": "gibberish"})
    assert named(again) == named(events)


class Gate:
    """A writer that, if `holds` is set, blocks until `goes_on` is set."""

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
    """A pending answer."""
    answer: dict[str, Any] = served.client().post("/api/ask", json={"question": QUESTION}).json()
    assert answer["status"] == "awaiting_approval"
    return answer


def decide(served: Served, answer: dict[str, Any], verdict: str) -> Any:
    return served.client().post(f"/api/approvals/{answer['approval_id']}/decision", json={"verdict": verdict})


def status(served: Served, answer: dict[str, Any]) -> str:
    return served.engine.standing(answer["run_id"]).status


def test_approvals_do_not_wait_for_questions_or_rejections(
    serve: Serve, gated: MakeEngine, website: SearchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "SWEEP_SECONDS", 0.1)
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
            died = gated(low())  # it decides, but does not resume the run
            died.stream_decision(elsewhere["approval_id"], "approve")
            for answer in (here, elsewhere):
                events = events_of(served.client(), f"/api/runs/{answer['run_id']}/events?after=99.9")
                assert events[-1].data["answer"]["status"] == "answered"
        finally:
            gate.goes_on.set()


def test_a_decision_in_another_process_overrides_the_log(
    serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even though the log of this process says that it waits, and no process has resumed the run yet."""
    monkeypatch.setattr(runs_module, "SWEEP_SECONDS", 1.0)
    served = serve(gated(low()))
    answer = waiting(served)
    gated(low()).stream_decision(answer["approval_id"], "approve")
    assert status(served, answer) == "running"
    events = events_of(served.client(), f"/api/runs/{answer['run_id']}/events")
    assert [event.data["answer"]["status"] for event in events if event.kind == "answer"] == ["answered"]


def test_it_does_so_while_the_drafting_process_is_still_busy(
    serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has published the answer and is still delivering observations."""
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
            time.sleep(0.5)  # the stream does not report a pending draft
            assert not follows.done()
            delivered.set()
            decide(served, answer, "approve")
            assert follows.result().pop().data["answer"]["status"] == "answered"
    finally:
        delivered.set()


@pytest.mark.parametrize("what", ["conversation", "document"])
def test_text_forgotten_by_another_process_is_not_replayed(serve: Serve, engine_with: MakeEngine, what: str) -> None:
    served = serve(engine_with(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS)))
    asked = {"question": QUESTION, "conversation": "c"}
    answer = served.client().post("/api/ask", json=asked).json()
    other = engine_with()
    if what == "conversation":
        other.forget_conversation("c")
    else:
        other.forget(answer["evidence"][0]["document_id"])
    replayed = events_of(served.client(), f"/api/runs/{answer['run_id']}/events")[-1].data["answer"]
    assert GOOD not in str(replayed)


def test_followers_see_that_another_server_stopped_the_run(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both a running and a queued run."""
    monkeypatch.setattr(runs_module, "SWEEP_SECONDS", 0.1)
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


def test_stopping_a_queued_question_frees_its_slot(serve: Serve, engine_with: MakeEngine) -> None:
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
            assert not set(queued) & (set(live._pool.logs) | set(served.engine._parts.runner._begun))
        finally:
            gate.goes_on.set()
        assert sorted(item.result().status_code for item in asks) == [200, 502, 502]


def test_a_broken_run_does_not_block_the_recovery_of_others(
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
    monkeypatch.setattr(runs_module, "SWEEP_SECONDS", 0.1)
    served = serve(engine)
    until(lambda: served.engine.standing(second.run_id).status == "answered")


def test_the_retry_delay_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is not listed as interrupted while it is being resumed."""

    class Left:
        runs: ClassVar = ["r"]
        settings: ClassVar = Settings()

        def interrupted(self) -> list[str]:
            return list(self.runs)

    monkeypatch.setattr(runs_module, "SWEEP_SECONDS", 1.0)
    sweep = RecoverySweep(cast(Any, Left()), lambda run_id: None, lambda: None, threading.Event())
    for wait in (2.0, 4.0, 8.0):
        sweep.retry_later("r", "busy")
        Left.runs = []
        sweep._sweep()
        Left.runs = ["r"]
        assert sweep._retries["r"][0] == wait


def test_a_run_that_cannot_be_resumed_is_retried_and_not_failed(
    serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """For example after a decision, on a server without the API key."""
    monkeypatch.setattr(runs_module, "SWEEP_SECONDS", 0.05)
    served = serve(gated(low()))
    answer, tried, resume = waiting(served), list[float](), served.engine.resume
    missing = MissingKeyError("openai", ("OPENAI_API_KEY",), "openai:gpt-5")

    def without_key(run_id: str, **_: Any) -> Iterator[RunEvent]:
        tried.append(time.monotonic())
        if len(tried) < 4:
            raise missing
        return resume(run_id, drafts=True)

    monkeypatch.setattr(served.engine, "resume", without_key)
    decide(served, answer, "approve")
    until(lambda: status(served, answer) == "answered")
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses[1] >= 0.2 and pauses[2] >= 0.4  # the first may be 0: the sweep and the decision both resume it
    assert [record.message for record in caplog.records if "OPENAI_API_KEY" in record.message] == [
        f"Run {answer['run_id']} could not be resumed and is retried later: {missing}"
    ]
    assert 'status="failed"' not in served.client().get("/metrics").text


def test_failed_runs_are_logged(serve: Serve, engine_with: MakeEngine, caplog: pytest.LogCaptureFixture) -> None:
    def breaks(call: ScriptedCall) -> str:
        raise ValueError("the writer broke")

    served = serve(engine_with(ScriptedLLM.by_role(writer=breaks, reviewer=PASS)))
    events = events_of(served.client(), "/api/ask", method="POST", json={"question": QUESTION})
    assert events[-1].kind == "failed"
    assert events[0].data["run_id"] in caplog.text
    assert 'status="failed"} 1.0' in served.client().get("/metrics").text


def test_a_question_accepted_during_shutdown_gets_503(
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


def test_a_busy_ledger_blocks_no_reads_and_gives_503_for_decisions(
    serve: Serve, gated: MakeEngine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 3.0)
    served = serve(gated(low()))
    answer = waiting(served)
    writer = sqlite3.connect(root / "ledger" / "ledger.sqlite", isolation_level=None, check_same_thread=False)
    with ThreadPoolExecutor() as others:
        writer.execute("BEGIN IMMEDIATE")
        deciding = [others.submit(decide, served, answer, "approve") for _ in range(4)]
        until(lambda: served.app.state.reserved_threads.borrowed_tokens == 4)
        assert served.client().get("/api/me").status_code == 200
        assert served.app.state.reserved_threads.borrowed_tokens >= 1
        refused = deciding[0].result(20)
        writer.execute("ROLLBACK")
    writer.close()
    assert (refused.status_code, refused.json()["error"]["kind"]) == (503, "BusyLedgerError")
    assert int(refused.headers["retry-after"]) > 0
