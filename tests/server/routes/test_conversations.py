"""Conversations over HTTP: rename, pin, export; only the caller's own."""

import pytest

from tests.runs.scripts import QUESTION
from tests.server.conftest import MakeEngine, Serve, Served

NAME = "a/b 休假"


@pytest.fixture
def served(engine_with: MakeEngine, serve: Serve) -> Served:
    engine = engine_with()
    engine.ask(QUESTION, conversation=NAME, only="leave")
    engine.ask("What does a taxi to the moon cost?", conversation=NAME)
    engine.ask("Is every laptop encrypted?", conversation="hers", user="anna")
    return serve(engine)


def test_a_conversation_is_renamed_and_pinned(served: Served) -> None:
    client, path = served.client(), f"/api/conversations/{NAME}"
    changed = client.patch(path, json={"title": "Leave", "pinned": True})
    assert (changed.status_code, changed.json()["title"], changed.json()["pinned"]) == (200, "Leave", True)
    assert client.get("/api/conversations").json() == [changed.json()]
    assert client.patch(path, json={}).json() == changed.json()
    assert client.patch(path, json={"title": "two\nlines"}).status_code == 400
    assert client.patch(path, json={"name": "x"}).status_code == 422
    assert client.patch("/api/conversations/hers", json={"pinned": True}).status_code == 404


def test_an_export_holds_questions_answers_verdicts_and_sources(served: Served) -> None:
    client = served.client()
    client.patch(f"/api/conversations/{NAME}", json={"title": 'Leave: "days"'})
    markdown = client.get(f"/api/conversations/{NAME}/export")
    assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert markdown.headers["content-disposition"] == "attachment; filename*=UTF-8''Leave%20days.md"
    assert markdown.headers["cache-control"] == "no-store"
    assert markdown.text.startswith('# Leave: "days"\n')
    for part in (f"## 1. {QUESTION}", "25 days", "passed the local checks", "[1] Annual leave", "match: leave"):
        assert part in markdown.text
    exported = client.get(f"/api/conversations/{NAME}/export?format=json").json()
    first, second = exported["turns"]
    assert (first["question"], first["status"], first["only"]) == (QUESTION, "answered", ["leave"])
    assert "25 days" in first["sources"][0]["quotes"][0]
    assert (second["status"], second["sources"]) == ("abstained", [])


def test_only_own_conversations_are_exported(served: Served) -> None:
    assert served.client().get("/api/conversations/hers/export").status_code == 404
    anna = served.client(role="asker", name="anna")
    assert "laptop" in anna.get("/api/conversations/hers/export").text
    assert anna.get(f"/api/conversations/{NAME}/export").status_code == 404


def test_a_draft_that_waits_is_not_exported(gated: MakeEngine, serve: Serve) -> None:
    engine = gated(approval={"policy": "always"})
    engine.ask(QUESTION, conversation="c")
    [turn] = serve(engine).client().get("/api/conversations/c/export?format=json").json()["turns"]
    assert (turn["status"], turn["answer"], turn["sources"]) == ("awaiting_approval", "", [])
