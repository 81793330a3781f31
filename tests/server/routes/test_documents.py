"""Documents: upload, read, remove, reindex."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette import formparsers

from tests.reading.documents import docx
from tests.server.conftest import Serve, Served
from tests.uploads.files import full_disk
from veracity.engine import Veracity
from veracity.errors import KnowledgeError
from veracity.models import Document, IngestReport
from veracity.server.app import make_app
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
    """An admin."""
    return served.client()


def upload(client: httpx.Client, *files: tuple[str, str | bytes], **headers: str) -> httpx.Response:
    parts = [("files", (name, data.encode() if isinstance(data, str) else data)) for name, data in files]
    return client.post("/api/documents", files=parts, headers=headers)


def read_progress(response: httpx.Response) -> list[dict[str, Any]]:
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
    assert [item.name for item in report.outcomes] == ["leave.md", "年假制度.txt", "年次休暇.html", "trips.docx"]
    assert report.count("added") == 4
    listed = client.get("/api/documents").json()
    assert {item["language"] for item in listed} == {"en", "zh", "ja"}
    for query, word in (("paid leave", "25"), ("带薪年假", "十五天"), ("有給休暇", "二十日"), ("hotels", "150")):
        assert word in client.post("/api/search", json={"query": query}).json()[0]["text"]


def test_progress_is_streamed(client: httpx.Client) -> None:
    response = upload(
        client, ("a.txt", "The office opens at nine."), ("b.bin", bytes(range(256))), ("c.txt", CHINESE), accept=EVENTS
    )
    *outcomes, last = read_progress(response)
    assert [(item["name"], item["status"], item["done"], item["to_come"]) for item in outcomes] == [
        ("a.txt", "added", 1, 2),
        ("b.bin", "skipped", 2, 1),
        ("c.txt", "added", 3, 0),
    ]
    assert outcomes[1]["reason"]
    assert last["kind"] == "report"
    assert [item["name"] for item in last["outcomes"]] == ["a.txt", "b.bin", "c.txt"]


def test_an_upload_with_the_same_name_is_an_update(client: httpx.Client) -> None:
    first = upload(client, ("a.txt", "The office opens at nine.")).json()["outcomes"][0]
    again = upload(client, ("a.txt", "The office opens at ten.")).json()["outcomes"][0]
    assert (again["status"], again["document_id"]) == ("updated", first["document_id"])
    assert len(client.get("/api/documents").json()) == 1


def sent_raw(client: httpx.Client, body: str | bytes, kind: str = "multipart/form-data; boundary=b") -> httpx.Response:
    content = body.encode() if isinstance(body, str) else body
    return client.post("/api/documents", content=content, headers={"Content-Type": kind})


def part(disposition: str) -> str:
    return f'--b\r\nContent-Disposition: form-data; name="files"; {disposition}\r\n\r\n{CHINESE}\r\n'


def test_files_with_the_same_name_in_one_upload_do_not_replace_each_other(client: httpx.Client) -> None:
    body = "".join(part(f'filename="{name}"') for name in ("a/規程.md", "b/規程.md", "規程.md", "規程.md"))
    outcomes = sent_raw(client, body + "--b--\r\n").json()["outcomes"]
    assert [(item["name"], item["status"]) for item in outcomes] == [
        ("a - 規程.md", "added"),
        ("b - 規程.md", "added"),
        ("規程.md", "added"),
        ("規程.md", "failed"),
    ]
    assert "same name" in outcomes[3]["reason"]
    assert len(client.get("/api/documents").json()) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [("a/b.md", "a - b.md"), ("caf\u00e9.md", "cafe\u0301.md"), ("./q.md", "q.md"), ("/x/規程.md", "/y/規程.md")],
)
def test_files_stored_under_the_same_name_do_not_replace_each_other(
    client: httpx.Client, workspace: Path, first: str, second: str
) -> None:
    added, failed = upload(client, (first, JAPANESE), (second, CHINESE)).json()["outcomes"]
    assert (added["status"], failed["status"], failed["name"]) == ("added", "failed", second)
    assert "same name" in failed["reason"]
    assert (workspace / "uploads" / added["name"]).read_text() == JAPANESE


def test_dotnet_file_names_are_decoded(client: httpx.Client) -> None:
    name = "filename=\"=?utf-8?B?5bm0LnR4dA==?=\"; filename*=utf-8''%E5%B9%B4%20%E5%81%87.txt"
    assert sent_raw(client, part(name) + "--b--\r\n").json()["outcomes"][0]["name"] == "年 假.txt"


@pytest.mark.parametrize("name", ["../../veracity.toml", "..\\..\\configs\\evaluator.toml", "", ".hidden", "x" * 300])
def test_hostile_names_stay_in_the_uploads_folder(client: httpx.Client, workspace: Path, name: str) -> None:
    before = {path for path in workspace.rglob("*") if "uploads" not in path.parts}
    sent = sent_raw(client, part(f'filename="{name}"') + "--b--\r\n")
    assert sent.json()["outcomes"][0]["status"] == "added"
    new = {path for path in workspace.rglob("*") if "uploads" not in path.parts} - before
    assert {path.relative_to(workspace).parts[0] for path in new} <= {"knowledge", "ledger"}
    [kept] = [path for path in (workspace / "uploads").iterdir() if path.is_file()]
    assert not kept.name.startswith(".")


def test_too_large_files_are_skipped_and_too_large_requests_refused(client: httpx.Client) -> None:
    item = upload(client, ("large.txt", "a " * 600_000), ("small.txt", "The office opens at nine."))
    assert [(each["status"], "MB" in each["reason"]) for each in item.json()["outcomes"]] == [
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
        (part('filename="a.txt"') + part('filename="b.txt"'), "multipart/form-data; boundary=b"),  # truncated
        (part('filename="年.txt"') + "--b--\r\n", "multipart/form-data; boundary=b; charset=undefined"),
        (b"files=a", "application/x-www-form-urlencoded"),
        (b'{"files": []}', "application/json"),
    ],
)
def test_invalid_uploads_are_refused(client: httpx.Client, body: str | bytes, kind: str) -> None:
    assert kind_of(sent_raw(client, body, kind)) == (400, "InputError")
    assert client.get("/api/documents").json() == []


def test_files_before_a_failure_are_reported(
    client: httpx.Client, engine: Veracity, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = engine.upload

    def fails_later(name: str, source: Any) -> IngestReport:
        if name != "a.txt":
            raise KnowledgeError("The disk is full.")
        return whole(name, source)

    monkeypatch.setattr(engine, "upload", fails_later)
    report = upload(client, ("a.txt", CHINESE), ("b.txt", CHINESE), ("c.txt", CHINESE)).json()
    assert [(item["name"], item["status"], item["reason"]) for item in report["outcomes"]] == [
        ("a.txt", "added", ""),
        ("b.txt", "failed", "The disk is full."),
        ("c.txt", "failed", "The disk is full."),
    ]


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
def test_text_offsets_count_code_points(
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
        "format": "text",
        "markdown": False,
        "has_original": False,
    }


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
@pytest.mark.parametrize("spools", [False, True], ids=["stored", "received"])
def test_a_full_disk_is_one_sentence(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, spools: bool
) -> None:
    """While the upload is stored in the workspace, or before, while it is received."""
    if spools:
        monkeypatch.setattr(formparsers, "SpooledTemporaryFile", full_disk)
    else:
        monkeypatch.setattr(tempfile, "TemporaryFile", full_disk)
    response = upload(client, ("a.txt", "The office opens at nine. " * 1000))
    message = response.json()["error"]["message"]
    assert kind_of(response) == (507, "FullDiskError")
    assert "No space left on device" in message and message.count(". ") == 0
    assert "Traceback" not in caplog.text


def test_text_parts_join_to_the_whole(client: httpx.Client, engine: Veracity) -> None:
    text = "年假制度。" * 50_001
    engine.add(Document(id="long", text=text))
    pieces, start = [], 0
    while start < len(text):
        found = client.get("/api/document/text", params={"id": "long", "start": start, "end": 10**9}).json()
        pieces.append(found["text"])
        start = found["end"]
    assert "".join(pieces) == text
    assert [len(piece) for piece in pieces] == [100_000, 100_000, 50_005]


def test_passage_offsets_match_the_text(client: httpx.Client) -> None:
    upload(client, ("休暇.txt", "😀 " + "前書きです。" * 400 + JAPANESE))
    found = client.post("/api/search", json={"query": "有給休暇"}).json()[0]
    place = {"id": found["document_id"], "start": found["start"], "end": found["end"]}
    assert client.get("/api/document/text", params=place).json()["text"] == found["text"]


@pytest.mark.parametrize(
    ("params", "expected"),
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
def test_invalid_text_requests_are_refused(
    client: httpx.Client, params: dict[str, Any], expected: tuple[int, str]
) -> None:
    assert kind_of(client.get("/api/document/text", params=params)) == expected


def test_removing_deletes_the_uploaded_file_and_needs_an_id(client: httpx.Client, workspace: Path) -> None:
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


def test_documents_can_be_reindexed(client: httpx.Client) -> None:
    upload(client, ("a.txt", "The office opens at nine."), ("年假.txt", CHINESE))
    assert [item["status"] for item in client.post("/api/documents/reindex").json()["outcomes"]] == ["updated"] * 2
    *outcomes, last = read_progress(client.post("/api/documents/reindex", headers={"Accept": EVENTS}))
    assert [(item["done"], item["to_come"]) for item in outcomes] == [(1, 1), (2, 0)]
    assert last["kind"] == "report"
    assert "十五天" in client.post("/api/search", json={"query": "带薪年假"}).json()[0]["text"]


def test_only_admins_change_documents(client: httpx.Client, served: Served) -> None:
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


def test_uploads_without_a_token_are_not_read(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
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
