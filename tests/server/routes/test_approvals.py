"""Approvals: decisions count once, can be repeated with a key, and are sent to the feed (SPEC D6, D7)."""

import contextlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.runs.scripts import GOOD, PASS, QUESTION, WRONG, judged
from tests.runs.websites import SearchServer
from tests.server.conftest import MakeEngine, Serve, Served
from tests.server.events import Event, events_of, read_events
from veracity.models import Answer
from veracity.server.openai.completions import render_content
from veracity.testing import ScriptedLLM


@pytest.fixture
def served(serve: Serve, gated: MakeEngine) -> Served:
    return serve(gated(ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(40))))


def waiting(client: httpx.Client) -> dict[str, Any]:
    answer = client.post("/api/ask", json={"question": QUESTION}).json()
    assert answer["status"] == "awaiting_approval"
    found: dict[str, Any] = client.get(f"/api/approvals/{answer['approval_id']}").json()
    return found


def test_an_approved_draft_is_released(served: Served) -> None:
    client = served.client()
    approval = waiting(client)
    assert [item["approval_id"] for item in client.get("/api/approvals").json()] == [approval["approval_id"]]
    decided = client.post(
        f"/api/approvals/{approval['approval_id']}/decision",
        json={"verdict": "approve", "draft_hash": approval["draft_hash"]},
    )
    assert decided.json()["state"] == "approved"
    events = events_of(client, f"/api/runs/{approval['run_id']}/events")
    assert events[-1].data["answer"]["text"] == GOOD
    assert client.get("/api/approvals").json() == []
    assert [item["state"] for item in client.get("/api/approvals?state=any").json()] == ["approved"]
    for state in ("rejected", "superseded", "pending"):
        assert client.get(f"/api/approvals?state={state}").json() == []
    assert [item["text"] for item in client.get(f"/api/approvals/{approval['approval_id']}/history").json()] == [GOOD]


def test_an_unknown_state_is_refused_with_the_valid_ones(served: Served) -> None:
    refused = served.client().get("/api/approvals?state=decided")
    assert refused.status_code == 422
    message = refused.json()["error"]["message"]
    assert message.startswith("The request is invalid: query.state: ")
    assert message.endswith(" 'pending', 'approved', 'rejected', 'sent_back', 'expired', 'superseded' or 'any'.")


@pytest.mark.parametrize("edit", ["All have 25 days. [1]", "所有人有二十五天。[1]", "全員に25日あります。[1]"])
def test_an_edited_draft_is_released_as_edited(served: Served, edit: str) -> None:
    client = served.client()
    approval = waiting(client)
    client.post(f"/api/approvals/{approval['approval_id']}/decision", json={"verdict": "approve", "edit": edit})
    answer = events_of(client, f"/api/runs/{approval['run_id']}/events")[-1].data["answer"]
    assert (answer["text"], answer["form"]) == (edit, "edited")


def test_a_rejection_searches_the_web_and_asks_for_approval_again(
    serve: Serve, gated: MakeEngine, website: SearchServer
) -> None:
    website.finds("Full-time staff have 25 days of paid annual leave a year, by law.")
    llm = ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=PASS, judge=judged(40, 50))
    client = serve(gated(llm, web=website.settings)).client()
    first = waiting(client)
    client.post(
        f"/api/approvals/{first['approval_id']}/decision", json={"verdict": "reject", "reason": "It is not 40."}
    )
    events = events_of(client, f"/api/runs/{first['run_id']}/events?after=12.0")
    assert "web_search" in [event.data.get("name") for event in events]
    second = events[-1].data["answer"]
    assert second["status"] == "awaiting_approval" and second["approval_id"] != first["approval_id"]
    client.post(f"/api/approvals/{second['approval_id']}/decision", json={"verdict": "approve"})
    answer = events_of(client, f"/api/runs/{first['run_id']}/events")[-1].data["answer"]
    assert (answer["status"], answer["attempt"], answer["text"]) == ("answered", 2, GOOD)


def test_d10_a_draft_is_sent_back_with_a_note(serve: Serve, gated: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=[WRONG, GOOD], reviewer=PASS, judge=judged(40, 90))
    client = serve(gated(llm)).client()
    first = waiting(client)
    path = f"/api/approvals/{first['approval_id']}/decision"
    assert client.post(path, json={"verdict": "send_back"}).status_code == 400
    sent = client.post(path, json={"verdict": "send_back", "reason": "It is not 40."}).json()
    assert (sent["state"], sent["decision"]["reason"]) == ("sent_back", "It is not 40.")
    answer = events_of(client, f"/api/runs/{first['run_id']}/events")[-1].data["answer"]
    assert (answer["status"], answer["attempt"], answer["text"]) == ("answered", 2, GOOD)


def test_a_held_decision_is_withdrawn_by_who_made_it(served: Served) -> None:
    bob, eve = (served.client(role="approver", name=name) for name in ("bob", "eve"))
    approval = waiting(served.client())
    path = f"/api/approvals/{approval['approval_id']}/decision"
    assert bob.post(path, json={"verdict": "approve", "hold": 61}).status_code == 422
    held = bob.post(path, json={"verdict": "approve", "hold": 60}).json()
    assert (held["state"], held["effective"] is not None) == ("approved", True)
    assert eve.post(path, json={"verdict": "reject"}).status_code == 409
    assert eve.delete(path).status_code == 409
    assert served.client(role="asker").delete(path).status_code == 403
    assert bob.delete(path).json()["state"] == "pending"
    assert bob.delete(path).status_code == 409
    assert eve.post(path, json={"verdict": "approve"}).json()["decision"]["by"] == "eve"


def test_d11_a_draft_is_assigned_to_somebody_who_may_decide(served: Served) -> None:
    bob, ann = served.client(role="approver", name="bob"), served.client(role="asker", name="ann")
    approval = waiting(served.client())
    path = f"/api/approvals/{approval['approval_id']}/assignee"
    assert bob.get("/api/approvers").json() == ["bob"]
    assert bob.put(path, json={"assignee": "bob"}).json()["assignee"] == "bob"
    refused = bob.put(path, json={"assignee": "ann"})
    assert (refused.status_code, "Nobody who may decide" in refused.json()["error"]["message"]) == (400, True)
    for request in (ann.put(path, json={"assignee": "bob"}), ann.get("/api/approvers")):
        assert request.status_code == 403


def test_d7_a_rejected_draft_is_only_in_the_receipt(served: Served) -> None:
    asker, approver = served.client(role="asker", name="ann"), served.client(role="approver", name="bob")
    asked = asker.post("/api/ask", json={"question": QUESTION, "conversation": "c"}).json()
    approver.post(f"/api/approvals/{asked['approval_id']}/decision", json={"verdict": "reject"}).raise_for_status()
    answer = events_of(asker, f"/api/runs/{asked['run_id']}/events")[-1].data["answer"]
    assert answer["status"] == "rejected"
    assert answer["text"].startswith("The answer to this question was rejected. The web was not searched")
    assert "25 days" not in json.dumps(answer)
    assert "25 days" not in render_content(Answer.model_validate(answer), "full")
    assert [turn["answer"] for turn in asker.get("/api/conversations/c/turns").json()] == [""]
    receipt = asker.get(f"/api/runs/{asked['run_id']}").json()
    assert receipt["answer"]["text"] == answer["text"]
    assert receipt["approvals"][0]["draft"]["text"] == GOOD


def test_the_first_of_two_decisions_wins(served: Served) -> None:
    clients = [served.client(role="approver", name=name) for name in ("bob", "eve")]
    approval = waiting(served.client())
    ready = threading.Barrier(2)

    def decide(client: httpx.Client, verdict: str) -> httpx.Response:
        ready.wait()
        return client.post(f"/api/approvals/{approval['approval_id']}/decision", json={"verdict": verdict})

    with ThreadPoolExecutor(2) as pool:
        responses = list(pool.map(decide, clients, ("approve", "reject")))
    assert sorted(item.status_code for item in responses) == [200, 409]
    lost = next(item for item in responses if item.status_code == 409).json()["error"]
    won = next(item for item in responses if item.status_code == 200).json()
    assert lost["kind"] == "DecidedError"
    assert won["decision"]["by"] in lost["message"]


def test_a_repeated_key_repeats_the_decision(served: Served) -> None:
    client = served.client()
    approval = waiting(client)
    path, headers = f"/api/approvals/{approval['approval_id']}/decision", {"Idempotency-Key": "k1"}
    first, again = (client.post(path, json={"verdict": "approve"}, headers=headers) for _ in range(2))
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json()["decision"] == again.json()["decision"]
    other = client.post(path, json={"verdict": "approve"}, headers={"Idempotency-Key": "k2"})
    assert (other.status_code, other.json()["error"]["kind"]) == (409, "DecidedError")
    assert client.post(path, json={"verdict": "approve"}).status_code == 409
    for differing in ({"reason": "另有原因"}, {"draft_hash": "another"}, {"edit": "別の文。"}):
        refused = client.post(path, json={"verdict": "approve", **differing}, headers=headers)
        assert refused.status_code == 409, differing


def test_a_decision_on_another_draft_is_refused(served: Served) -> None:
    client = served.client()
    approval = waiting(client)
    path = f"/api/approvals/{approval['approval_id']}/decision"
    refused = client.post(path, json={"verdict": "approve", "draft_hash": "0" * 64})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "SupersededError")
    for body in ({"verdict": "maybe"}, {"verdict": "reject", "edit": "x"}, {"verdict": "approve", "edit": " "}, {}):
        assert client.post(path, json=body).status_code in (400, 422)
    assert client.get(path.removesuffix("/decision")).json()["state"] == "pending"


def test_the_feed_sends_drafts_and_decisions_of_all_processes(serve: Serve, gated: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(40))
    here, there = serve(gated(llm)), serve(gated(llm))
    heard: dict[str, list[Event]] = {"bob": [], "ann": [], "ben": []}
    tokens = {
        "bob": here.token("approver", "bob"),
        "ann": here.token("asker", "ann"),
        "ben": here.token("asker", "ben"),
    }
    ready = threading.Barrier(4)

    def listen(name: str) -> None:
        stream = here.client(token=tokens[name]).stream("GET", "/api/events")
        with contextlib.suppress(httpx.HTTPError), stream as response:
            for event in read_events(response):
                if event.kind == "hello":
                    ready.wait(30)
                else:
                    heard[name].append(event)
                if event.data.get("state") == "approved":
                    return

    threads = [threading.Thread(target=listen, args=(name,), daemon=True) for name in heard]
    for thread in threads:
        thread.start()
    ready.wait(30)
    answer = there.client(token=tokens["ann"]).post("/api/ask", json={"question": QUESTION}).json()
    bob = there.client(token=tokens["bob"])
    bob.post(f"/api/approvals/{answer['approval_id']}/decision", json={"verdict": "approve"})
    for thread, name in zip(threads, heard, strict=True):
        thread.join(timeout=0.1 if name == "ben" else 10)
    assert heard["bob"][-1].data["state"] == heard["ann"][-1].data["state"] == "approved"
    assert heard["bob"][-1].data["by"] == "bob"
    assert heard["ben"] == []


def test_answers_can_be_rated(served: Served) -> None:
    client = served.client()
    approval = waiting(client)
    path = f"/api/runs/{approval['run_id']}/feedback"
    assert client.post(path, json={"thumb": "up"}).status_code == 400  # there is no answer yet
    client.post(f"/api/approvals/{approval['approval_id']}/decision", json={"verdict": "approve"})
    events_of(client, f"/api/runs/{approval['run_id']}/events")
    given = client.post(path, json={"thumb": "down", "why": "不清楚"}).json()
    assert (given["thumb"], given["why"], given["by"]) == ("down", "不清楚", "local")
    assert client.get(f"/api/runs/{approval['run_id']}").json()["feedback"] == [given]
    assert client.post(path, json={"thumb": "sideways"}).status_code == 422
