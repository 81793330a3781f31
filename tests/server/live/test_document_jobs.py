"""Jobs that change the documents: the queue, cancelling, shutdown, interrupted uploads."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import Serve, Served
from tests.server.events import Event, events_of
from tests.server.routes.test_documents import CHINESE, EVENTS, JAPANESE, engine, kind_of, read_progress, served, upload
from veracity.engine import Veracity
from veracity.knowledge import ingest, uploads
from veracity.knowledge.library import writer_lock
from veracity.models import Document, IngestReport
from veracity.server import sse
from veracity.server.live import document_jobs
from veracity.server.routes import documents

__all__ = ["engine", "served"]

FILES = {
    "leave.txt": "Full-time staff have 25 days.",
    "年假.txt": "每年享有十五天年假。",
    "休暇.txt": "年に二十日です。",
}


@pytest.fixture
def client(served: Served) -> httpx.Client:
    """An admin."""
    return served.client()


def test_uploads_wait_for_each_other(client: httpx.Client) -> None:
    done: list[str] = []

    def work(number: int) -> None:
        report = upload(client, (f"{number}.txt", f"Room {number} seats {number + 2} people."))
        done.append(report.json()["outcomes"][0]["status"])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert done == ["added"] * 5


def test_a_full_queue_says_when_to_retry(client: httpx.Client, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_jobs, "MAX_JOBS", 0)
    for accept in ("*/*", EVENTS):
        refused = upload(client, ("a.txt", "The office opens at nine."), accept=accept)
        assert kind_of(refused) == (429, "TooMany")
        assert int(refused.headers["retry-after"]) > 0
    assert served.app.state.limits.streams == 0


@dataclass
class Slow:
    """A running upload that blocks until `go_on` is set."""

    name: str
    go_on: threading.Event = field(default_factory=threading.Event)
    begun: threading.Event = field(default_factory=threading.Event)
    answers: list[httpx.Response] = field(default_factory=list)


@contextlib.contextmanager
def slow_upload(client: httpx.Client, engine: Veracity, name: str = "年假制度.txt") -> Iterator[Slow]:
    slow, whole = Slow(name), engine.upload

    def waits(given: str, source: Any) -> IngestReport:
        if given == name:
            slow.begun.set()
            slow.go_on.wait(30)
        return whole(given, source)

    engine.upload = waits  # type: ignore[assignment,method-assign]
    thread = threading.Thread(target=lambda: slow.answers.append(upload(client, (name, CHINESE))))
    thread.start()
    try:
        assert slow.begun.wait(20)
        yield slow
    finally:
        slow.go_on.set()
        thread.join(30)
        engine.upload = whole  # type: ignore[method-assign]


@pytest.mark.parametrize("name", ["handbook.txt", "年假制度.txt", "有給休暇.txt"])
def test_a_job_that_waits_too_long_is_refused_and_never_runs(
    client: httpx.Client, engine: Veracity, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    upload(client, ("a.txt", "The office opens at nine."))
    [known] = client.get("/api/documents").json()
    monkeypatch.setattr(documents, "MAX_WAIT_SECONDS", 0.2)
    with slow_upload(client, engine, name) as slow:
        removed = client.delete("/api/document", params={"id": known["id"]})
        indexed = client.post("/api/documents/reindex")
        events = read_progress(client.post("/api/documents/reindex", headers={"Accept": EVENTS}))
    for refused in (removed, indexed):
        assert kind_of(refused) == (409, "BusyError")
        assert refused.headers["retry-after"] == "5"
        assert f'A file is being read: "{name}"' in refused.json()["error"]["message"]
    assert [item["kind"] for item in events] == ["waiting", "failed"]
    assert slow.answers[0].json()["outcomes"][0]["status"] == "added"
    upload(client, ("b.txt", "The canteen closes at two."))  # all earlier jobs are done
    assert known["id"] in {item["id"] for item in client.get("/api/documents").json()}


def wait_for(client: httpx.Client, waiting: int) -> dict[str, Any]:
    """The job status once so many jobs wait."""
    end = time.monotonic() + 30
    while (seen := client.get("/api/documents/changes").json())["waiting"] != waiting:
        assert time.monotonic() < end, seen
        time.sleep(0.05)
    return dict(seen)


def test_disconnecting_cancels_a_queued_removal(
    client: httpx.Client, engine: Veracity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_WAIT_SECONDS", 60.0)
    upload(client, ("a.txt", "The office opens at nine."))
    [known] = client.get("/api/documents").json()
    request = client.build_request("DELETE", "/api/document", params={"id": known["id"]})
    lines = [
        f"DELETE {request.url.raw_path.decode()} HTTP/1.1",
        *(f"{name}: {value}" for name, value in request.headers.items()),
    ]
    with slow_upload(client, engine):
        with socket.create_connection((request.url.host, request.url.port), timeout=30) as leaves:
            leaves.sendall("\r\n".join([*lines, "", ""]).encode())
            wait_for(client, 1)
        wait_for(client, 0)
    upload(client, ("b.txt", "The canteen closes at two."))
    assert known["id"] in {item["id"] for item in client.get("/api/documents").json()}


def test_a_queued_upload_reports_its_position(
    client: httpx.Client, engine: Veracity, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [("files", (name, JAPANESE.encode())) for name in ("一.txt", "二.txt")]
    kinds: list[tuple[str, int]] = []
    pauses = 0
    monkeypatch.setattr(sse.while_authorized, "__defaults__", (0.05,))
    with (
        slow_upload(client, engine) as slow,
        client.stream("POST", "/api/documents", files=parts, headers={"Accept": EVENTS}) as response,
    ):
        for line in response.iter_lines():
            if line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
                kinds.append((data["kind"], data.get("ahead", 0)))
            pauses += line == ": "
            if kinds and pauses > 2:  # keep-alive comments arrived
                slow.go_on.set()
    assert kinds == [("waiting", 1), ("waiting", 0), ("outcome", 0), ("outcome", 0), ("report", 0)]


def test_every_user_sees_the_running_job(client: httpx.Client, served: Served, engine: Veracity) -> None:
    asker = served.client(role="asker")
    nothing = {"under_way": False, "number": 0, "what": "", "name": "", "waiting": 0}
    nothing |= {"by": "", "upload": "", "cancelled_by": ""}
    assert asker.get("/api/documents/changes").json() == nothing
    with slow_upload(client, engine, "有給休暇.txt"):
        later = threading.Thread(target=upload, args=(client, ("b.txt", CHINESE)))
        later.start()
        seen = wait_for(asker, 1)
        expected = {"under_way": True, "what": "upload", "name": "有給休暇.txt", "waiting": 1, "by": "local"}
        assert seen == {**nothing, **expected, "number": 1}
    later.join(20)
    assert asker.get("/api/documents/changes").json() == nothing


def test_waiting_jobs_get_503_when_the_server_stops(
    client: httpx.Client, served: Served, engine: Veracity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_WAIT_SECONDS", 60.0)
    answers: dict[str, httpx.Response] = {}

    def ask(kind: str) -> None:
        if kind == "remove":
            answers[kind] = client.delete("/api/document", params={"id": known["id"]})
        else:
            answers[kind] = upload(client, ("b.txt", CHINESE), accept=EVENTS if kind == "events" else "*/*")

    upload(client, ("a.txt", "The office opens at nine."))
    [known] = client.get("/api/documents").json()
    with slow_upload(client, engine) as slow:
        threads = [threading.Thread(target=ask, args=(kind,)) for kind in ("remove", "json", "events")]
        for thread in threads:
            thread.start()
        wait_for(client, 3)
        served.app.state.document_jobs.stop()
        for thread in threads:
            thread.join(20)
        assert kind_of(answers["remove"]) == kind_of(answers["json"]) == (503, "Stopping")
        assert answers["json"].headers["retry-after"]
        *_, last = read_progress(answers["events"])
        assert last == {"kind": "failed", "problem": "The server is stopping: try again after its restart."}
        assert kind_of(client.post("/api/documents/reindex")) == (503, "Stopping")
    assert kind_of(slow.answers[0]) == (503, "Stopping")
    assert "b" not in {item.title for item in engine.documents()}


def test_interrupted_uploads_are_finished_on_the_next_start(engine: Veracity, workspace: Path, serve: Serve) -> None:
    folder = workspace / "uploads"
    (folder / ".aside").mkdir(parents=True)
    left = {"handbook.txt": b"The office opens at nine.", "年假.txt": CHINESE.encode(), "x.bin": bytes(range(256))}
    for name, content in left.items():
        (folder / name).write_bytes(content)
        (folder / ".aside" / f"before-{name}").touch()
    (folder / "put there by hand.bin").write_bytes(bytes(range(256)))
    served = serve(engine)
    end = time.monotonic() + 20
    while (len(engine.documents()) < 2 or served.app.state.document_jobs.status().under_way) and time.monotonic() < end:
        time.sleep(0.05)
    assert {item.title for item in engine.documents()} == {"handbook", "年假"}
    names = {path.name for path in folder.iterdir() if path.is_file()}
    assert names == {"handbook.txt", "年假.txt", "put there by hand.bin"}


def test_a_write_lock_of_another_process_gives_busy_error(
    client: httpx.Client, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(client, ("a.txt", "The office opens at nine."))
    [known] = client.get("/api/documents").json()
    monkeypatch.setattr(uploads, "LOCK_TIMEOUT_SECONDS", 0.2)
    with writer_lock(workspace / "knowledge"):
        refused = upload(client, ("a.txt", "The office opens at ten."))
        streamed = upload(client, ("a.txt", "The office opens at ten."), accept=EVENTS)
        removed = client.delete("/api/document", params={"id": known["id"]})
    assert kind_of(refused) == kind_of(removed) == (409, "BusyError")
    assert refused.headers["retry-after"]
    assert [item["kind"] for item in read_progress(streamed)] == ["failed"]
    assert client.get("/api/document/text", params={"id": known["id"]}).json()["text"] == "The office opens at nine."


def test_an_upload_continues_after_the_client_disconnects(
    client: httpx.Client, served: Served, engine: Veracity
) -> None:
    """The client reads only the first line of the stream."""
    parts = [("files", (f"{number}.txt", f"Room {number} is blue.".encode())) for number in range(5)]
    with client.stream("POST", "/api/documents", files=parts, headers={"Accept": EVENTS}) as response:
        next(response.iter_lines())
    end = time.monotonic() + 20
    while (len(engine.documents()) < 5 or served.app.state.limits.streams) and time.monotonic() < end:
        time.sleep(0.1)
    assert (len(engine.documents()), served.app.state.limits.streams) == (5, 0)


def test_the_feed_announces_every_job(client: httpx.Client, served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    published: list[str] = []
    monkeypatch.setattr(served.app.state.feed, "publish", published.append)
    upload(client, ("a.txt", "The office opens at nine."))
    client.post("/api/documents/reindex")
    client.delete("/api/document", params={"id": client.get("/api/documents").json()[0]["id"]})
    assert published == ["documents"] * 6  # at the start and end of each job


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


def test_a_cancelled_upload_ends_after_the_current_file(
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
        uploading = threads.submit(events_of, client, "/api/documents", method="POST", files=parts)
        assert begun.wait(20)
        number = asker.get("/api/documents/changes").json()["number"]
        assert cancel(ann, number=number + 1).status_code == 404
        assert cancel(ann, number=number).json()["cancelled_by"] == "安娜"
        assert cancel(client).json()["cancelled_by"] == "安娜"  # the first one counts
        seen = asker.get("/api/documents/changes").json()
        assert (seen["under_way"], seen["cancelled_by"]) == (True, "安娜")
        go_on.set()
        kinds = [
            (item.kind, item.data.get("status") or item.data.get("by", ""))
            for item in uploading.result(20)
            if item.kind != "waiting"
        ]
    assert kinds == [
        ("outcome", "added"),
        ("cancelled", "安娜"),
        ("outcome", "failed"),
        ("outcome", "failed"),
        ("report", ""),
    ]
    assert uploading.result()[-1].data["outcomes"][2]["reason"] == "Cancelled by 安娜."
    assert [item.title for item in engine.documents()] == ["leave"]
    after = asker.get("/api/documents/changes").json()
    assert (after["under_way"], after["cancelled_by"]) == (False, "安娜")

    refused = cancel(ann)  # no job is running
    assert refused.status_code == 404
    assert "this process of the server" in refused.json()["error"]["message"]
    assert client.post("/api/documents", files=parts).json()["outcomes"][2]["status"] == "added"
    assert asker.get("/api/documents/changes").json()["cancelled_by"] == ""


def test_a_cancelled_reindexing_keeps_the_old_index(
    served: Served,
    engine: Veracity,
    begun: threading.Event,
    go_on: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine.add(Document(id=name, text=text) for name, text in FILES.items())
    client, version = served.client(), engine._parts.library.store.version
    monkeypatch.setattr(ingest, "MAX_BATCH_PASSAGES", 1)
    whole = engine.reindex

    def waits(progress: Any) -> IngestReport:
        def slowly(*arguments: Any) -> None:
            progress(*arguments)
            begun.set()
            go_on.wait(20)

        return whole(progress=slowly)

    monkeypatch.setattr(engine, "reindex", waits)
    with ThreadPoolExecutor() as threads:
        reindexing = threads.submit(events_of, client, "/api/documents/reindex", method="POST")
        assert begun.wait(20)
        assert cancel(client).json()["cancelled_by"] == "local"
        go_on.set()
        events: list[Event] = reindexing.result(20)
    assert [item.kind for item in events if item.kind != "waiting"] == ["outcome", "failed"]
    assert events[-1].data["problem"] == "Cancelled by local."
    assert engine._parts.library.store.version == version
    assert [engine.text(item.id) for item in engine.documents()] == sorted(FILES.values())
    assert engine.search("年假")
