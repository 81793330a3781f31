"""Streams that are cut and resumed, in this process and in another one; runs that outlive who asked."""

import threading
import time

import httpx
import pytest

from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import TOKEN, MakeEngine, Serve, Served
from tests.server.events import Event, events_of, read_events
from veracity.models import RunProgress, RunStanding
from veracity.server.live import events as events_module
from veracity.testing import ScriptedCall, ScriptedLLM


class Held:
    """A writer that waits until it is let go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.goes_on = threading.Event()

    def __call__(self, call: ScriptedCall) -> str:
        self.asked.set()
        assert self.goes_on.wait(60)
        return GOOD


def ask_and_leave(served: Served, until: str) -> tuple[str, list[Event]]:
    """Reads the stream until a step of this name ended or began, then cuts the line."""
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
    """As a process ends: after the step that is under way."""
    end = time.monotonic() + 30
    while stopped.app.state.live.working:
        assert time.monotonic() < end
        time.sleep(0.02)
    stopped.engine.close()


def named(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.kind, event.data.get("name", "")) for event in events if event.kind in ("finished", "answer")]


def test_a_stream_that_was_cut_goes_on_where_it_was(serve: Serve, engine_with: MakeEngine) -> None:
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

    monkeypatch.setattr(events_module, "LOOK", 0.05)
    monkeypatch.setattr(second.engine, "progress", looked)
    monkeypatch.setattr(second.engine, "standing", glanced)
    rest = events_of(second.client(), f"/api/runs/{run_id}/events", headers={"Last-Event-ID": seen[-1].id})
    assert glances[-1] <= 2  # where nothing happened, no steps are read
    whole = events_of(first.client(), f"/api/runs/{run_id}/events")
    assert named(seen + rest) == named(whole)
    assert rest[-1].data["answer"]["text"] == GOOD


def test_after_the_end_the_ledger_tells_the_same(serve: Serve, engine_with: MakeEngine) -> None:
    first = serve(engine_with())
    events = events_of(first.client(), "/api/ask", method="POST", json={"question": QUESTION})
    run_id = events[0].data["run_id"]
    second = serve(engine_with())
    again = events_of(second.client(), f"/api/runs/{run_id}/events")
    assert named(again) == named(events)
    assert again[-1].data["answer"] == events[-1].data["answer"]
    half = events_of(second.client(), f"/api/runs/{run_id}/events?after={again[4].id}")
    assert [event.id.split(".")[0] for event in half] == [event.id.split(".")[0] for event in again[5:]]


def test_a_decision_of_one_process_is_followed_in_another(serve: Serve, gated: MakeEngine) -> None:
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


def test_a_run_goes_on_when_nobody_listens(serve: Serve, engine_with: MakeEngine) -> None:
    held = Held()
    served = serve(engine_with(ScriptedLLM.by_role(writer=held, reviewer=PASS)))
    run_id, _ = ask_and_leave(served, "prepare_messages")
    held.goes_on.set()
    end = time.monotonic() + 30
    while served.client().get(f"/api/runs/{run_id}").json()["run"]["status"] == "running" and time.monotonic() < end:
        time.sleep(0.05)
    assert served.client().get(f"/api/runs/{run_id}").json()["answer"]["text"] == GOOD


def test_a_server_takes_up_what_another_left(serve: Serve, engine_with: MakeEngine) -> None:
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


def test_questions_that_wait_are_not_lost_either(serve: Serve, engine_with: MakeEngine) -> None:
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


def test_too_many_questions_are_refused_and_told_when_to_come(serve: Serve, engine_with: MakeEngine) -> None:
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
        told = [list(read_events(one)) for one in streams]
    assert [events[-1].kind for events in told] == ["answer"] * 3
    ahead = [[event.data["ahead"] for event in events if event.kind == "queued"] for events in told]
    assert ahead == [[0], [0], [1, 0]]
    assert (refused.status_code, refused.json()["error"]["kind"]) == (429, "TooMany")
    assert int(refused.headers["retry-after"]) >= 1


def test_a_line_that_is_no_id_gives_all_events(serve: Serve, engine_with: MakeEngine) -> None:
    client = serve(engine_with()).client()
    events = events_of(client, "/api/ask", method="POST", json={"question": QUESTION})
    again = events_of(client, f"/api/runs/{events[0].data['run_id']}/events", headers={"Last-Event-ID": "gibberish"})
    assert named(again) == named(events)
