"""Uploads to a server that does not work: workers prepare them in slices, and one commits them."""

import io
import json
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.cluster.conftest import MakeEngine, StartWorker
from tests.server.conftest import Served
from tests.waiting import until
from veracity.deadlines import Stop
from veracity.engine import Veracity
from veracity.errors import Stopped
from veracity.knowledge.library import Library
from veracity.ledger.rows.ingestions import MAX_ATTEMPTS
from veracity.queues import ingestion_queue

ServeWithoutWork = Callable[[Veracity], Served]
TEXTS = {
    "harbour.md": "# Harbour\n\nThe harbour of Mirefield opens at six in the morning.",
    "港口.txt": "青石港的灯塔建于一九一二年,高四十二米。",
    "港.txt": "青石港の灯台は一九一二年に建てられました。高さは四十二メートルです。",
}


def parts(texts: dict[str, str]) -> list[tuple[str, tuple[str, bytes]]]:
    return [("files", (name, text.encode())) for name, text in texts.items()]


def add(engine: Veracity, texts: dict[str, str], upload: str = "u", user: str = "ann") -> list[Any]:
    files = [(name, io.BytesIO(text.encode())) for name, text in texts.items()]
    return engine.ingestion_queue.add(upload, user, files)


def slices(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        query = "SELECT args->>'slice' FROM procrastinate_jobs WHERE args ? 'slice' ORDER BY priority DESC, id"
        return [row[0] for row in connection.execute(query).fetchall()]


def prepare_all(engine: Veracity, url: str) -> None:
    for each in slices(url):
        engine.ingestion_queue.prepare(each)


def staged(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "uploads/.queued").rglob("*") if path.is_file())


def statuses(engine: Veracity, upload: str = "u") -> list[Any]:
    results = engine.ingestion_queue.progress(upload).results.values()
    return [getattr(result, "status", result) for result in results]


def test_workers_ingest_what_is_uploaded(
    sharing: MakeEngine, work: StartWorker, serve: ServeWithoutWork, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several slices, in three languages, with an unreadable file and one that is there twice."""
    monkeypatch.setattr(ingestion_queue, "MAX_SLICE_FILES", 2)
    served = serve(sharing())
    work(sharing())
    broken = io.BytesIO()
    zipfile.ZipFile(broken, "w").close()
    files = [*parts(TEXTS), ("files", ("broken.docx", broken.getvalue())), ("files", ("harbour.md", b"again"))]
    client = served.client()
    with client.stream("POST", "/api/documents", files=files, headers={"Accept": "text/event-stream"}) as response:
        lines = [line for line in response.iter_lines() if line.startswith("data:")]
    events = [json.loads(line.removeprefix("data:")) for line in lines]
    outcomes = [event for event in events if event["kind"] == "outcome"]
    assert [event["done"] for event in outcomes] == [1, 2, 3, 4, 5]
    report = events[-1]
    assert report["kind"] == "report"
    by_name = {outcome["name"]: outcome for outcome in report["outcomes"][:4]}
    assert [by_name[name]["status"] for name in TEXTS] == ["added"] * 3
    assert by_name["broken.docx"]["status"] in ("failed", "skipped")
    assert "same name" in report["outcomes"][4]["reason"]
    for query, name in (("harbour Mirefield", "harbour.md"), ("灯塔", "港口.txt"), ("灯台", "港.txt")):
        assert served.engine.search(query)[0].location == f"uploads/{name}"
    assert sorted(path.name for path in (root / "uploads").glob("[!.]*")) == sorted(TEXTS)
    assert staged(root) == []
    again = client.post("/api/documents", files=parts({**TEXTS, "harbour.md": "It closed."})).json()
    assert [outcome["status"] for outcome in again["outcomes"]] == ["updated", "unchanged", "unchanged"]
    assert "closed" in served.engine.search("harbour closed")[0].text
    kept = client.post("/api/documents", files=[("files", ("harbour.md", b"\x00\x01\x02\x03" * 50))]).json()
    assert "the previous version is kept" in kept["outcomes"][0]["reason"]
    assert served.engine.text(again["outcomes"][0]["document_id"]) == "It closed."


def test_outcomes_are_listed_although_the_server_ended(sharing: MakeEngine, url: str) -> None:
    engine = sharing()
    listed = engine.uploads.announce([(name, 9) for name in [*TEXTS, "never sent.md"]], "ann")
    engine.uploads.lists.receive("ann", listed.id, [1, 2, 3])
    add(engine, TEXTS)
    prepare_all(engine, url)
    engine.ingestion_queue.commit()
    kept = engine.uploads.lists.read("ann")
    assert kept and [file.status for file in kept.files] == ["added", "added", "added", "waiting"]


def test_both_jobs_can_be_executed_twice(
    sharing: MakeEngine, url: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By two workers that began at the same time."""
    engine, other = sharing(), sharing()
    add(engine, TEXTS)
    [only] = slices(url)
    files = engine._parts.ledger.ingestions.queued(only)
    monkeypatch.setattr(other._parts.ledger.ingestions, "queued", lambda _: files)
    for each in (engine, other):
        each.ingestion_queue.prepare(only)
    for each in (engine, other):
        each.ingestion_queue.commit()
    other.ingestion_queue.prepare(only)
    engine.ingestion_queue.commit()
    assert statuses(engine) == ["added"] * 3
    assert len([document for document in engine.documents() if document.location]) == 3
    assert staged(root) == []


def test_a_worker_that_dies_loses_and_repeats_nothing(
    sharing: MakeEngine, url: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some files of a slice, and after the commit of another, before anything else is stored."""
    engine = sharing()
    add(engine, TEXTS)
    stop, seen = Stop(), list[str]()
    put = engine._parts.uploads.staging.put

    def stop_after_first(key: Any, content: Any) -> None:
        put(key, content)
        seen.append(key.name)
        stop.set()

    monkeypatch.setattr(engine._parts.uploads.staging, "put", stop_after_first)
    with pytest.raises(Stopped):
        engine.ingestion_queue.prepare(slices(url)[0], stop)
    monkeypatch.undo()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM procrastinate_jobs WHERE task_name = 'veracity.prepare'")
    engine.ingestion_queue.queue_lost()
    engine.ingestion_queue.queue_lost()
    assert len(seen) == 1 and len(slices(url)) == 2  # each of the others for itself
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT sum(attempts) FROM ingestions").fetchone() == (2,)
    prepare_all(engine, url)

    monkeypatch.setattr(engine._parts.uploads.staging, "publish", _die)
    with pytest.raises(_Killed):
        engine.ingestion_queue.commit()
    monkeypatch.undo()
    assert len([document for document in engine.documents() if document.location]) == 3
    engine.ingestion_queue.commit()
    assert statuses(engine) == ["added"] * 3
    assert sorted(path.name for path in (root / "uploads").glob("[!.]*")) == sorted(TEXTS)
    assert staged(root) == []


class _Killed(BaseException):
    pass


def _die(*_: object) -> None:
    raise _Killed


def test_a_file_that_ends_its_worker_is_given_up(sharing: MakeEngine, url: str) -> None:
    engine = sharing()
    add(engine, {"a.md": "A"})
    for _ in range(MAX_ATTEMPTS):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DELETE FROM procrastinate_jobs")
        engine.ingestion_queue.queue_lost()
    assert statuses(engine) == ["failed"]


def test_the_later_of_two_uploads_wins(sharing: MakeEngine, url: str) -> None:
    """Although it is prepared first."""
    engine = sharing()
    add(engine, {"a.md": "The first."}, "one")
    add(engine, {"a.md": "The second."}, "two")
    first, second = slices(url)
    engine.ingestion_queue.prepare(second)
    engine.ingestion_queue.commit()
    assert statuses(engine, "two") == []
    engine.ingestion_queue.prepare(first)
    engine.ingestion_queue.commit()
    assert (statuses(engine, "one"), statuses(engine, "two")) == (["added"], ["updated"])
    assert [engine.text(document.id) for document in engine.documents() if document.location] == ["The second."]


def test_a_forgotten_document_does_not_come_back(sharing: MakeEngine, url: str, root: Path) -> None:
    engine = sharing()
    for state in ("queued", "prepared"):
        add(engine, {"a.md": "The first."}, "one")
        prepare_all(engine, url)
        engine.ingestion_queue.commit()
        add(engine, {"a.md": f"The second, {state}."}, "two")
        if state == "prepared":
            prepare_all(engine, url)
        engine.forget("uploads/a.md")
        assert staged(root) == []
        prepare_all(engine, url)
        engine.ingestion_queue.commit()
        assert [document for document in engine.documents() if document.location] == []
        assert not (root / "uploads/a.md").exists() and staged(root) == []
        assert engine.ingestion_queue.progress("two") == ({}, [], 0)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DELETE FROM procrastinate_jobs")


def test_a_cancelled_upload_leaves_what_is_stored(
    sharing: MakeEngine, serve: ServeWithoutWork, url: str, root: Path
) -> None:
    served = serve(sharing())
    assert served.engine.ingestion_queue.progress("none").waiting == []
    client, answers = served.client(), list[Any]()
    texts = {f"{number}.md": f"Number {number}." for number in range(17)}  # two slices
    asking = threading.Thread(target=lambda: answers.append(client.post("/api/documents", files=parts(texts)).json()))
    asking.start()
    until(lambda: len(slices(url)) == 2)
    served.engine.ingestion_queue.prepare(slices(url)[0])
    served.engine.ingestion_queue.commit()
    until(lambda: served.client().get("/api/documents/changes").json()["name"] == "16.md")
    assert served.client().delete("/api/documents/changes").json()["cancelled_by"] == "local"
    asking.join(60)
    outcomes = answers[0]["outcomes"]
    assert [outcome["status"] for outcome in outcomes] == ["added"] * 16 + ["failed"]
    assert outcomes[-1]["reason"] == "Cancelled by local."
    assert staged(root) == []


def test_users_take_turns(sharing: MakeEngine, url: str) -> None:
    engine = sharing()
    for at, user in enumerate(("ann", "ann", "ann", "bob")):
        add(engine, {f"{at}.md": "A"}, str(at), user)
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT i.user_name FROM procrastinate_jobs j JOIN ingestions i ON i.slice = j.args->>'slice' "
            "ORDER BY j.priority DESC, j.id"
        ).fetchall()
    assert [user for (user,) in rows] == ["ann", "bob", "ann", "ann"]


def test_an_error_of_the_workspace_fails_the_request(
    sharing: MakeEngine, work: StartWorker, serve: ServeWithoutWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a server that works."""
    served = serve(sharing(knowledge={"passage_tokens": 100}))
    work(sharing(knowledge={"passage_tokens": 100}))
    refused = served.client().post("/api/documents", files=parts(TEXTS))
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "OutdatedIndexError")


def test_rows_prepared_with_other_settings_are_prepared_again(sharing: MakeEngine, url: str, root: Path) -> None:
    engine = sharing()
    add(engine, {"a.md": "A text."})
    prepare_all(engine, url)
    other = sharing(knowledge={"passage_tokens": 100})
    other.reindex()
    other.ingestion_queue.commit()
    assert statuses(other) == []
    prepare_all(other, url)
    other.ingestion_queue.commit()
    assert statuses(other) == ["added"]


def test_a_worker_that_cannot_see_the_file_says_so(sharing: MakeEngine, url: str, root: Path) -> None:
    engine = sharing()
    add(engine, {"a.md": "A text."})
    for path in (root / "uploads/.queued/upload").rglob("a.md"):
        path.unlink()
    prepare_all(engine, url)
    [outcome] = engine.ingestion_queue.progress("u").results.values()
    assert "set store.uploads" in getattr(outcome, "reason", "")


def test_a_commit_waits_for_another_writer(sharing: MakeEngine, url: str) -> None:
    engine = sharing()
    add(engine, {"a.md": "A text."})
    prepare_all(engine, url)
    library: Library = engine._parts.library
    with library.committing():
        engine.ingestion_queue.commit()
    assert statuses(engine) == []
    engine.ingestion_queue.commit()
    assert statuses(engine) == ["added"]


def test_nothing_stays_behind(sharing: MakeEngine, url: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were never queued, results that nobody read, and pages of tables with deleted rows."""
    engine = sharing()
    add(engine, {"a.md": "A text."})
    prepare_all(engine, url)
    engine.ingestion_queue.commit()
    orphan = root / "uploads/.queued/upload/0123/b.md"
    orphan.parent.mkdir(parents=True)
    orphan.write_text("never queued")
    engine.ingestion_queue.clean_up()
    assert (staged(root), statuses(engine)) == (["b.md"], ["added"])
    monkeypatch.setattr("veracity.knowledge.staging.ORPHAN_SECONDS", -1)
    monkeypatch.setattr("veracity.ledger.rows.ingestions.KEEP_SECONDS", -1)
    engine.ingestion_queue.clean_up()
    engine.evaluation_queue.clean_up()
    assert (staged(root), statuses(engine)) == ([], [])
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT pg_relation_size('ingestions')").fetchone() == (0,)
