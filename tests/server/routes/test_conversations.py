"""Conversations over HTTP: rename, pin, export; only the caller's own."""

import re
from html import unescape
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.reading.documents import pdf
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


@pytest.mark.parametrize(
    "title, exported",
    [
        ("**Leave** _policy_ `x`", r"\*\*Leave\*\* \_policy\_ \`x\`"),
        ("# 1. leave_policy.md", r"\# 1. leave_policy.md"),
        ("1. ~~休假~~ [a](http://b.example) &amp;", r"1\. \~\~休假\~\~ a \&amp;"),
        ("年 3.5 日の休暇 > 2 日 *だけ*", r"年 3.5 日の休暇 > 2 日 \*だけ\*"),
    ],
)
def test_the_markdown_of_titles_is_escaped_in_an_export(served: Served, title: str, exported: str) -> None:
    client = served.client()
    assert client.patch(f"/api/conversations/{NAME}", json={"title": title}).status_code == 200
    markdown = client.get(f"/api/conversations/{NAME}/export").text
    assert markdown.startswith(f"# {exported}\n")
    html = MarkdownIt().render(markdown)
    shown = re.sub(r"<[^>]+>", "", html.split("</h1>")[0])
    assert unescape(shown) == title.replace("[a](http://b.example)", "a")


def test_an_export_names_the_pages_of_pdf_files(engine_with: MakeEngine, serve: Serve, tmp_path: Path) -> None:
    engine = engine_with()
    path = tmp_path / "canteen.pdf"
    path.write_bytes(pdf("Nothing here.", "The canteen serves soup on Thursdays and curry on Fridays."))
    engine.ingest(path)
    engine.ask("When does the canteen serve soup?", conversation="c")
    engine.describe_conversation("c", title="食堂")
    client = serve(engine).client()
    [source] = client.get("/api/conversations/c/export?format=json").json()["turns"][0]["sources"]
    assert source["pages"] == [2]
    assert "canteen.pdf · 第 2 页)" in client.get("/api/conversations/c/export").text
    path.write_bytes(pdf("A new page.", "Nothing here.", "The canteen serves soup on Thursdays and curry on Fridays."))
    engine.ingest(path)
    assert engine.transcript("c").turns[0].sources[0].pages == [1], "where the passage began, before the change"


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
