"""Uploaded files: stored under safe names, ingested, and deleted when forgotten."""

import io
import tempfile
import threading
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from tests.reading.documents import docx, pdf
from tests.uploads.conftest import OpenEngine
from tests.uploads.files import BINARY, full_disk, set_aside, stored, upload
from veracity.engine import Veracity
from veracity.errors import BusyError, FullDiskError, InputError, KnowledgeError, NotFoundError
from veracity.knowledge import uploads
from veracity.knowledge.library import writer_lock

HTML = "<html><head><title>旅費規程</title></head><body><p>宿泊費は一泊一万二千円までです。</p></body></html>"


@pytest.mark.parametrize(
    ("name", "content", "query", "found"),
    [
        ("leave.md", "# Leave\n\nFull-time staff have 25 days of paid leave.", "paid leave", "25 days"),
        ("年假制度.txt", "正式员工每年享有十五天带薪年假。", "带薪年假", "十五天"),
        ("旅費規程.html", HTML, "宿泊費", "一万二千円"),
        ("pump.pdf", pdf("The pump is switched off before it is opened."), "pump", "switched off"),
        ("trips.docx", docx("# Trips", "Hotels may cost up to 150 euros a night."), "hotels", "150 euros"),
    ],
)
def test_an_uploaded_file_is_stored_and_found(
    engine: Veracity, folder: Path, name: str, content: str | bytes, query: str, found: str
) -> None:
    outcome = upload(engine, name, content)
    assert (outcome.name, outcome.status, outcome.passages) == (name, "added", 1)
    assert stored(folder) == {name: content.encode() if isinstance(content, str) else content}
    assert found in engine.search(query)[0].text
    assert [item.id for item in engine.documents()] == [outcome.document_id]
    assert set_aside(folder) == []


def test_the_same_name_is_an_update_and_the_same_file_is_unchanged(engine: Veracity, folder: Path) -> None:
    first = upload(engine, "a.txt", "The office opens at nine.")
    assert upload(engine, "a.txt", "The office opens at nine.").status == "unchanged"
    again = upload(engine, "a.txt", "The office opens at ten.")
    assert (again.status, again.document_id) == ("updated", first.document_id)
    assert stored(folder) == {"a.txt": b"The office opens at ten."}
    assert [engine.text(item.id) for item in engine.documents()] == ["The office opens at ten."]


def test_names_are_unicode_normalized(engine: Veracity) -> None:
    name = "ガイド.txt"
    upload(engine, unicodedata.normalize("NFC", name), "古い案内です。")
    assert upload(engine, unicodedata.normalize("NFD", name), "新しい案内です。").status == "updated"
    assert len(engine.documents()) == 1


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"", "skipped"), (BINARY, "skipped"), (b"a" * 1_000_001, "skipped"), (b"%PDF-1.7 x", "failed")],
)
def test_a_file_that_is_no_document_is_not_stored(engine: Veracity, folder: Path, content: bytes, status: str) -> None:
    outcome = upload(engine, "thing.pdf" if content.startswith(b"%PDF") else "thing.bin", content)
    assert outcome.status == status
    assert outcome.reason
    assert (stored(folder), set_aside(folder), engine.documents()) == ({}, [], [])


@pytest.mark.parametrize("content", [b"", BINARY, b"a" * 1_000_001, b"%PDF-1.7 x"])
def test_a_file_that_is_no_document_does_not_replace_one(engine: Veracity, folder: Path, content: bytes) -> None:
    upload(engine, "a.txt", "正式员工每年享有十五天带薪年假。")
    outcome = upload(engine, "a.txt", content)
    assert outcome.status in ("skipped", "failed")
    assert stored(folder) == {"a.txt": "正式员工每年享有十五天带薪年假。".encode()}
    assert [engine.text(item.id) for item in engine.documents()] == ["正式员工每年享有十五天带薪年假。"]
    assert set_aside(folder) == []


def test_forgetting_removes_only_the_uploaded_file(engine: Veracity, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "own.txt"
    outside.write_text("The canteen closes at two.", encoding="utf-8")
    engine.ingest(outside)
    outcome = upload(engine, "手册.txt", "会议室在三楼。")
    upload(engine, "other.txt", "The garage is on the left.")
    engine.forget(outcome.document_id or "")
    assert list(stored(folder)) == ["other.txt"]
    engine.forget(str(outside))
    assert outside.exists()
    with pytest.raises(NotFoundError):
        engine.forget(outcome.document_id or "")


def test_a_symlink_is_replaced_and_not_followed(engine: Veracity, folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("untouched", encoding="utf-8")
    folder.mkdir(parents=True)
    (folder / "a.txt").symlink_to(secret)
    assert upload(engine, "a.txt", "The office opens at nine.").status == "added"
    assert secret.read_text(encoding="utf-8") == "untouched"


def test_a_failing_source_leaves_no_file(engine: Veracity, folder: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.upload("a.txt", Broken())
    assert (stored(folder), set_aside(folder)) == ({}, [])


def test_files_added_by_hand_are_left_alone(engine: Veracity, folder: Path) -> None:
    assert engine.uploads.unfinished() == []
    upload(engine, "年次休暇.txt", "休暇は二週間前までに申請します。")
    (folder / "年次休暇.txt").write_text("changed by hand", encoding="utf-8")
    (folder / "holiday.jpg").write_bytes(BINARY)
    (folder / ".aside" / "before-gone.txt").touch()  # of a file that was never moved into place
    assert engine.uploads.unfinished() == []
    for name in ("年次休暇.txt", "holiday.jpg", "gone.txt", "../veracity.toml"):
        assert engine.uploads.finish(name) is None
    assert set(stored(folder)) == {"年次休暇.txt", "holiday.jpg"}


def test_uploads_keep_their_ids_when_the_workspace_is_moved(
    engine: Veracity, open_engine: OpenEngine, tmp_path: Path
) -> None:
    first = upload(engine, "休暇.txt", "年に二十日の休暇があります。")
    other = upload(engine, "pump.txt", "The pump is switched off before it is opened.")
    (tmp_path / "work").rename(tmp_path / "moved")
    with open_engine(tmp_path / "moved") as moved:
        assert moved.uploads.unfinished() == []
        assert [item.location for item in moved.documents()] == ["uploads/pump.txt", "uploads/休暇.txt"]
        again = upload(moved, "休暇.txt", "年に二十五日の休暇があります。")
        assert (again.status, again.document_id) == ("updated", first.document_id)
        outcomes = moved.ingest(tmp_path / "moved" / "uploads", prune=True).outcomes  # the same documents
        assert [(outcome.status, outcome.document_id) for outcome in outcomes] == [
            ("unchanged", other.document_id),
            ("unchanged", first.document_id),
        ]
        assert [item.text for item in moved.search("休暇")] == ["年に二十五日の休暇があります。"]
        moved.forget(str(tmp_path / "moved" / "uploads" / "pump.txt"))
        moved.forget("uploads/休暇.txt")
        assert (moved.documents(), stored(tmp_path / "moved" / "uploads")) == ([], {})


def test_a_deleted_upload_is_pruned(engine: Veracity, folder: Path) -> None:
    outcome = upload(engine, "a.txt", "The office opens at nine.")
    (folder / "a.txt").unlink()
    [removed] = engine.ingest(folder, prune=True).outcomes
    assert (removed.status, removed.document_id, engine.documents()) == ("removed", outcome.document_id, [])


def test_ingest_skips_internal_files(engine: Veracity, tmp_path: Path) -> None:
    own = ["observational_data.json", "ledger/chat_history", "prompts/writer.md", "metrics/a.py", "veracity.toml"]
    for name in [*own, "configs/evaluator.toml", "手册.txt"]:
        (tmp_path / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "work" / name).write_text("会议室在三楼。", encoding="utf-8")
    engine.ingest(tmp_path / "work")
    assert [Path(item.location).name for item in engine.documents()] == ["手册.txt"]


def test_wrong_types_and_names_are_input_errors(engine: Veracity) -> None:
    upload(engine, "a.txt", "The office opens at nine.")
    wrong: Any = 1
    for call in (engine.document, engine.text, engine.reader.page_starts, engine.forget):
        with pytest.raises(InputError, match="must be a string, not int"):
            call(wrong)
    for source in (b"text", io.StringIO("text")):
        with pytest.raises(InputError, match="binary file to read from, not (bytes|StringIO)"):
            engine.upload("a.txt", source)  # type: ignore[arg-type]
    for name in ("vt_Zx81kQw9Zx81kQw9Zx81kQw9Zx81kQw9", "\ud800", "/\ud800/uploads/a\0"):
        with pytest.raises(NotFoundError) as caught:
            engine.forget(name)
        assert "Zx81kQw9" not in str(caught.value).encode().decode()


def test_document_takes_only_an_id(engine: Veracity) -> None:
    outcome = upload(engine, "指南.txt", "会议室在三楼。")
    assert engine.document(outcome.document_id or "") == engine.documents()[0]
    for nothing in ("", "'; DROP", engine.documents()[0].location, "half\ud800"):
        with pytest.raises(NotFoundError, match="no document with the id"):
            engine.document(nothing)


def test_an_upload_waits_for_another_writer(engine: Veracity, tmp_path: Path) -> None:
    upload(engine, "a.txt", "The office opens at nine.")
    done: list[str] = []
    with writer_lock(tmp_path / "work" / "knowledge"):
        thread = threading.Thread(target=lambda: done.append(upload(engine, "b.txt", "会议室在三楼。").status))
        thread.start()
        time.sleep(0.3)
        assert not done
    thread.join(20)
    assert done == ["added"]


def test_an_upload_does_not_wait_forever(
    engine: Veracity, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(engine, "a.txt", "The office opens at nine.")
    monkeypatch.setattr(uploads, "LOCK_TIMEOUT_SECONDS", 0.2)
    with writer_lock(tmp_path / "work" / "knowledge"), pytest.raises(BusyError):
        upload(engine, "a.txt", "The office opens at ten.")
    assert stored(folder) == {"a.txt": b"The office opens at nine."}


def test_concurrent_uploads_wait_for_each_other(engine: Veracity, folder: Path) -> None:
    done: list[str] = []

    def work(number: int) -> None:
        done.append(upload(engine, f"{number}.txt", f"Room {number} seats {number + 2} people.").status)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert done == ["added"] * 6
    assert len(engine.documents()) == len(stored(folder)) == 6


def test_an_unwritable_folder_is_an_error(engine: Veracity, folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file", encoding="utf-8")
    with pytest.raises(KnowledgeError, match="cannot be written"):
        upload(engine, "a.txt", "The office opens at nine.")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
@pytest.mark.parametrize("size", [10, 100_000])  # one that fits into the buffer, and one that does not
def test_a_full_disk_is_one_clear_error(
    engine: Veracity, folder: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    upload(engine, "a.txt", "The office opens at nine.")
    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "TemporaryFile", full_disk)
        with pytest.raises(FullDiskError, match=r"no room in .*uploads.* \(No space left on device\): free some disk"):
            upload(engine, "b.txt", "x" * size)
    assert list(stored(folder)) == ["a.txt"]
    assert upload(engine, "b.txt", "The office closes at five.").status == "added"
