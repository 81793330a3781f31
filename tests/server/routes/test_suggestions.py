"""Examples, follow-ups, and what a question can be limited to, over HTTP."""

import time
from pathlib import Path

import pytest

from tests.runs.scripts import QUESTION
from tests.server.conftest import MakeEngine, Serve
from veracity.server.live import upkeep


def test_a_server_finds_examples_by_itself(
    engine_with: MakeEngine, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "EXAMPLES_SECONDS", 0.05)
    engine = engine_with(server={"examples": True})
    client = serve(engine).client(role="asker")
    end = time.monotonic() + 60
    while not (examples := client.get("/api/examples").json()) and time.monotonic() < end:
        time.sleep(0.1)
    assert {example["language"] for example in examples} == {"en", "zh", "ja"}
    document_id = examples[0]["document_id"]
    engine.forget(document_id)
    assert document_id not in [example["document_id"] for example in client.get("/api/examples").json()]
    assert engine.runs() == []


def test_follow_ups_are_for_those_who_see_the_run(engine_with: MakeEngine, serve: Serve) -> None:
    engine = engine_with()
    served = serve(engine)
    run_id = engine.ask(QUESTION, user="anna").run_id
    path = f"/api/runs/{run_id}/follow-ups"
    found = served.client(role="asker", name="anna").get(path)
    assert found.status_code == 200
    assert QUESTION not in found.json()
    assert served.client(role="approver").get(path).json() == found.json()
    assert served.client(role="asker", name="bob").get(path).status_code == 404
    assert served.client().get("/api/runs/last/follow-ups").status_code == 404


def test_folders_and_documents_can_be_chosen(engine_with: MakeEngine, serve: Serve, tmp_path: Path) -> None:
    engine = engine_with()
    for name in ("hr/leave.md", "hr/pay/bonus.md", "it/laptops.md"):
        file = tmp_path / "team" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# About {file.stem}\n\nThis says {file.stem}.\n")
    engine.ingest(tmp_path / "team")
    served = serve(engine)
    admin, asker = served.client(), served.client(role="asker")
    team = str(tmp_path / "team")
    folders = [choice for choice in admin.get("/api/choices?limit=200").json() if choice["kind"] == "folder"]
    assert [(choice["only"], choice["documents"]) for choice in folders] == [
        (team, 3),
        (f"{team}/hr", 2),
        (f"{team}/hr/pay", 1),
        (f"{team}/it", 1),
    ]
    [found] = admin.get("/api/choices?query=bonus").json()
    assert (found["kind"], found["title"]) == ("document", "About bonus")
    assert len(admin.get("/api/choices?limit=2").json()) == 2
    shown = asker.get("/api/choices?query=hr").json()
    assert [(choice["kind"], choice["only"]) for choice in shown] == [
        ("folder", "…/hr"),
        ("document", "…/hr/leave.md"),
    ]
    for client, only in ((admin, f"{team}/hr"), (asker, "…/hr"), (asker, "…/hr/leave.md")):
        evidence = client.post("/api/search", json={"query": "leave", "only": [only]}).json()
        assert {item["title"] for item in evidence} <= {"About leave", "About bonus"} and evidence
    assert asker.get("/api/choices?query=%22nothing").json() == []


def test_texts_from_memory_can_be_chosen(engine_with: MakeEngine, serve: Serve) -> None:
    client = serve(engine_with()).client(role="asker")
    [choice] = client.get("/api/choices?query=annual").json()
    assert choice == {"kind": "document", "only": "leave", "title": "Annual leave", "documents": 1}
    assert client.post("/api/ask", json={"question": QUESTION, "only": [choice["only"]]}).json()["status"] == "answered"
