"""Original files and pages of documents over HTTP."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.reading.documents import pdf
from tests.server.conftest import Serve, Served
from veracity.engine import Veracity
from veracity.models import Document
from veracity.settings import Settings

SETTINGS = {"models": {"embedder": "none"}, "reading": {"workers": 1}}
HTML = "<!doctype html><title>Rules</title><p>Staff have 31 days of leave.</p><script>alert(1)</script>"


@pytest.fixture
def engine(workspace: Path) -> Iterator[Veracity]:
    with Veracity(workspace, settings=Settings.model_validate(SETTINGS)) as engine:
        yield engine


@pytest.fixture
def served(engine: Veracity, serve: Serve) -> Served:
    return serve(engine)


@pytest.fixture
def client(served: Served) -> httpx.Client:
    return served.client(role="asker")


def upload(served: Served, name: str, content: str | bytes) -> str:
    files = {"files": (name, content.encode() if isinstance(content, str) else content)}
    [outcome] = served.client().post("/api/documents", files=files).json()["outcomes"]
    return str(outcome["document_id"])


def original(client: httpx.Client, document_id: str, **options: str) -> httpx.Response:
    return client.get("/api/document/original", params={"id": document_id, **options})


def test_an_original_is_downloaded_as_it_was(served: Served, client: httpx.Client) -> None:
    document_id = upload(served, "規程.html", HTML)
    assert client.get("/api/document/text", params={"id": document_id}).json()["has_original"] is True
    for show in ("false", "true"):  # a page that could run scripts is never shown
        response = original(client, document_id, show=show)
        assert response.content == HTML.encode()
        headers = response.headers
        assert headers["content-disposition"] == "attachment; filename*=UTF-8''%E8%A6%8F%E7%A8%8B.html"
        assert headers["content-type"] == "application/octet-stream"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"].endswith("; sandbox")
        assert "script-src" not in headers["content-security-policy"]
    tag = response.headers["etag"]
    again = client.get("/api/document/original", params={"id": document_id}, headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("drill.PDF", pdf("The drill is in May."), "application/pdf"),
        ("leave.md", "正社員には年に二十日の有給休暇があります。", "text/plain; charset=utf-8"),
        (
            "old.txt",
            "正社員には年に二十日の有給休暇があります。休暇は二週間前までに申請します。".encode("cp932"),
            "text/plain",
        ),
    ],
)
def test_pdf_and_text_can_be_shown(
    served: Served, client: httpx.Client, name: str, content: str | bytes, kind: str
) -> None:
    response = original(client, upload(served, name, content), show="true")
    assert response.headers["content-type"] == kind
    assert response.headers["content-disposition"].startswith("inline; ")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert response.content == (content.encode() if isinstance(content, str) else content)


def test_without_an_original_none_is_offered(served: Served, client: httpx.Client, tmp_path: Path) -> None:
    path = tmp_path / "secret-folder" / "leave.md"
    path.parent.mkdir()
    path.write_text("Staff have 31 days of leave.")
    served.engine.add(Document(id="note", text="Staff have 13 days of leave."))
    [outcome] = served.engine.ingest(path).outcomes
    document_id = outcome.document_id or ""
    assert original(client, document_id).headers["content-disposition"].endswith("''leave.md")
    path.unlink()
    for name in ("note", document_id):
        assert client.get("/api/document/text", params={"id": name}).json()["has_original"] is False
        response = original(client, name)
        assert response.status_code == 404 and "secret-folder" not in response.text
    assert original(client, "nothing").status_code == 404


def test_a_page_is_a_picture_with_the_place_of_the_quote(served: Served, client: httpx.Client) -> None:
    document_id = upload(served, "drill.pdf", pdf("The drill is in May.", "The warden is Maeve."))
    text = client.get("/api/document/text", params={"id": document_id}).json()
    start = text["text"].index("Maeve")
    place: dict[str, str | int] = {"id": document_id, "start": start, "end": start + 5}
    found = client.get("/api/document/page", params=place).json()
    assert (found["page"], found["pages"], found["width"]) == (2, 2, 2000)
    [box] = found["boxes"]
    assert 0 < box["left"] < box["left"] + box["width"] < 1 and 0 < box["top"] < box["top"] + box["height"] < 1
    assert client.get("/api/document/page", params={**place, "page": 1}).json()["boxes"] == []
    response = client.get("/api/document/page/image", params={"id": document_id, "page": 2})
    assert (response.headers["content-type"], response.content[:4]) == ("image/png", b"\x89PNG")
    assert response.headers["cache-control"] == "private, no-cache"
    tag = {"If-None-Match": response.headers["etag"]}
    for page, status in ((2, 304), (1, 200)):
        parameters: dict[str, str | int] = {"id": document_id, "page": page}
        assert client.get("/api/document/page/image", params=parameters, headers=tag).status_code == status


def test_what_is_gone_or_has_no_pages_gives_404(served: Served, client: httpx.Client) -> None:
    document_id = upload(served, "drill.pdf", pdf("The drill is in May."))
    note = upload(served, "leave.md", "Staff have 31 days of leave.")
    for name, page in ((document_id, 2), (note, 1), ("nothing", 1)):
        for path in ("page", "page/image"):
            response = client.get(f"/api/document/{path}", params={"id": name, "page": page})
            assert response.status_code == 404, (name, path)
    served.client().delete("/api/document", params={"id": document_id})
    for path in ("original", "page", "page/image"):
        assert client.get(f"/api/document/{path}", params={"id": document_id, "page": 1}).status_code == 404


def test_a_token_is_needed(served: Served) -> None:
    document_id = upload(served, "drill.pdf", pdf("The drill is in May."))
    stranger = served.client(token="")
    for path in ("original", "page", "page/image"):
        assert stranger.get(f"/api/document/{path}", params={"id": document_id, "page": 1}).status_code == 401
