"""Uploads and reindexing that an admin ends before all is done: nothing half is left, and everybody is told who did."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import Serve, Served
from tests.server.events import Event, events_of
from veracity.engine import Veracity
from veracity.knowledge import ingest
from veracity.models import Document, IngestReport
from veracity.settings import Settings

SETTINGS = Settings.model_validate({"models": {"embedder": "none"}, "reading": {"workers": 1}})
FILES = {
    "leave.txt": "Full-time staff have 25 days.",
    "年假.txt": "每年享有十五天年假。",
    "休暇.txt": "年に二十日です。",
}


@pytest.fixture
def engine(workspace: Path) -> Iterator[Veracity]:
    with Veracity(workspace, settings=SETTINGS) as engine:
        yield engine


@pytest.fixture
def served(engine: Veracity, serve: Serve) -> Served:
    return serve(engine)


@pytest.fixture
def begun() -> threading.Event:
    return threading.Event()


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def cancel(client: httpx.Client, **params: Any) -> httpx.Response:
    return client.delete("/api/documents/changes", params=params)


def test_an_upload_ends_after_the_file_it_is_at(
    served: Served, engine: Veracity, begun: threading.Event, go_on: threading.Event
) -> None:
    whole = engine.upload

    def waits(name: str, source: Any) -> IngestReport:
        begun.set()
        go_on.wait(20)
        return whole(name, source)

    engine.upload = waits  # type: ignore[assignment,method-assign]
    client, ann, asker = served.client(), served.client(role="admin", name="安娜"), served.client(role="asker")
    parts = [("files", (name, text.encode())) for name, text in FILES.items()]
    with ThreadPoolExecutor() as threads:
        told = threads.submit(events_of, client, "/api/documents", method="POST", files=parts)
        assert begun.wait(20)
        number = asker.get("/api/documents/changes").json()["number"]
        assert cancel(ann, number=number + 1).status_code == 404
        assert cancel(ann, number=number).json()["cancelled_by"] == "安娜"
        assert cancel(client).json()["cancelled_by"] == "安娜"  # the first one it was
        seen = asker.get("/api/documents/changes").json()
        assert (seen["under_way"], seen["cancelled_by"]) == (True, "安娜")
        go_on.set()
        kinds = [
            (one.kind, one.data.get("status") or one.data.get("by", ""))
            for one in told.result(20)
            if one.kind != "waiting"
        ]
    assert kinds == [
        ("outcome", "added"),
        ("cancelled", "安娜"),
        ("outcome", "failed"),
        ("outcome", "failed"),
        ("report", ""),
    ]
    assert told.result()[-1].data["outcomes"][2]["reason"] == "Cancelled by 安娜."
    assert [one.title for one in engine.documents()] == ["leave"]
    after = asker.get("/api/documents/changes").json()
    assert (after["under_way"], after["cancelled_by"]) == (False, "安娜")

    refused = cancel(ann)  # nothing is under way
    assert refused.status_code == 404
    assert "this process of the server" in refused.json()["error"]["message"]
    assert client.post("/api/documents", files=parts).json()["outcomes"][2]["status"] == "added"
    assert asker.get("/api/documents/changes").json()["cancelled_by"] == ""


def test_an_index_that_was_being_made_anew_stays_as_it_was(
    served: Served,
    engine: Veracity,
    begun: threading.Event,
    go_on: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine.add(Document(id=name, text=text) for name, text in FILES.items())
    client, version = served.client(), engine._library.store.version
    monkeypatch.setattr(ingest, "PASSAGES", 1)
    whole = engine.reindex

    def waits(progress: Any) -> IngestReport:
        def slowly(*told: Any) -> None:
            progress(*told)
            begun.set()
            go_on.wait(20)

        return whole(progress=slowly)

    monkeypatch.setattr(engine, "reindex", waits)
    with ThreadPoolExecutor() as threads:
        told = threads.submit(events_of, client, "/api/documents/reindex", method="POST")
        assert begun.wait(20)
        assert cancel(client).json()["cancelled_by"] == "local"
        go_on.set()
        events: list[Event] = told.result(20)
    assert [one.kind for one in events if one.kind != "waiting"] == ["outcome", "failed"]
    assert events[-1].data["problem"] == "Cancelled by local."
    assert engine._library.store.version == version
    assert [engine.text(one.id) for one in engine.documents()] == sorted(FILES.values())
    assert engine.search("年假")
