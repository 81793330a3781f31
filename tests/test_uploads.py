"""Files that are handed in: kept whole under names that lead nowhere else, ingested, and gone when forgotten."""

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.documents import docx, pdf
from veracity.engine import Veracity
from veracity.errors import BusyError, KnowledgeError, NotFoundError
from veracity.knowledge import uploads
from veracity.knowledge.filenames import kept_name
from veracity.knowledge.locking import writing
from veracity.models import Outcome
from veracity.settings import Settings

SETTINGS = Settings.model_validate({"models": {"embedder": "none"}, "reading": {"max_megabytes": 1, "workers": 1}})
HTML = "<html><head><title>旅費規程</title></head><body><p>宿泊費は一泊一万二千円までです。</p></body></html>"
BINARY = bytes(range(256)) * 20


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Veracity]:
    with Veracity(tmp_path / "work", settings=SETTINGS) as engine:
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "work" / "uploads"


def upload(engine: Veracity, name: str, content: str | bytes) -> Outcome:
    data = content.encode() if isinstance(content, str) else content
    [outcome] = engine.upload(name, io.BytesIO(data)).outcomes
    return outcome


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def set_aside(folder: Path) -> list[str]:
    return [path.name for path in (folder / ".aside").iterdir() if path.name != "lock"]


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
def test_a_file_is_kept_and_found(
    engine: Veracity, folder: Path, name: str, content: str | bytes, query: str, found: str
) -> None:
    outcome = upload(engine, name, content)
    assert (outcome.name, outcome.status, outcome.passages) == (name, "added", 1)
    assert kept(folder) == {name: content.encode() if isinstance(content, str) else content}
    assert found in engine.search(query)[0].text
    assert [one.id for one in engine.documents()] == [outcome.document_id]
    assert set_aside(folder) == []


def test_the_same_name_is_an_update_and_the_same_file_is_nothing_new(engine: Veracity, folder: Path) -> None:
    first = upload(engine, "a.txt", "The office opens at nine.")
    assert upload(engine, "a.txt", "The office opens at nine.").status == "unchanged"
    again = upload(engine, "a.txt", "The office opens at ten.")
    assert (again.status, again.document_id) == ("updated", first.document_id)
    assert kept(folder) == {"a.txt": b"The office opens at ten."}
    assert [engine.text(one.id) for one in engine.documents()] == ["The office opens at ten."]


def test_one_spelling_of_a_name_replaces_the_other(engine: Veracity) -> None:
    name = "ガイド.txt"
    upload(engine, unicodedata.normalize("NFC", name), "古い案内です。")
    assert upload(engine, unicodedata.normalize("NFD", name), "新しい案内です。").status == "updated"
    assert len(engine.documents()) == 1


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"", "skipped"), (BINARY, "skipped"), (b"a" * 1_000_001, "skipped"), (b"%PDF-1.7 x", "failed")],
)
def test_what_is_no_document_is_told_and_not_kept(engine: Veracity, folder: Path, content: bytes, status: str) -> None:
    outcome = upload(engine, "thing.pdf" if content.startswith(b"%PDF") else "thing.bin", content)
    assert outcome.status == status
    assert outcome.reason
    assert (kept(folder), set_aside(folder), engine.documents()) == ({}, [], [])


@pytest.mark.parametrize("content", [b"", BINARY, b"a" * 1_000_001, b"%PDF-1.7 x"])
def test_what_is_no_document_does_not_take_the_place_of_one(engine: Veracity, folder: Path, content: bytes) -> None:
    upload(engine, "a.txt", "正式员工每年享有十五天带薪年假。")
    outcome = upload(engine, "a.txt", content)
    assert outcome.status in ("skipped", "failed")
    assert kept(folder) == {"a.txt": "正式员工每年享有十五天带薪年假。".encode()}
    assert [engine.text(one.id) for one in engine.documents()] == ["正式员工每年享有十五天带薪年假。"]
    assert set_aside(folder) == []


def test_forgetting_removes_the_file_and_no_other(engine: Veracity, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "own.txt"
    outside.write_text("The canteen closes at two.", encoding="utf-8")
    engine.ingest(outside)
    outcome = upload(engine, "手册.txt", "会议室在三楼。")
    upload(engine, "other.txt", "The garage is on the left.")
    engine.forget(outcome.document_id or "")
    assert list(kept(folder)) == ["other.txt"]
    engine.forget(str(outside))
    assert outside.exists()
    with pytest.raises(NotFoundError):
        engine.forget(outcome.document_id or "")


def test_a_link_in_the_folder_is_replaced_and_not_followed(engine: Veracity, folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("untouched", encoding="utf-8")
    folder.mkdir(parents=True)
    (folder / "a.txt").symlink_to(secret)
    assert upload(engine, "a.txt", "The office opens at nine.").status == "added"
    assert secret.read_text(encoding="utf-8") == "untouched"


def test_a_source_that_breaks_leaves_nothing(engine: Veracity, folder: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.upload("a.txt", Broken())
    assert (kept(folder), set_aside(folder)) == ({}, [])


HALF = """
import io, os, signal, sys
from veracity import Veracity

class Half(io.BytesIO):
    def read(self, size=-1):
        if self.tell():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(10)

Veracity(sys.argv[1]).upload("a.txt", Half("新しい案内です。".encode()))
"""


def test_a_process_that_is_killed_in_the_midst_leaves_no_half_file(
    engine: Veracity, folder: Path, tmp_path: Path
) -> None:
    upload(engine, "a.txt", "古い案内です。")
    killed = subprocess.run([sys.executable, "-c", HALF, tmp_path / "work"], timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert kept(folder) == {"a.txt": "古い案内です。".encode()}
    assert len(set_aside(folder)) == 1
    assert upload(engine, "a.txt", "新しい案内です。").status == "updated"


def test_what_a_killed_process_left_is_cleared_away_later(engine: Veracity, folder: Path) -> None:
    (folder / ".aside").mkdir(parents=True)
    old, new = folder / ".aside" / "old", folder / ".aside" / "new"
    for path in (old, new):
        path.write_bytes(b"half a fi")
    os.utime(old, (0, time.time() - uploads.STALE - 60))
    upload(engine, "a.txt", "The office opens at nine.")
    assert (old.exists(), new.exists()) == (False, True)
    assert [one.title for one in engine.documents()] == ["a"]


KILLED = """
import io, os, signal, sys
from veracity import Veracity
from veracity.knowledge.library import Library

whole = Library.ingest

def dies(self, paths, *rest):
    if sys.argv[3] == "later":
        whole(self, paths, *rest)
    os.kill(os.getpid(), signal.SIGKILL)

Library.ingest = dies
Veracity(sys.argv[1]).upload(sys.argv[2], io.BytesIO(bytes.fromhex(sys.argv[4])))
"""


def killed_while_it_brings_in(root: Path, name: str, content: bytes, when: str = "before") -> None:
    command = [sys.executable, "-c", KILLED, str(root), name, when, content.hex()]
    variables = {**os.environ, "VERACITY_MODELS__EMBEDDER": "none"}
    assert subprocess.run(command, env=variables, timeout=60, check=False).returncode == -signal.SIGKILL


@pytest.mark.parametrize("name", ["guide.txt", "指南.txt", "ガイド.txt"])
@pytest.mark.parametrize("when", ["before", "later"])
def test_what_a_killed_process_had_taken_is_finished_by_another(
    engine: Veracity, folder: Path, tmp_path: Path, name: str, when: str
) -> None:
    upload(engine, name, "古い案内です。")
    os.utime(folder / name, (0, 0))  # an old one, so that its age is no reason to clear it away
    killed_while_it_brings_in(tmp_path / "work", name, "新しい案内です。".encode(), when)
    assert engine.unfinished_uploads() == [name]
    outcome = engine.finish_upload(name)
    assert outcome is not None
    assert (outcome.name, outcome.status) == (name, "updated" if when == "before" else "unchanged")
    assert [engine.text(one.id) for one in engine.documents()] == ["新しい案内です。"]
    assert (engine.unfinished_uploads(), engine.finish_upload(name), set_aside(folder)) == ([], None, [])


@pytest.mark.parametrize("content", [BINARY, b"%PDF-1.7 x"])
def test_what_was_left_and_is_no_document_goes_and_the_one_before_comes_back(
    engine: Veracity, folder: Path, tmp_path: Path, content: bytes
) -> None:
    upload(engine, "指南.txt", "会议室在三楼。")
    os.utime(folder / "指南.txt", (0, 0))
    killed_while_it_brings_in(tmp_path / "work", "指南.txt", content)
    killed_while_it_brings_in(tmp_path / "work", "new.pdf", content)
    assert kept(folder) == {"指南.txt": content, "new.pdf": content}
    assert engine.unfinished_uploads() == ["new.pdf", "指南.txt"]
    told = [engine.finish_upload(name) for name in engine.unfinished_uploads()]
    assert {one.status for one in told if one} <= {"skipped", "failed"} and None not in told
    assert kept(folder) == {"指南.txt": "会议室在三楼。".encode()}
    assert [engine.text(one.id) for one in engine.documents()] == ["会议室在三楼。"]
    assert (engine.unfinished_uploads(), set_aside(folder)) == ([], [])


def test_an_upload_after_a_kill_keeps_the_good_one_when_it_is_no_document_either(
    engine: Veracity, folder: Path, tmp_path: Path
) -> None:
    upload(engine, "a.txt", "会议室在三楼。")
    killed_while_it_brings_in(tmp_path / "work", "a.txt", BINARY)
    assert upload(engine, "a.txt", BINARY).status == "skipped"
    assert kept(folder) == {"a.txt": "会议室在三楼。".encode()}
    assert [engine.text(one.id) for one in engine.documents()] == ["会议室在三楼。"]


def test_forgetting_leaves_nothing_of_an_upload_that_was_interrupted(
    engine: Veracity, folder: Path, tmp_path: Path
) -> None:
    first = upload(engine, "a.txt", "会议室在三楼。")
    killed_while_it_brings_in(tmp_path / "work", "a.txt", b"The office opens at nine.")
    engine.forget(first.document_id or "")
    assert (kept(folder), set_aside(folder), engine.unfinished_uploads()) == ({}, [], [])


def test_good_documents_and_what_others_put_there_are_not_unfinished(engine: Veracity, folder: Path) -> None:
    assert engine.unfinished_uploads() == []
    upload(engine, "年次休暇.txt", "休暇は二週間前までに申請します。")
    (folder / "年次休暇.txt").write_text("changed by hand", encoding="utf-8")
    (folder / ".hidden.txt").write_text("of an editor", encoding="utf-8")
    (folder / "link.txt").symlink_to(folder / ".hidden.txt")
    (folder / "folder").mkdir()
    assert engine.unfinished_uploads() == []
    assert engine.finish_upload("年次休暇.txt") is None
    assert engine.finish_upload("../veracity.toml") is None


def test_a_document_is_found_by_its_id_alone(engine: Veracity) -> None:
    outcome = upload(engine, "指南.txt", "会议室在三楼。")
    assert engine.document(outcome.document_id or "") == engine.documents()[0]
    for nothing in ("", "'; DROP", engine.documents()[0].location, "half\ud800"):
        with pytest.raises(NotFoundError, match="no document with the id"):
            engine.document(nothing)


def test_another_writer_is_waited_for(engine: Veracity, tmp_path: Path) -> None:
    upload(engine, "a.txt", "The office opens at nine.")
    done: list[str] = []
    with writing(tmp_path / "work" / "knowledge"):
        thread = threading.Thread(target=lambda: done.append(upload(engine, "b.txt", "会议室在三楼。").status))
        thread.start()
        time.sleep(0.3)
        assert not done
    thread.join(20)
    assert done == ["added"]


def test_another_writer_is_not_waited_for_without_end(
    engine: Veracity, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(engine, "a.txt", "The office opens at nine.")
    monkeypatch.setattr(uploads, "PATIENCE", 0.2)
    with writing(tmp_path / "work" / "knowledge"), pytest.raises(BusyError):
        upload(engine, "a.txt", "The office opens at ten.")
    assert kept(folder) == {"a.txt": b"The office opens at nine."}


def test_many_at_once_wait_for_each_other(engine: Veracity, folder: Path) -> None:
    done: list[str] = []

    def work(number: int) -> None:
        done.append(upload(engine, f"{number}.txt", f"Room {number} seats {number + 2} people.").status)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert done == ["added"] * 6
    assert len(engine.documents()) == len(kept(folder)) == 6


def test_a_folder_that_cannot_be_written_is_one_sentence(engine: Veracity, folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file", encoding="utf-8")
    with pytest.raises(KnowledgeError, match="cannot be written"):
        upload(engine, "a.txt", "The office opens at nine.")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("report.pdf", "report.pdf"),
        ("年假制度 (2024).docx", "年假制度 (2024).docx"),
        ("旅費規程.html", "旅費規程.html"),
        ("../../etc/passwd", "passwd"),
        ("C:\\fakepath\\報告.txt", "報告.txt"),
        ("/absolute/a.txt", "a.txt"),
        ("か\u3099.txt", "が.txt"),
        ("archive.tar.gz", "archive.tar.gz"),
    ],
)
def test_names_stay_as_they_are_but_for_the_way_there(name: str, expected: str) -> None:
    assert kept_name(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", r"untitled-\w{8}"),
        ("..", r"untitled-\w{8}"),
        (" ", r"untitled-\w{8}"),
        ("a/", r"untitled-\w{8}"),
        (".env", r"env-\w{8}"),
        ("a\x00b\n.txt", r"ab-\w{8}\.txt"),
        ("invoice\u202efdp.exe", r"invoicefdp-\w{8}\.exe"),
        ("NUL.txt", r"_NUL-\w{8}\.txt"),
        ("what?.txt", r"what_-\w{8}\.txt"),
        ("trailing. ", r"trailing-\w{8}"),
        ("half\ud800.txt", r"half\ufffd\.txt"),
        ("字" * 300 + ".pdf", r"字{60,65}-\w{8}\.pdf"),
        ("x" * 300, r"x{191}-\w{8}"),
    ],
)
def test_a_name_that_had_to_be_changed_is_marked(name: str, expected: str) -> None:
    assert re.fullmatch(expected, kept_name(name))


def test_names_that_begin_alike_stay_apart() -> None:
    names = ["字" * 200 + ".pdf", "字" * 201 + ".pdf", ".字.pdf", "字.pdf", "字?.pdf", "字*.pdf"]
    assert len({kept_name(name) for name in names}) == len(names)


@given(st.text() | st.text(alphabet="./\\ ~:con\x00\u202eか\u3099字\ud800", max_size=400))
def test_any_name_becomes_one_that_stays_in_the_folder(name: str) -> None:
    fit = kept_name(name)
    assert fit == fit.strip()
    assert len(fit.encode()) <= 255
    assert not any(unicodedata.category(one) in ("Cc", "Cf", "Cs") for one in fit)
    assert not re.search(r'[/\\<>:"|?*]', fit)
    assert not fit.startswith((".", "~"))
    assert not fit.endswith(".")
    assert os.path.normpath(f"/folder/{fit}") == f"/folder/{fit}"
    assert kept_name(fit) == fit


@pytest.mark.parametrize("name", ["x" * 300, "字" * 300 + ".pdf", "y" * 198 + "?.txt", " " * 300 + ".", "a. " * 200])
def test_a_name_that_was_changed_is_not_changed_again(name: str) -> None:
    assert kept_name(kept_name(name)) == kept_name(name)
