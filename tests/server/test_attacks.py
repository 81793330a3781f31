"""Attacks on the server, and load it was not made for."""

import contextlib
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, judged
from tests.runs.websites import SearchServer
from tests.server.conftest import MakeEngine, Serve
from tests.server.events import Event, events_of, read_events
from tests.traces import recorded
from veracity.errors import ModelAccessError
from veracity.testing import ScriptedLLM

ASKED = {"question": QUESTION}


def low(gated: MakeEngine, **sections: Any) -> Any:
    return gated(ScriptedLLM.by_role(writer=WRONG, reviewer=PASS, judge=judged(40)), **sections)


def test_a_forgotten_conversation_is_not_replayed(serve: Serve, gated: MakeEngine) -> None:
    client = serve(low(gated)).client()
    answer = client.post("/api/ask", json={**ASKED, "conversation": "private"}).json()
    client.delete("/api/conversations/private")
    events = events_of(client, f"/api/runs/{answer['run_id']}/events")
    assert events[-1].kind == "failed"
    assert "40 days" not in str(events) and "annual leave" not in str(events)


def test_a_removed_document_is_not_replayed(serve: Serve, engine_with: MakeEngine) -> None:
    client = serve(engine_with()).client()
    answer = client.post("/api/ask", json=ASKED).json()
    assert "25 days" in answer["text"]
    assert client.delete("/api/document", params={"id": "leave"}).status_code == 200
    assert "25 days" not in str(events_of(client, f"/api/runs/{answer['run_id']}/events"))


def test_drafts_of_an_unfinished_run_are_hidden_from_the_asker(
    serve: Serve, gated: MakeEngine, website: SearchServer
) -> None:
    website.finds("Full-time staff have 25 days of paid annual leave a year, by law.")
    llm = ScriptedLLM.by_role(writer=[WRONG, WRONG, GOOD], reviewer=PASS, judge=judged(40))
    served = serve(gated(llm, web=website.settings, server={"drafts": "approvers"}))
    ann, bob = served.client(role="asker", name="ann"), served.client(role="approver", name="bob")
    first = ann.post("/api/ask", json=ASKED).json()
    bob.post(f"/api/approvals/{first['approval_id']}/decision", json={"verdict": "reject"})
    second = events_of(bob, f"/api/runs/{first['run_id']}/events")[-1].data["answer"]
    assert second["status"] == "awaiting_approval" and second["attempt"] == 2
    for path in (
        f"/api/approvals/{first['approval_id']}",
        f"/api/approvals/{first['approval_id']}/history",
        f"/api/approvals/{second['approval_id']}/history",
        "/api/approvals?state=rejected",
        "/api/approvals?state=any",
        f"/api/runs/{first['run_id']}",
        f"/api/runs/{first['run_id']}/page",
    ):
        response = ann.get(path)
        assert response.status_code == 200
        assert "40 days" not in response.text, path


@pytest.mark.parametrize("name", ["last", "2", "2026", "20261115-", "%2e", "a%2fb", "20200101-000000-zzzzzz.1.1"])
def test_only_full_ids_are_accepted(serve: Serve, gated: MakeEngine, name: str) -> None:
    served = serve(low(gated))
    served.client().post("/api/ask", json=ASKED)
    ben = served.client(role="asker")
    for path in ("/api/runs/{}", "/api/runs/{}/events", "/api/approvals/{}", "/api/approvals/{}/history"):
        response = ben.get(path.format(name))
        assert response.status_code == 404, (path, response.text)
        assert "-" not in response.json()["error"]["message"].replace(name, "")


def test_removing_a_user_ends_their_stream(serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veracity.server.sse.AUTH_SECONDS", 0.0)
    served = serve(low(gated))
    dan = served.client(role="approver", name="dan")
    heard: list[Event] = []
    with dan.stream("GET", "/api/events") as response:
        events = read_events(response)
        assert next(events).kind == "hello"
        served.engine.users.remove("dan")
        served.client().post("/api/ask", json=ASKED)
        with contextlib.suppress(httpx.TransportError):
            heard += events
    assert heard == []


def test_an_invalid_origin_is_refused(serve: Serve, engine_with: MakeEngine) -> None:
    response = serve(engine_with()).client().post("/api/ask", json=ASKED, headers={"Origin": "http://["})
    assert (response.status_code, response.json()["error"]["kind"]) == (403, "Forbidden")


def test_a_slow_body_times_out(serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veracity.server.middleware.BODY_SECONDS", 0.2)
    client, goes_on = serve(engine_with()).client(), threading.Event()

    def slowly() -> Iterator[bytes]:
        yield b'{"token": "'
        while not goes_on.wait(0.05):
            yield b"x"

    timer = threading.Timer(15, goes_on.set)
    timer.start()
    try:
        with contextlib.suppress(httpx.TransportError):
            assert client.post("/api/session", content=slowly()).status_code == 408
        assert not goes_on.is_set()
    finally:
        timer.cancel()


def test_a_trailing_slash_does_not_redirect(serve: Serve, engine_with: MakeEngine) -> None:
    client = serve(engine_with()).client()
    for path in ("/api/ask/", "/v1/chat/completions/"):
        response = client.post(path, json=ASKED)
        assert response.status_code == 404 and "location" not in response.headers


def test_spans_contain_no_request_contents(serve: Serve, engine_with: MakeEngine) -> None:
    with recorded() as spans:
        client = serve(engine_with()).client()
        client.get("/api/conversations", params={"query": "dismissal of Bob"})
        client.get("/api/conversations/离婚/turns")
        client.get("/api/document", params={"id": "給与"})
        client.post("/api/ask", json=ASKED)
    assert {span.instrumentation_scope.name for span in spans.all if span.instrumentation_scope} == {"veracity"}


def test_an_unexpected_error_is_one_sentence_with_security_headers(
    serve: Serve, engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(engine_with())
    monkeypatch.setattr(served.engine, "search", lambda *_, **__: 1 / 0)
    response = served.client().post("/api/search", json={"query": "leave"})
    assert (response.status_code, response.json()["error"]["kind"]) == (500, "ServerError")
    assert "ZeroDivisionError" not in response.text
    assert "script-src 'self'" in response.headers["content-security-policy"]


def test_a_question_without_a_free_stream_is_not_started(serve: Serve, engine_with: MakeEngine) -> None:
    served = serve(engine_with(server={"streams": 1}))
    with served.client().stream("GET", "/api/events"):
        refused = served.client().post("/api/ask", json=ASKED, headers={"Accept": "text/event-stream"})
    assert refused.status_code == 429
    assert served.engine.runs() == []


def test_requests_cannot_raise_the_configured_limits(serve: Serve, engine_with: MakeEngine) -> None:
    client = serve(engine_with()).client()
    for more in ({"deadline": 86400}, {"max_rewrites": 20}):
        assert client.post("/api/ask", json={**ASKED, **more}).status_code == 400
    assert client.post("/api/ask", json={**ASKED, "deadline": 60, "max_rewrites": 0}).status_code == 200


def test_conversations_of_any_name_can_be_read_and_forgotten(serve: Serve, engine_with: MakeEngine) -> None:
    client = serve(engine_with()).client()
    for name in ("a/b", "会话 / 一", "会話/一", "x/turns"):
        encoded = quote(name, safe="")
        client.post("/api/ask", json={**ASKED, "conversation": name})
        assert len(client.get(f"/api/conversations/{encoded}/turns").json()) == 1, name
        assert client.delete(f"/api/conversations/{encoded}").json() == {"turns": 1}
    assert client.post("/api/ask", json={**ASKED, "conversation": ".."}).status_code == 400


def test_searches_do_not_delay_decisions(serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve(low(gated))
    answer = served.client().post("/api/ask", json=ASKED).json()
    goes_on, waiting = threading.Event(), threading.Semaphore(0)

    def slow(*_: Any, **__: Any) -> list[Any]:
        waiting.release()
        goes_on.wait(20)
        return []

    monkeypatch.setattr(served.engine, "search", slow)
    ann = served.client(role="asker")
    threads = [
        threading.Thread(target=partial(ann.post, "/api/search", json={"query": "leave"}), daemon=True)
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for _ in range(2):
        assert waiting.acquire(timeout=10)
    try:
        decided = served.client().post(f"/api/approvals/{answer['approval_id']}/decision", json={"verdict": "approve"})
        assert decided.json()["state"] == "approved"
    finally:
        goes_on.set()
        for thread in threads:
            thread.join(10)


def test_lists_do_not_delay_authentication(serve: Serve, gated: MakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve(low(gated, server={"drafts": "approvers"}))
    ann = served.client(role="asker")
    answer = ann.post("/api/ask", json=ASKED).json()
    goes_on, waiting = threading.Event(), threading.Semaphore(0)

    def slow(*_: Any, **__: Any) -> list[Any]:
        waiting.release()
        goes_on.wait(60)
        return []

    def no_receipt(*_: Any) -> None:
        raise AssertionError("a receipt takes long to make")

    monkeypatch.setattr(served.engine, "receipt", no_receipt)
    for path in ("/api/approvals", f"/api/approvals/{answer['approval_id']}"):
        response = ann.get(path)
        assert response.status_code == 200 and "40 days" not in response.text
    monkeypatch.setattr(served.engine, "approvals", slow)
    threads = [threading.Thread(target=partial(ann.get, "/api/approvals"), daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert waiting.acquire(timeout=10)
    try:
        assert served.client(role="approver").get("/api/me", timeout=20).status_code == 200
    finally:
        goes_on.set()
        for thread in threads:
            thread.join(10)


def finished(events: list[Event]) -> list[str]:
    return [event.id for event in events if event.kind == "finished"]


def test_a_stream_resumes_anywhere_without_lost_or_repeated_steps(serve: Serve, gated: MakeEngine) -> None:
    """In this process and in another, before and after a decision."""
    here, there = serve(low(gated)), serve(low(gated))
    live = events_of(here.client(), "/api/ask", method="POST", json=ASKED)
    answer = live[-1].data["answer"]
    here.client().post(f"/api/approvals/{answer['approval_id']}/decision", json={"verdict": "approve"})
    path = f"/api/runs/{answer['run_id']}/events"
    live += events_of(here.client(), path, headers={"Last-Event-ID": live[-1].id})
    whole = finished(live)
    assert len(whole) == len(set(whole)) > 10
    for served in (here, there):
        client = served.client()
        recorded = events_of(client, path)
        assert finished(recorded) == whole
        for seen in (live, recorded):
            for cut in range(0, len(seen), 3):
                rest = events_of(client, path, headers={"Last-Event-ID": seen[cut].id})
                assert finished(seen[: cut + 1]) + finished(rest) == whole
                assert [event.kind for event in rest if event.kind in ("answer", "failed")] == ["answer"]


def test_many_decisions_can_be_followed_from_any_process(serve: Serve, gated: MakeEngine) -> None:
    here, there = serve(low(gated)), serve(low(gated))
    answers = [here.client().post("/api/ask", json=ASKED).json() for _ in range(4)]
    for answer in answers:
        here.client().post(f"/api/approvals/{answer['approval_id']}/decision", json={"verdict": "reject"})
    for answer in answers:
        for served in (here, there):
            events = events_of(served.client(), f"/api/runs/{answer['run_id']}/events")
            assert "human_approval" in [event.data.get("name") for event in events]
            assert events[-1].data["answer"]["status"] == "rejected"


def test_errors_of_a_started_run_contain_its_id(serve: Serve, engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=ModelAccessError("The provider refused the key."), reviewer=PASS)
    client = serve(engine_with(llm)).client()
    for path, body in (
        ("/api/ask", ASKED),
        ("/v1/chat/completions", {"model": "veracity", "messages": [{"role": "user", "content": QUESTION}]}),
    ):
        refused = client.post(path, json=body)
        run_id = client.get("/api/runs").json()[0]["run_id"]
        assert (refused.status_code, refused.json()["error"]["run_id"]) == (502, run_id)
        assert refused.headers["x-veracity-run"] == run_id
        assert refused.headers["x-should-retry"] == "false"
