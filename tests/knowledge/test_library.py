"""Ingesting, adding, forgetting and reindexing: nothing is lost or duplicated, and there is one writer at a time."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge.material import (
    CHINESE,
    ENGLISH,
    JAPANESE,
    HashEmbedder,
    MakeLibrary,
    aged,
    assert_consistent,
    no_progress,
    search,
)  # fmt: skip
from veracity.errors import BusyError, InputError, KnowledgeError, OutdatedIndexError
from veracity.knowledge import ingest as ingest_module
from veracity.knowledge.ingest import file_document_id
from veracity.knowledge.library import Library
from veracity.models import Document, IngestReport, KnownDocument, Outcome
from veracity.settings import ReadingSettings

Write = Callable[..., Path]


def statuses(report: IngestReport) -> dict[str, str]:
    return {Path(outcome.name).name: outcome.status for outcome in report.outcomes}


def ingest(library: Library, *paths: Path | str, prune: bool = False) -> dict[str, str]:
    report = library.ingest(paths, prune, no_progress)
    assert_consistent(library.store)
    return statuses(report)


def identity(document: KnownDocument) -> tuple[object, ...]:
    return document.id, document.location, document.added, document.format, document.title


@pytest.fixture
def three(write: Write) -> list[Path]:
    return [write("leave.md", ENGLISH), write("差旅.md", CHINESE), write("休暇.md", JAPANESE)]


def test_files_are_added_updated_and_removed(library: Library, three: list[Path], files: Path, write: Write) -> None:
    assert ingest(library, files) == {"leave.md": "added", "差旅.md": "added", "休暇.md": "added"}
    assert len(search(library.store, "leave Dublin")) == len(search(library.store, "有給休暇")) == 1
    assert set(ingest(library, files).values()) == {"unchanged"}
    write("休暇.md", "# 休暇\n\n東京の社員は三十日です。", age=50)
    assert ingest(library, files)["休暇.md"] == "updated"
    assert search(library.store, "大阪の有給") == []
    assert search(library.store, "東京") == [file_document_id(str(files / "休暇.md"))]
    three[0].unlink()
    assert "leave.md" not in ingest(library, files)
    assert search(library.store, "Dublin")
    assert ingest(library, files, prune=True)["leave.md"] == "removed"
    assert search(library.store, "Dublin") == []
    assert len(library.store.documents()) == 2


def test_ingesting_no_paths_is_an_error(library: Library) -> None:
    with pytest.raises(InputError, match="There is nothing to ingest"):
        library.ingest([], False, no_progress)
    assert library.add([], no_progress).outcomes == []


def test_each_file_is_ingested_once(library: Library, three: list[Path], files: Path) -> None:
    assert len(ingest(library, files, three[0], f"{files}/*.md", files)) == 3
    assert len(library.store.documents()) == 3


def test_progress_counts_down(library: Library, three: list[Path], files: Path, write: Write) -> None:
    write("empty.md", "")
    seen: list[tuple[str, int | None]] = []
    report = library.ingest([files], False, lambda outcome, to_come: seen.append((outcome.name, to_come)))
    assert [to_come for _, to_come in seen] == [3, 2, 1, 0]
    assert [name for name, _ in seen] == [outcome.name for outcome in report.outcomes]
    assert report.seconds > 0
    seen.clear()
    library.add(iter([Document(id="a", text="x")]), lambda outcome, to_come: seen.append((outcome.name, to_come)))
    assert seen == [("a", None)]


def test_a_touched_file_is_read_once_and_then_skipped_by_its_timestamp(
    library: Library, three: list[Path], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(library, files)
    before = {document.id: document.added for document in library.store.documents()}
    aged(three[0], 20)
    assert set(ingest(library, files).values()) == {"unchanged"}
    monkeypatch.setattr(library._ingestion._workers, "submit", lambda request: pytest.fail("read again"))
    assert set(ingest(library, files).values()) == {"unchanged"}
    assert {document.id: document.added for document in library.store.documents()} == before


def test_a_recent_change_with_equal_size_and_time_is_noticed(library: Library, write: Write) -> None:
    path = write("a.md", "The zebra runs.", age=0)
    status = path.stat()
    ingest(library, path)
    path.write_text("The tiger runs.")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert ingest(library, path) == {"a.md": "updated"}
    assert search(library.store, "tiger")
    assert not search(library.store, "zebra")


def test_a_timestamp_in_the_future_proves_nothing(library: Library, write: Write) -> None:
    path = write("a.md", "The zebra runs.", age=-10_000)
    status = path.stat()
    assert ingest(library, path) == {"a.md": "added"}
    version = library.store.version
    assert ingest(library, path) == {"a.md": "unchanged"}
    assert library.store.version == version
    path.write_text("The tiger runs.")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert ingest(library, path) == {"a.md": "updated"}


def test_files_that_change_during_ingestion(library: Library, write: Write, files: Path) -> None:
    for number in range(3):
        write(f"{number}.md", f"zebra {number}")

    def change(outcome: Outcome, to_come: int | None) -> None:
        (files / "1.md").write_text("tiger, long after")
        (files / "2.md").unlink(missing_ok=True)

    write("0.md", "")  # reported before any file is read
    report = library.ingest([files], False, change)
    assert statuses(report) == {"0.md": "skipped", "1.md": "added", "2.md": "failed"}
    (failed,) = [outcome for outcome in report.outcomes if outcome.status == "failed"]
    assert failed.reason == "it cannot be read (No such file or directory)"
    assert ingest(library, files)["1.md"] in ("unchanged", "updated")
    assert search(library.store, "tiger")


def test_an_emptied_file_is_forgotten_and_an_unreadable_one_kept(
    library: Library, three: list[Path], files: Path, write: Write
) -> None:
    ingest(library, files)
    write("leave.md", "")
    write("差旅.md", " \n ", age=50)
    three[2].unlink()
    three[2].symlink_to(three[2])
    report = library.ingest([*three], False, no_progress)
    assert statuses(report) == {"leave.md": "removed", "差旅.md": "removed", "休暇.md": "failed"}
    reasons = {Path(outcome.name).name: outcome.reason for outcome in report.outcomes}
    assert reasons["leave.md"] == reasons["差旅.md"] == "it is empty"
    assert reasons["休暇.md"].endswith("; the previous version is kept")
    assert [document.title for document in library.store.documents()] == ["休暇"]


def test_prune_is_limited_to_the_given_paths(library: Library, write: Write, files: Path) -> None:
    for name in ("a/x.md", "a/y.txt", "b/x.md", "c/規程.md"):
        write(name, f"text of {name}")
    library.add([Document(id="text", text="no file")], no_progress)
    ingest(library, files)
    for name in ("a/x.md", "a/y.txt", "b/x.md", "c/規程.md"):
        (files / name).unlink()
    assert ingest(library, f"{files}/a/*.txt", prune=True) == {"y.txt": "removed"}
    (files / "a").rmdir()
    with pytest.raises(InputError, match="There is no file or folder"):
        library.ingest([files / "a"], False, no_progress)
    assert ingest(library, files / "a", prune=True) == {"x.md": "removed"}
    with pytest.raises(InputError, match="There is no file or folder"):
        library.ingest([files / "a"], True, no_progress)
    assert ingest(library, f"{files}/**/*.md", prune=True) == {"x.md": "removed", "規程.md": "removed"}
    assert [document.id for document in library.store.documents()] == ["text"]


@pytest.mark.parametrize("name", ["new\nline.md", "it's; DROP.md", '"quoted".md', "😀 文書.md", "a\\b%.md"])
def test_unusual_file_names(library: Library, write: Write, files: Path, name: str) -> None:
    path = write(name, "The zebra runs.")
    assert ingest(library, files) == {name: "added"}
    assert library.store.documents()[0].location == str(path)
    assert ingest(library, files) == {name: "unchanged"}
    path.unlink()
    assert ingest(library, files, prune=True) == {name: "removed"}
    assert library.store.documents() == []


def test_the_knowledge_folder_is_not_ingested(library: Library, tmp_path: Path, write: Write) -> None:
    write("a.md", ENGLISH)
    assert ingest(library, tmp_path) == {"a.md": "added"}
    assert ingest(library, tmp_path, f"{tmp_path}/**") == {"a.md": "unchanged"}


def test_a_file_over_the_limit_is_skipped(make_library: MakeLibrary, write: Write) -> None:
    path = write("large.md", b"word " * 200_001)
    assert ingest(make_library(reading=ReadingSettings(max_megabytes=1, workers=1)), path) == {"large.md": "skipped"}


def test_a_text_with_the_id_of_a_file_replaces_it_and_back(library: Library, write: Write) -> None:
    path = write("a.md", "The zebra runs.")
    ingest(library, path)
    name = file_document_id(str(path))
    assert library.add([Document(id=name, text="The tiger sleeps.")], no_progress).count("updated") == 1
    assert search(library.store, "zebra") == []
    assert ingest(library, path) == {"a.md": "updated"}
    assert search(library.store, "tiger") == []
    assert len(library.store.documents()) == 1
    library.add([Document(id=name, text="The tiger sleeps.")], no_progress)
    path.write_text("")
    assert ingest(library, path) == {"a.md": "skipped"}
    assert search(library.store, "tiger") == [name]


def test_a_document_id_may_equal_a_passage_id(library: Library) -> None:
    library.add([Document(id="a", text="The zebra runs.")], no_progress)
    passage = library.store.by_words(["zebra"], 1)[0].passage.id
    for _ in range(2):
        library.add([Document(id=passage, text="The tiger sleeps.")], no_progress)
        assert_consistent(library.store)
    assert library.store.text("a") == "The zebra runs."
    assert library.store.text(passage) == "The tiger sleeps."
    library.forget("a")
    assert search(library.store, "tiger") == [passage]


def test_metadata_round_trip(library: Library) -> None:
    metadata: dict[str, Any] = {
        "年": 2024,
        "share": 0.25,
        "draft": True,
        "部門": "営業'\"\\😀",
        "": "",
    }
    library.add([Document(id="a", text="zebra", title="題'", metadata=metadata)], no_progress)
    library.reindex(no_progress)
    (known,) = library.store.documents()
    assert known.metadata == library.store.by_words(["zebra"], 1)[0].passage.metadata == metadata
    assert [type(value) for value in known.metadata.values()] == [type(value) for value in metadata.values()]
    assert known.title == "題'"


def test_two_thousand_documents_from_a_generator(library: Library) -> None:
    def documents() -> Iterator[Document]:
        for number in range(2000):
            yield Document(id=f"d{number}", text=f"Note {number}: 第{number}号。")

    report = library.add(documents(), no_progress)
    assert report.count("added") == report.passages == 2000
    assert_consistent(library.store)


def test_a_repeated_id_replaces_within_one_call(library: Library) -> None:
    documents = [Document(id=f"d{n % 3}", text=f"zebra {n} 第{n}号") for n in range(9)] + [
        Document(id="d9", text="tiger")
    ]
    report = library.add(documents, no_progress)
    assert [outcome.status for outcome in report.outcomes] == ["added"] * 3 + ["updated"] * 6 + ["added"]
    assert_consistent(library.store)
    assert [library.store.text(f"d{n}") for n in range(3)] == [f"zebra {n} 第{n}号" for n in (6, 7, 8)]


def test_a_huge_document(library: Library) -> None:
    text = "".join(f"Sentence {n} of the handbook. 第{n}条のとおりです。\n\n" for n in range(40_000))
    assert len(text.encode()) > 2_000_000
    report = library.add([Document(id="huge", text=text), Document(id="small", text="zebra")], no_progress)
    assert report.count("added") == 2
    assert report.passages > 1000
    assert_consistent(library.store)
    assert library.store.text("huge") == text


def test_invalid_texts_do_not_stop_the_others(library: Library) -> None:
    bad = [Document(id="half", text="a\ud800b"), Document(id="nul", text="zebra\0tiger"), Document(id="no", text=" ")]
    report = library.add([*bad, Document(id="last", text="zebra")], no_progress)
    assert statuses(report) == {"half": "failed", "nul": "added", "no": "skipped", "last": "added"}
    assert "lone surrogate" in next(outcome.reason for outcome in report.outcomes if outcome.name == "half")
    assert library.store.text("nul") == "zebra\0tiger"
    assert set(search(library.store, "zebra")) == {"nul", "last"}


@pytest.mark.parametrize("ending", [KeyboardInterrupt, RuntimeError, ValueError])
def test_interrupting_keeps_the_reported_documents(
    library: Library, monkeypatch: pytest.MonkeyPatch, ending: type[BaseException]
) -> None:
    monkeypatch.setattr(ingest_module, "MAX_BATCH_PASSAGES", 5)
    seen: list[str] = []

    def stop(outcome: Outcome, to_come: int | None) -> None:
        seen.append(outcome.name)
        if len(seen) == 12:
            raise ending("enough")

    documents = [Document(id=str(n), text=f"zebra {n}") for n in range(40)]
    with pytest.raises(ending, match="enough"):
        library.add(documents, stop)
    assert_consistent(library.store)
    assert set(seen) <= {document.id for document in library.store.documents()}
    report = library.add(documents, no_progress)
    assert len(report.outcomes) == len(library.store.documents()) == 40


def test_forget_by_id_and_by_path(
    library: Library, three: list[Path], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(library, files)
    library.add([Document(id="~nobody/x", text="zebra"), Document(id="'; DROP", text="tiger")], no_progress)
    monkeypatch.chdir(files)
    assert [document.title for document in library.forget("休暇.md")] == ["休暇"]
    assert [document.id for document in library.forget("~nobody/x")] == ["~nobody/x"]
    assert [document.id for document in library.forget("'; DROP")] == ["'; DROP"]
    assert search(library.store, "zebra") == search(library.store, "有給休暇") == []
    for name in ("zebra", "%", "' OR 1=1 --", "", "休暇.md"):
        with pytest.raises(InputError, match="There is no document"):
            library.forget(name)
    assert len(library.store.documents()) == 2


def test_another_embedder_requires_a_reindex_which_needs_no_files(
    make_library: MakeLibrary, three: list[Path], files: Path, write: Write
) -> None:
    old = make_library(HashEmbedder("old"))
    old.add([Document(id="text", text="zebra", metadata={"a": 1})], no_progress)
    ingest(old, files)
    before = {identity(document) for document in old.store.documents()}
    for path in three:
        path.rename(path.with_suffix(".away"))
    new = make_library(HashEmbedder("new"), passage_tokens=64)
    with pytest.raises(OutdatedIndexError, match='embedder old, not new.*run "veracity reindex"'):
        new.ingest([files], False, no_progress)
    with pytest.raises(OutdatedIndexError, match='embedder old, not new.*run "veracity reindex"'):
        new.add([], no_progress)
    with pytest.raises(OutdatedIndexError, match='passage_tokens 200, not 64: run "veracity reindex"'):
        search(new.store, "a")
    seen: list[int | None] = []
    report = new.reindex(lambda outcome, to_come: seen.append(to_come))
    assert seen == [3, 2, 1, 0]
    assert report.count("updated") == 4
    assert_consistent(new.store)
    assert {identity(document) for document in new.store.documents()} == before
    assert search(new.store, "大阪の有給休暇")
    with pytest.raises(OutdatedIndexError):
        search(old.store, "zebra")
    for path in three:
        path.with_suffix(".away").rename(path)
    assert set(ingest(new, files).values()) == {"unchanged"}


@pytest.mark.parametrize("ending", [KeyboardInterrupt, RuntimeError, KnowledgeError])
def test_an_interrupted_reindex_changes_nothing(
    make_library: MakeLibrary, monkeypatch: pytest.MonkeyPatch, ending: type[BaseException]
) -> None:
    monkeypatch.setattr(ingest_module, "MAX_BATCH_PASSAGES", 2)
    old, new = make_library(HashEmbedder("old")), make_library(HashEmbedder("new"))
    old.add([Document(id=str(n), text=f"zebra {n} 第{n}号") for n in range(10)], no_progress)
    version = old.store.version

    def stop(outcome: Outcome, to_come: int | None) -> None:
        if to_come == 4:
            raise ending("enough")

    with pytest.raises(ending, match="enough"):
        new.reindex(stop)
    assert old.store.version == version
    assert len(search(old.store, "zebra")) == 10
    assert new.reindex(no_progress).count("updated") == 10
    assert len(search(new.store, "zebra")) == 10


def test_reindexing_an_empty_library(library: Library, folder: Path) -> None:
    assert library.reindex(no_progress).outcomes == []
    assert not (folder / "passages.lance").exists()


def test_a_second_writer_gets_a_busy_error(library: Library, make_library: MakeLibrary, three: list[Path]) -> None:
    second = make_library()

    def try_to_write(outcome: Outcome, to_come: int | None) -> None:
        for write in (
            lambda: second.ingest(three, False, no_progress),
            lambda: second.add([], no_progress),
            lambda: second.forget("x"),
            lambda: second.reindex(no_progress),
        ):
            with pytest.raises(BusyError, match="are being changed by"):
                write()

    library.ingest(three[:1], False, try_to_write)
    assert second.ingest(three, False, no_progress).count("added") == 2


READ = """
import sys, time
from pathlib import Path
from tests.knowledge.material import search
from veracity.knowledge.store import Store
import json
store = Store(Path(sys.argv[1]), 16, json.loads(sys.argv[2]))
print("ready", flush=True)
worst = searches = 0
while not Path(sys.argv[3]).exists():
    before = time.monotonic()
    names = search(store, "zebra")
    worst, searches = max(worst, time.monotonic() - before), searches + 1
    Path(sys.argv[4]).write_text(str(searches))
    assert store.version == 0 or len(names) in (0, 30), len(names)
print(searches, worst, len(search(store, "zebra")))
"""


def test_another_process_reads_while_we_write(library: Library, folder: Path, tmp_path: Path) -> None:
    """All thirty documents are one commit: the reader sees none or all of them."""
    stop, counted = tmp_path / "stop", tmp_path / "counted"
    command = [sys.executable, "-c", READ, str(folder), json.dumps(library.store._recipe), str(stop), str(counted)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        for turn in range(60):
            library.add([Document(id=str(n), text=f"zebra {turn} {n}") for n in range(30)], no_progress)
            library.reindex(no_progress)
            if turn >= 3 and counted.exists() and int(counted.read_text() or 0) > 3:
                break
        stop.touch()
        searches, worst, last = reader.stdout.readline().split()
    assert reader.returncode == 0
    assert int(searches) > 3
    assert int(last) == 30
    assert float(worst) < 20


def test_threads_can_search_during_a_write(library: Library) -> None:
    library.add([Document(id="a", text="zebra")], no_progress)
    done, problems = threading.Event(), []

    def search_repeatedly() -> None:
        while not done.is_set():
            try:
                assert search(library.store, "zebra") == ["a"]
            except BaseException as problem:  # noqa: BLE001 - the test reports it
                problems.append(problem)
                return

    threads = [threading.Thread(target=search_repeatedly) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(5):
        library.add(
            [Document(id=f"b{turn}", text=f"tiger {turn}"), Document(id="a", text=f"zebra {turn}")], no_progress
        )
    done.set()
    for thread in threads:
        thread.join()
    assert problems == []


def test_unchanged_files_are_neither_read_nor_written(
    library: Library, write: Write, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(150):
        write(f"{number}.md", ENGLISH * 20 + str(number))
    library.ingest([files], False, no_progress)
    version = library.store.version
    monkeypatch.setattr(library._ingestion._workers, "submit", lambda request: pytest.fail("read again"))
    assert library.ingest([files], False, no_progress).count("unchanged") == 150
    assert library.store.version == version


@pytest.mark.parametrize("metadata", [{"k\udcff": "v"}, {"k": "\ud800"}])
def test_metadata_with_a_lone_surrogate_is_rejected(metadata: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="lone surrogate"):
        Document(id="a", text="zebra", metadata=metadata)


def test_a_reindex_purges_forgotten_texts_from_disk(library: Library, folder: Path) -> None:
    library.add([Document(id="a", text="zebra secretword"), Document(id="b", text="tiger")], no_progress)
    library.forget("a")
    library.reindex(no_progress)
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"secretword" not in kept and b"tiger" in kept
    assert search(library.store, "tiger") == ["b"]


def test_a_skipped_file_keeps_its_document(library: Library, write: Write, files: Path, tmp_path: Path) -> None:
    """Without `prune` a document is forgotten only when its file is empty."""
    target = tmp_path / "outside.md"
    target.write_text("zebra outside")
    link = files / "link.md"
    files.mkdir(exist_ok=True)
    link.symlink_to(target)
    library.ingest([link], False, no_progress)
    [outcome] = library.ingest([files], False, no_progress).outcomes
    assert outcome.status == "skipped" and "kept" in outcome.reason
    assert len(library.store.documents()) == 1
