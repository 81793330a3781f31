"""The list of the caller's last upload: announced, kept on the server, stopped and dismissed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.conftest import Serve, Served, serving
from tests.waiting import until
from veracity.engine import Veracity
from veracity.knowledge.library import writer_lock
from veracity.models import IngestReport
from veracity.settings import Settings

LIST = "/api/documents/upload"
SETTINGS = Settings.model_validate(
    {"models": {"embedder": "none"}, "reading": {"workers": 1}, "server": {"upload_megabytes": 2}}
)
TEXTS = {"leave.md": "Full-time staff have 25 days.", "年假.txt": "每年享有十五天年假。", "empty.txt": ""}


@pytest.fixture
def engine(workspace: Path) -> Iterator[Veracity]:
    with Veracity(workspace, settings=SETTINGS) as engine:
        yield engine


@pytest.fixture
def served(engine: Veracity, serve: Serve) -> Served:
    return serve(engine)


def announce(client: httpx.Client, texts: dict[str, str], to: str = "") -> dict[str, Any]:
    files = [{"name": name, "size": len(text.encode())} for name, text in texts.items()]
    response = client.post(LIST, json={"files": files, "to": to})
    assert response.status_code == 200, response.text
    return dict(response.json())


def send(client: httpx.Client, listed: dict[str, Any], texts: dict[str, str]) -> httpx.Response:
    numbers = {file["name"]: file["number"] for file in listed["files"]}
    params = {"upload": listed["id"], "number": [numbers[name] for name in texts]}
    parts = [("files", (name, text.encode())) for name, text in texts.items()]
    return client.post("/api/documents", params=params, files=parts)


def statuses(client: httpx.Client) -> dict[str, str]:
    listed = client.get(LIST).json()
    return {file["name"]: file["status"] for file in listed["files"]} if listed else {}


@contextmanager
def held(engine: Veracity) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Reading a file sets the first event and waits for the second."""
    begun, go_on, whole = threading.Event(), threading.Event(), engine.upload

    def waits(name: str, source: Any) -> IngestReport:
        begun.set()
        go_on.wait(30)
        return whole(name, source)

    engine.upload = waits  # type: ignore[assignment,method-assign]
    try:
        yield begun, go_on
    finally:
        go_on.set()
        engine.upload = whole  # type: ignore[method-assign]


def test_outcomes_are_kept_until_they_are_dismissed(workspace: Path) -> None:
    with Veracity(workspace, settings=SETTINGS) as engine, serving(engine) as served:
        listed = announce(served.client(), {**TEXTS, "never.txt": "sent"})
        send(served.client(), listed, TEXTS).raise_for_status()
    expected = {"leave.md": "added", "年假.txt": "added", "empty.txt": "skipped", "never.txt": "waiting"}
    with Veracity(workspace, settings=SETTINGS) as engine, serving(engine) as served:  # after a restart
        client = served.client()
        assert statuses(client) == expected
        assert client.get(LIST).json()["files"][2]["reason"] == "it is empty"
        assert served.client(role="admin").get(LIST).json() is None  # of another person
        assert client.delete(LIST, params={"id": "another"}).status_code == 204
        assert statuses(client) == expected
        assert client.delete(LIST, params={"id": listed["id"]}).status_code == 204
        assert client.get(LIST).json() is None
        assert len(client.get("/api/documents").json()) == 2


def test_files_over_the_limit_fail_when_they_are_announced(served: Served) -> None:
    client = served.client()
    file = {"name": "large.txt", "size": 2 * 1024 * 1024}
    [listed] = client.post(LIST, json={"files": [file]}).json()["files"]
    assert (listed["status"], listed["reason"]) == ("failed", "it is larger than 2 MB, the limit of this server")


def test_ten_thousand_files_are_announced_at_once(served: Served) -> None:
    client = served.client()
    files = [{"name": f"{number:05} {'名' * 60}.md", "size": 1} for number in range(10_000)]
    listed = client.post(LIST, json={"files": files}).json()
    assert len(listed["files"]) == 10_000
    refused = client.post(LIST, json={"files": files[:1], "to": listed["id"]})
    assert refused.status_code == 400 and "up to 10,000 files" in refused.json()["error"]["message"]


def test_a_stopped_upload_cancels_the_rest(served: Served, engine: Veracity) -> None:
    client = served.client()
    listed = announce(client, {**TEXTS, "later.txt": "Not sent."})
    responses: list[httpx.Response] = []
    with held(engine) as (begun, go_on):
        sending = threading.Thread(target=lambda: responses.append(send(client, listed, TEXTS)))
        sending.start()
        assert begun.wait(20)
        change = client.get("/api/documents/changes").json()
        assert (change["upload"], change["by"]) == (listed["id"], "local")
        assert client.post(f"{LIST}/stop", params={"id": listed["id"]}).status_code == 204
        go_on.set()
        sending.join(30)
    assert [outcome["status"] for outcome in responses[0].json()["outcomes"]] == ["added", "failed", "failed"]
    cancelled = dict.fromkeys(("年假.txt", "empty.txt", "later.txt"), "cancelled")
    assert statuses(client) == {"leave.md": "added", **cancelled}


def test_an_upload_that_waits_can_be_stopped_before_it_starts(served: Served, engine: Veracity) -> None:
    client, other = served.client(), served.client(role="admin")
    listed = announce(client, TEXTS)
    responses: list[httpx.Response] = []
    with held(engine) as (begun, go_on):
        first = threading.Thread(target=lambda: other.post("/api/documents", files={"files": ("a.txt", b"Nine.")}))
        first.start()
        assert begun.wait(20)
        second = threading.Thread(target=lambda: responses.append(send(client, listed, TEXTS)))
        second.start()
        until(lambda: client.get("/api/documents/changes").json()["waiting"] == 1)
        client.post(f"{LIST}/stop", params={"id": listed["id"]})
        go_on.set()
        first.join(30)
        second.join(30)
    assert (responses[0].status_code, responses[0].json()["error"]["kind"]) == (409, "Cancelled")
    assert set(statuses(client).values()) == {"cancelled"}
    assert [item["title"] for item in client.get("/api/documents").json()] == ["a"]


def test_numbers_must_fit_the_files(served: Served) -> None:
    client = served.client()
    refused = client.post("/api/documents", params={"upload": "a", "number": [1, 2]}, files={"files": ("a.txt", b"1")})
    assert refused.status_code == 400 and "number of each file" in refused.json()["error"]["message"]


def test_an_upload_that_fails_as_a_whole_fails_each_file(
    served: Served, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = served.client()
    listed = announce(client, TEXTS)
    monkeypatch.setattr("veracity.knowledge.uploads.LOCK_TIMEOUT_SECONDS", 0.2)
    with writer_lock(workspace / "knowledge"):
        refused = send(client, listed, TEXTS)
    assert refused.status_code == 409
    assert set(statuses(client).values()) == {"failed"}
    assert client.get(LIST).json()["files"][0]["reason"] == refused.json()["error"]["message"]


def test_forgetting_a_document_removes_it_from_the_list(served: Served) -> None:
    client = served.client()
    send(client, announce(client, TEXTS), TEXTS).raise_for_status()
    document = next(item for item in client.get("/api/documents").json() if item["location"].endswith("年假.txt"))
    client.delete("/api/document", params={"id": document["id"]}).raise_for_status()
    assert statuses(client) == {"leave.md": "added", "empty.txt": "skipped"}


def test_an_upload_that_was_interrupted_gets_its_outcome_when_it_is_finished(workspace: Path) -> None:
    folder = workspace / "uploads"
    with Veracity(workspace, settings=SETTINGS) as engine:
        listed = engine.uploads.announce([("年假.txt", 9), ("lost.txt", 9)])
        engine.uploads.lists.receive("local", listed.id, [1, 2])
    (folder / ".aside").mkdir(parents=True)
    (folder / "年假.txt").write_text(TEXTS["年假.txt"])
    (folder / ".aside" / "before-年假.txt").touch()
    with Veracity(workspace, settings=SETTINGS) as engine, serving(engine) as served:
        until(lambda: statuses(served.client()) == {"年假.txt": "added", "lost.txt": "received"})


@pytest.mark.parametrize("role", ["asker", "approver"])
def test_lists_are_for_those_who_may_upload(served: Served, role: Any) -> None:
    client = served.client(role=role)
    for method, path in (("GET", LIST), ("POST", LIST), ("DELETE", f"{LIST}?id=a"), ("POST", f"{LIST}/stop?id=a")):
        body = {"files": [{"name": "a", "size": 1}]} if (method, path) == ("POST", LIST) else None
        assert client.request(method, path, json=body).status_code == 403
