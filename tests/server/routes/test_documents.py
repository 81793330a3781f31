"""The documents over HTTP: uploading with progress, reading in code points, removing, indexing anew."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.reading.documents import docx
from tests.server.conftest import Serve, Served
from veracity.engine import Veracity
from veracity.errors import KnowledgeError
from veracity.knowledge import uploads
from veracity.knowledge.library import writing
from veracity.models import Document, IngestReport
from veracity.server import sse
from veracity.server.app import make_app
from veracity.server.live import document_jobs
from veracity.server.routes import documents
from veracity.server.routes import documents as documents_module
from veracity.settings import Settings

EVENTS = "text/event-stream"
SETTINGS = {
    "models": {"embedder": "none"},
    "reading": {"workers": 1, "max_megabytes": 1},
    "server": {"upload_megabytes": 2, "request_kilobytes": 64},
}
JAPANESE = "正社員には年に二十日の有給休暇があります。休暇は二週間前までに申請します。"
CHINESE = "正式员工每年享有十五天带薪年假。"


@pytest.fixture
def engine(workspace: Path) -> Iterator[Veracity]:
    with Veracity(workspace, settings=Settings.model_validate(SETTINGS)) as engine:
        yield engine


@pytest.fixture
def served(engine: Veracity, serve: Serve) -> Served:
    return serve(engine)


@pytest.fixture
def client(served: Served) -> httpx.Client:
    """An admin's."""
    return served.client()


def upload(client: httpx.Client, *files: tuple[str, str | bytes], **headers: str) -> httpx.Response:
    parts = [("files", (name, data.encode() if isinstance(data, str) else data)) for name, data in files]
    return client.post("/api/documents", files=parts, headers=headers)


def events_of(response: httpx.Response) -> list[dict[str, Any]]:
    assert response.headers["content-type"].startswith("text/event-stream")
    blocks = [block.splitlines() for block in response.text.split("\n\n") if "data:" in block]
    found = [(block[0].removeprefix("event: "), json.loads(block[1].removeprefix("data: "))) for block in blocks]
    assert all(kind == data["kind"] for kind, data in found)
    return [data for _, data in found]


def kind_of(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["kind"]


def test_files_in_three_languages_are_uploaded_listed_and_found(client: httpx.Client) -> None:
    html = f"<html><head><title>年次休暇</title></head><body><p>{JAPANESE}</p></body></html>"
    response = upload(
        client,
        ("leave.md", "# Leave\n\nFull-time staff have 25 days of paid leave."),
        ("年假制度.txt", CHINESE),
        ("年次休暇.html", html),
        ("trips.docx", docx("# Trips", "Hotels may cost up to 150 euros a night.")),
    )
    report = IngestReport.model_validate(response.json())
    assert [one.name for one in report.outcomes] == ["leave.md", "年假制度.txt", "年次休暇.html", "trips.docx"]
    assert report.count("added") == 4
    listed = client.get("/api/documents").json()
    assert {one["language"] for one in listed} == {"en", "zh", "ja"}
    for query, word in (("paid leave", "25"), ("带薪年假", "十五天"), ("有給休暇", "二十日"), ("hotels", "150")):
        assert word in client.post("/api/search", json={"query": query}).json()[0]["text"]


def test_progress_is_told_as_it_happens(client: httpx.Client) -> None:
    response = upload(
        client, ("a.txt", "The office opens at nine."), ("b.bin", bytes(range(256))), ("c.txt", CHINESE), accept=EVENTS
    )
    *outcomes, last = events_of(response)
    assert [(one["name"], one["status"], one["done"], one["to_come"]) for one in outcomes] == [
        ("a.txt", "added", 1, 2),
        ("b.bin", "skipped", 2, 1),
        ("c.txt", "added", 3, 0),
    ]
    assert outcomes[1]["reason"]
    assert last["kind"] == "report"
    assert [one["name"] for one in last["outcomes"]] == ["a.txt", "b.bin", "c.txt"]


def test_a_file_of_the_same_name_is_an_update(client: httpx.Client) -> None:
    first = upload(client, ("a.txt", "The office opens at nine.")).json()["outcomes"][0]
    again = upload(client, ("a.txt", "The office opens at ten.")).json()["outcomes"][0]
    assert (again["status"], again["document_id"]) == ("updated", first["document_id"])
    assert len(client.get("/api/documents").json()) == 1


def sent_raw(client: httpx.Client, body: str | bytes, kind: str = "multipart/form-data; boundary=b") -> httpx.Response:
    content = body.encode() if isinstance(body, str) else body
    return client.post("/api/documents", content=content, headers={"Content-Type": kind})


def part(disposition: str) -> str:
    return f'--b\r\nContent-Disposition: form-data; name="files"; {disposition}\r\n\r\n{CHINESE}\r\n'


def test_files_of_one_name_in_one_upload_do_not_take_each_others_place(client: httpx.Client) -> None:
    body = "".join(part(f'filename="{name}"') for name in ("a/規程.md", "b/規程.md", "規程.md", "規程.md"))
    told = sent_raw(client, body + "--b--\r\n").json()["outcomes"]
    assert [(one["name"], one["status"]) for one in told] == [
        ("a - 規程.md", "added"),
        ("b - 規程.md", "added"),
        ("規程.md", "added"),
        ("規程.md", "failed"),
    ]
    assert "same name" in told[3]["reason"]
    assert len(client.get("/api/documents").json()) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [("a/b.md", "a - b.md"), ("caf\u00e9.md", "cafe\u0301.md"), ("./q.md", "q.md"), ("/x/規程.md", "/y/規程.md")],
)
def test_files_that_are_kept_under_one_name_do_not_either(
    client: httpx.Client, workspace: Path, first: str, second: str
) -> None:
    added, failed = upload(client, (first, JAPANESE), (second, CHINESE)).json()["outcomes"]
    assert (added["status"], failed["status"], failed["name"]) == ("added", "failed", second)
    assert "same name" in failed["reason"]
    assert (workspace / "uploads" / added["name"]).read_text() == JAPANESE


def test_names_as_dotnet_sends_them(client: httpx.Client) -> None:
    name = "filename=\"=?utf-8?B?5bm0LnR4dA==?=\"; filename*=utf-8''%E5%B9%B4%20%E5%81%87.txt"
    assert sent_raw(client, part(name) + "--b--\r\n").json()["outcomes"][0]["name"] == "年 假.txt"


@pytest.mark.parametrize("name", ["../../veracity.toml", "..\\..\\configs\\evaluator.toml", "", ".hidden", "x" * 300])
def test_hostile_names_stay_in_the_folder_of_uploads(client: httpx.Client, workspace: Path, name: str) -> None:
    before = {path for path in workspace.rglob("*") if "uploads" not in path.parts}
    sent = sent_raw(client, part(f'filename="{name}"') + "--b--\r\n")
    assert sent.json()["outcomes"][0]["status"] == "added"
    new = {path for path in workspace.rglob("*") if "uploads" not in path.parts} - before
    assert {path.relative_to(workspace).parts[0] for path in new} <= {"knowledge", "ledger"}
    [kept] = [path for path in (workspace / "uploads").iterdir() if path.is_file()]
    assert not kept.name.startswith(".")


def test_a_file_that_is_too_large_is_told_and_a_request_refused(client: httpx.Client) -> None:
    one = upload(client, ("large.txt", "a " * 600_000), ("small.txt", "The office opens at nine."))
    assert [(each["status"], "MB" in each["reason"]) for each in one.json()["outcomes"]] == [
        ("skipped", True),
        ("added", False),
    ]
    assert kind_of(upload(client, ("huge.txt", b"a" * 2_200_000))) == (413, "TooLarge")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "multipart/form-data"),
        (b"", "multipart/form-data; boundary=b"),
        (b"--b\r\nnonsense", "multipart/form-data; boundary=b"),
        (
            b'--b\r\nContent-Disposition: form-data; name="files"\r\n\r\ntext\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="x"; filename="y"\r\n\r\nz\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
        (part('filename="a.txt"') + part('filename="b.txt"'), "multipart/form-data; boundary=b"),  # it broke off
        (part('filename="年.txt"') + "--b--\r\n", "multipart/form-data; boundary=b; charset=undefined"),
        (b"files=a", "application/x-www-form-urlencoded"),
        (b'{"files": []}', "application/json"),
    ],
)
def test_what_is_no_upload_is_refused(client: httpx.Client, body: str | bytes, kind: str) -> None:
    assert kind_of(sent_raw(client, body, kind)) == (400, "InputError")
    assert client.get("/api/documents").json() == []


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


def test_a_queue_that_is_full_says_when_to_come_again(
    client: httpx.Client, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_jobs, "MOST", 0)
    for accept in ("*/*", EVENTS):
        refused = upload(client, ("a.txt", "The office opens at nine."), accept=accept)
        assert kind_of(refused) == (429, "TooMany")
        assert int(refused.headers["retry-after"]) > 0
    assert served.app.state.limits.streams == 0


@dataclass
class Slow:
    """An upload under way that goes on until `go_on` is set."""

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
def test_a_change_that_does_not_get_its_turn_says_what_is_under_way_and_is_never_done(
    client: httpx.Client, engine: Veracity, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    upload(client, ("a.txt", "The office opens at nine."))
    [known] = client.get("/api/documents").json()
    monkeypatch.setattr(documents, "PATIENCE", 0.2)
    monkeypatch.setattr(documents_module, "PATIENCE", 0.2)
    with slow_upload(client, engine, name) as slow:
        removed = client.delete("/api/document", params={"id": known["id"]})
        indexed = client.post("/api/documents/reindex")
        told = events_of(client.post("/api/documents/reindex", headers={"Accept": EVENTS}))
    for refused in (removed, indexed):
        assert kind_of(refused) == (409, "BusyError")
        assert refused.headers["retry-after"] == "5"
        assert f'A file is being read: "{name}"' in refused.json()["error"]["message"]
    assert [one["kind"] for one in told] == ["waiting", "failed"]
    assert slow.answers[0].json()["outcomes"][0]["status"] == "added"
    upload(client, ("b.txt", "The canteen closes at two."))  # whatever waited has had its turn
    assert known["id"] in {one["id"] for one in client.get("/api/documents").json()}


def wait_for(client: httpx.Client, waiting: int) -> dict[str, Any]:
    """How the changes stand once so many wait."""
    end = time.monotonic() + 30
    while (seen := client.get("/api/documents/changes").json())["waiting"] != waiting:
        assert time.monotonic() < end, seen
        time.sleep(0.05)
    return dict(seen)


def test_who_goes_away_while_a_removal_waits_has_removed_nothing(
    client: httpx.Client, engine: Veracity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "PATIENCE", 60.0)
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
    assert known["id"] in {one["id"] for one in client.get("/api/documents").json()}


def test_an_upload_that_waits_says_so_and_then_that_it_is_its_turn(
    client: httpx.Client, engine: Veracity, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [("files", (name, JAPANESE.encode())) for name in ("一.txt", "二.txt")]
    kinds: list[tuple[str, int]] = []
    pauses = 0
    monkeypatch.setattr(sse.while_welcome, "__defaults__", (0.05,))
    with (
        slow_upload(client, engine) as slow,
        client.stream("POST", "/api/documents", files=parts, headers={"Accept": EVENTS}) as response,
    ):
        for line in response.iter_lines():
            if line.startswith("data: "):
                data = json.loads(line.removeprefix("data: "))
                kinds.append((data["kind"], data.get("ahead", 0)))
            pauses += line == ": "
            if kinds and pauses > 2:  # the line is kept open while nothing happens
                slow.go_on.set()
    assert kinds == [("waiting", 1), ("waiting", 0), ("outcome", 0), ("outcome", 0), ("report", 0)]


def test_everybody_sees_what_is_under_way(client: httpx.Client, served: Served, engine: Veracity) -> None:
    asker = served.client(role="asker")
    nothing = {"under_way": False, "number": 0, "what": "", "name": "", "waiting": 0, "cancelled_by": ""}
    assert asker.get("/api/documents/changes").json() == nothing
    with slow_upload(client, engine, "有給休暇.txt"):
        later = threading.Thread(target=upload, args=(client, ("b.txt", CHINESE)))
        later.start()
        seen = wait_for(asker, 1)
        told = {"under_way": True, "what": "upload", "name": "有給休暇.txt", "waiting": 1}
        assert seen == {**nothing, **told, "number": 1}
    later.join(20)
    assert asker.get("/api/documents/changes").json() == nothing


def test_whoever_waits_is_told_at_once_that_the_server_stops(
    client: httpx.Client, served: Served, engine: Veracity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "PATIENCE", 60.0)
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
        served.app.state.changes.stop()
        for thread in threads:
            thread.join(20)
        assert kind_of(answers["remove"]) == kind_of(answers["json"]) == (503, "Stopping")
        assert answers["json"].headers["retry-after"]
        *_, last = events_of(answers["events"])
        assert last == {"kind": "failed", "problem": "The server is stopping: try again when it runs."}
        assert kind_of(client.post("/api/documents/reindex")) == (503, "Stopping")
    assert kind_of(slow.answers[0]) == (503, "Stopping")
    assert "b" not in {one.title for one in engine.documents()}


def test_what_a_server_left_that_died_is_brought_in_when_one_starts(
    engine: Veracity, workspace: Path, serve: Serve
) -> None:
    folder = workspace / "uploads"
    (folder / ".aside").mkdir(parents=True)
    left = {"handbook.txt": b"The office opens at nine.", "年假.txt": CHINESE.encode(), "x.bin": bytes(range(256))}
    for name, content in left.items():
        (folder / name).write_bytes(content)
        (folder / ".aside" / f"before-{name}").touch()
    (folder / "put there by hand.bin").write_bytes(bytes(range(256)))
    served = serve(engine)
    end = time.monotonic() + 20
    while (len(engine.documents()) < 2 or served.app.state.changes.standing().under_way) and time.monotonic() < end:
        time.sleep(0.05)
    assert {one.title for one in engine.documents()} == {"handbook", "年假"}
    names = {path.name for path in folder.iterdir() if path.is_file()}
    assert names == {"handbook.txt", "年假.txt", "put there by hand.bin"}


def test_another_process_that_writes_is_waited_for_a_while(
    client: httpx.Client, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(client, ("a.txt", "The office opens at nine."))
    [known] = client.get("/api/documents").json()
    monkeypatch.setattr(uploads, "PATIENCE", 0.2)
    with writing(workspace / "knowledge"):
        refused = upload(client, ("a.txt", "The office opens at ten."))
        told = upload(client, ("a.txt", "The office opens at ten."), accept=EVENTS)
        removed = client.delete("/api/document", params={"id": known["id"]})
    assert kind_of(refused) == kind_of(removed) == (409, "BusyError")
    assert refused.headers["retry-after"]
    assert [one["kind"] for one in events_of(told)] == ["failed"]
    assert client.get("/api/document/text", params={"id": known["id"]}).json()["text"] == "The office opens at nine."


def test_what_was_brought_in_before_a_failure_is_told(
    client: httpx.Client, engine: Veracity, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = engine.upload

    def fails_later(name: str, source: Any) -> IngestReport:
        if name != "a.txt":
            raise KnowledgeError("The disk is full.")
        return whole(name, source)

    monkeypatch.setattr(engine, "upload", fails_later)
    report = upload(client, ("a.txt", CHINESE), ("b.txt", CHINESE), ("c.txt", CHINESE)).json()
    assert [(one["name"], one["status"], one["reason"]) for one in report["outcomes"]] == [
        ("a.txt", "added", ""),
        ("b.txt", "failed", "The disk is full."),
        ("c.txt", "failed", "The disk is full."),
    ]


def test_who_goes_away_does_not_end_the_upload(client: httpx.Client, served: Served, engine: Veracity) -> None:
    """The stream is left after its first lines, as a browser does that is closed."""
    parts = [("files", (f"{number}.txt", f"Room {number} is blue.".encode())) for number in range(5)]
    with client.stream("POST", "/api/documents", files=parts, headers={"Accept": EVENTS}) as response:
        next(response.iter_lines())
    end = time.monotonic() + 20
    while (len(engine.documents()) < 5 or served.app.state.limits.streams) and time.monotonic() < end:
        time.sleep(0.1)
    assert (len(engine.documents()), served.app.state.limits.streams) == (5, 0)


@pytest.mark.parametrize(
    ("start", "end", "expected", "place"),
    [
        (None, None, "😀正社員には年に二十日", (0, 11)),
        (1, 4, "正社員", (1, 4)),
        (0, 1, "😀", (0, 1)),
        (9, 99, "十日", (9, 11)),
        (50, None, "", (11, 11)),
        (3, 3, "", (3, 3)),
    ],
)
def test_text_is_counted_in_code_points(
    client: httpx.Client, engine: Veracity, start: int | None, end: int | None, expected: str, place: tuple[int, int]
) -> None:
    engine.add(Document(id="休暇 & more", title="年次休暇", text="😀正社員には年に二十日"))
    given = {name: value for name, value in (("start", start), ("end", end)) if value is not None}
    found = client.get("/api/document/text", params={"id": "休暇 & more", **given}).json()
    assert found == {
        "id": "休暇 & more",
        "title": "年次休暇",
        "text": expected,
        "start": place[0],
        "end": place[1],
        "characters": 11,
        "page_starts": [],
    }


def test_text_comes_in_pieces_that_make_the_whole(client: httpx.Client, engine: Veracity) -> None:
    text = "年假制度。" * 50_001
    engine.add(Document(id="long", text=text))
    pieces, start = [], 0
    while start < len(text):
        found = client.get("/api/document/text", params={"id": "long", "start": start, "end": 10**9}).json()
        pieces.append(found["text"])
        start = found["end"]
    assert "".join(pieces) == text
    assert [len(piece) for piece in pieces] == [100_000, 100_000, 50_005]


def test_the_quote_of_a_passage_stands_where_it_says(client: httpx.Client) -> None:
    upload(client, ("休暇.txt", "😀 " + "前書きです。" * 400 + JAPANESE))
    found = client.post("/api/search", json={"query": "有給休暇"}).json()[0]
    place = {"id": found["document_id"], "start": found["start"], "end": found["end"]}
    assert client.get("/api/document/text", params=place).json()["text"] == found["text"]


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"id": "no such"}, (404, "NotFoundError")),
        ({"id": "'; DROP"}, (404, "NotFoundError")),
        ({"id": ""}, (404, "NotFoundError")),
        ({"id": "a", "start": 5, "end": 4}, (400, "InputError")),
        ({"id": "a", "start": -1}, (422, "InputError")),
        ({"id": "a", "end": "x"}, (422, "InputError")),
        ({"id": "a" * 1001}, (422, "InputError")),
        ({}, (422, "InputError")),
    ],
)
def test_text_that_is_not_there(client: httpx.Client, params: dict[str, Any], told: tuple[int, str]) -> None:
    assert kind_of(client.get("/api/document/text", params=params)) == told


def test_removing_takes_the_file_along_and_a_path_is_no_name(client: httpx.Client, workspace: Path) -> None:
    upload(client, ("手册.txt", CHINESE))
    [known] = client.get("/api/documents").json()
    assert client.get("/api/document", params={"id": known["id"]}).json() == known
    assert kind_of(client.delete("/api/document", params={"id": known["location"]})) == (404, "NotFoundError")
    removed = client.delete("/api/document", params={"id": known["id"]})
    assert removed.json() == [known]
    assert client.get("/api/documents").json() == []
    assert known["location"] == "uploads/手册.txt"
    assert not (workspace / known["location"]).exists()
    assert kind_of(client.delete("/api/document", params={"id": known["id"]})) == (404, "NotFoundError")


def test_indexing_anew(client: httpx.Client) -> None:
    upload(client, ("a.txt", "The office opens at nine."), ("年假.txt", CHINESE))
    assert [one["status"] for one in client.post("/api/documents/reindex").json()["outcomes"]] == ["updated"] * 2
    *outcomes, last = events_of(client.post("/api/documents/reindex", headers={"Accept": EVENTS}))
    assert [(one["done"], one["to_come"]) for one in outcomes] == [(1, 1), (2, 0)]
    assert last["kind"] == "report"
    assert "十五天" in client.post("/api/search", json={"query": "带薪年假"}).json()[0]["text"]


def test_who_has_the_page_open_is_told_of_every_change(
    client: httpx.Client, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(served.app.state.feed, "tell", told.append)
    upload(client, ("a.txt", "The office opens at nine."))
    client.post("/api/documents/reindex")
    client.delete("/api/document", params={"id": client.get("/api/documents").json()[0]["id"]})
    assert told == ["documents"] * 6  # when it begins and when it has ended


def test_an_asker_reads_and_does_not_change(client: httpx.Client, served: Served) -> None:
    upload(client, ("a.txt", "The office opens at nine."))
    for role in ("asker", "approver"):
        other = served.client(role=role)
        [known] = other.get("/api/documents").json()
        assert other.get("/api/document/text", params={"id": known["id"]}).status_code == 200
        assert kind_of(upload(other, ("b.txt", CHINESE))) == (403, "Forbidden")
        assert kind_of(other.post("/api/documents/reindex")) == (403, "Forbidden")
        assert kind_of(other.delete("/api/documents/changes")) == (403, "Forbidden")
        assert kind_of(other.delete("/api/document", params={"id": known["id"]})) == (403, "Forbidden")
    assert len(client.get("/api/documents").json()) == 1


def test_nobody_gets_in_without_a_token_and_no_upload_is_read(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    monkeypatch.setattr("starlette.requests.Request.stream", read.append)
    stranger = served.client(token="")
    assert kind_of(upload(stranger, ("a.txt", CHINESE))) == (401, "Unauthorized")
    for path in ("/api/documents", "/api/document?id=a", "/api/document/text?id=a"):
        assert kind_of(stranger.get(path)) == (401, "Unauthorized")
    assert read == []


def test_every_status_is_described(engine: Veracity) -> None:
    paths = make_app(engine).openapi()["paths"]
    described = {
        ("/api/documents", "get"): {"200", "401", "429"},
        ("/api/documents", "post"): {"200", "400", "401", "403", "409", "413", "429", "503"},
        ("/api/documents/changes", "get"): {"200", "401", "429"},
        ("/api/documents/changes", "delete"): {"200", "401", "403", "404", "429"},
        ("/api/documents/reindex", "post"): {"200", "401", "403", "409", "429", "503"},
        ("/api/document", "get"): {"200", "401", "404", "422", "429"},
        ("/api/document", "delete"): {"200", "401", "403", "404", "409", "422", "429", "503"},
        ("/api/document/text", "get"): {"200", "400", "401", "404", "422", "429"},
    }
    for (path, method), statuses in described.items():
        assert statuses <= set(paths[path][method]["responses"])
    uploaded = paths["/api/documents"]["post"]
    assert set(uploaded["responses"]["200"]["content"]) == {"application/json", EVENTS}
    assert "files" in uploaded["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]
