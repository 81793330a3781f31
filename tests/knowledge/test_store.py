"""The table: searches, atomic commits that open readers see, error messages, indexes and compaction."""

import os
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.knowledge.material import (
    CHINESE,
    ENGLISH,
    JAPANESE,
    HashEmbedder,
    MakeLibrary,
    assert_consistent,
    no_progress,
    search,
    table_folder,
)
from veracity.embedding.base import NoEmbedder
from veracity.errors import KnowledgeError, OutdatedIndexError
from veracity.knowledge import store as store_module
from veracity.knowledge.library import Library
from veracity.knowledge.store import Store
from veracity.models import Document

THREE = [
    Document(id="en", text=ENGLISH, markdown=True),
    Document(id="zh", text=CHINESE, markdown=True),
    Document(id="ja", text=JAPANESE, markdown=True),
]
UNUSUAL_IDS = [
    "'; DROP TABLE passages; --",
    "%",
    "_",
    "a\\b",
    "it's",
    '"',
    "x' OR '1'='1",
    "文書😀",
    "new\nline",
    "a\0b",
    ".",
]


@pytest.fixture
def store(library: Library) -> Store:
    library.add(THREE, no_progress)
    return library.store


def reopen(store: Store, **changes: Any) -> Store:
    return Store(store.location, 16, {**store._recipe, **changes})


def data_files(store: Store) -> list[Path]:
    return list(table_folder(store).rglob("data/*.lance"))


def test_reading_an_empty_store_creates_nothing(folder: Path) -> None:
    store = Store(folder, 16, {"embedder": "x"})
    assert store.version == (0, 0)
    assert [*store.documents(), *store.fingerprints(), *store.document_rows()] == []
    assert store.languages() == frozenset()
    assert store.text("a") is None
    assert store.by_words(["a"], 5) == store.by_entities(["a"], 5) == store.by_vector([1.0] * 16, 5) == []
    store.require_same_recipe()
    store.forget(["a"])
    store.confirm([])
    store.maintain()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("query", "expected"),
    [("days of leave in Dublin", "en"), ("住宿每晚六百元", "zh"), ("有給休暇は何日もらえますか", "ja")],
)
def test_search_by_words(store: Store, query: str, expected: str) -> None:
    assert search(store, query)[0] == expected


def test_search_by_entities_and_vectors(store: Store) -> None:
    (hit,) = store.by_entities(["dublin"], 5)
    assert hit.passage.document_id == "en"
    assert hit.score > 0
    for document in THREE:
        assert store.by_vector(HashEmbedder().embed_query(document.text), 1)[0].passage.document_id == document.id
    assert len(store.by_vector(HashEmbedder().embed_query("x"), 10)) == 3  # rows of documents have no vector


def test_limit_language_and_many_words(store: Store) -> None:
    every = ["dublin", "上海", "大阪", *(f"word{n}" for n in range(1000))]
    assert len(store.by_words(every, 10)) == 3
    assert len(store.by_words(every, 2)) == 2
    assert [hit.passage.document_id for hit in store.by_words(every, 10, "zh")] == ["zh"]
    assert store.by_words(every, 10, "it's") == []
    assert store.by_words([], 10) == []


def test_languages_follow_the_documents(library: Library, store: Store) -> None:
    assert store.languages() == {"en", "zh", "ja"}
    library.forget("zh")
    assert store.languages() == {"en", "ja"}


def test_texts_are_whole_and_passages_point_into_them(store: Store) -> None:
    for document in THREE:
        text = store.text(document.id)
        assert text == document.text
        for hit in store.by_words(["dublin", "上海", "大阪"], 10):
            if hit.passage.document_id == document.id:
                assert text[hit.passage.start : hit.passage.end] == hit.passage.text


def test_an_open_reader_sees_each_change_at_its_next_query(library: Library) -> None:
    reader = Store(library.store.location, 16, library.store._recipe)
    assert search(reader, "Dublin") == []
    library.add(THREE[:1], no_progress)
    assert search(reader, "Dublin") == ["en"]
    before = reader.version
    library.add([Document(id="en", text="上海办公室")], no_progress)
    assert search(reader, "Dublin") == []
    assert search(reader, "上海办公室") == ["en"]
    assert reader.version > before
    library.reindex(no_progress)
    assert search(reader, "上海办公室") == ["en"]
    library.forget("en")
    assert reader.documents() == []


def test_a_folder_that_was_deleted_and_recreated(library: Library, store: Store, folder: Path) -> None:
    shutil.rmtree(folder)
    assert store.documents() == []
    library.add(THREE[:1], no_progress)
    assert [document.id for document in store.documents()] == ["en"]
    assert search(store, "Dublin") == ["en"]


@pytest.mark.parametrize("name", UNUSUAL_IDS)
def test_unusual_document_ids(library: Library, store: Store, name: str) -> None:
    library.add([Document(id=name, text="A zebra.")], no_progress)
    library.add([Document(id=name, text="A giraffe. キリン。")], no_progress)
    assert_consistent(store)
    assert len(store.documents()) == 4
    assert store.text(name) == "A giraffe. キリン。"
    assert search(store, "giraffe") == [name]
    assert search(store, "zebra") == []
    store.forget([name])
    assert {document.id for document in store.documents()} == {"en", "zh", "ja"}
    assert store.text(name) is None


def test_many_documents_are_forgotten_in_batches(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_IDS_PER_CONDITION", 7)
    library.add([Document(id=f"it's {n}", text=f"number {n}") for n in range(30)], no_progress)
    library.store.forget([f"it's {n}" for n in range(29)])
    assert [document.id for document in library.store.documents()] == ["it's 29"]


def test_an_empty_table_works(library: Library, store: Store) -> None:
    """A kill after creating the table leaves it empty, and so does forgetting the last document."""
    store.forget(["en", "zh", "ja"])
    assert [*store.documents(), *search(store, "Dublin")] == []
    assert library.reindex(no_progress).outcomes == []
    assert library.add(THREE, no_progress).count("added") == 3
    assert_consistent(store)


@pytest.mark.parametrize("left", ["", "_versions", "_transactions", "data"])
def test_a_table_whose_creation_was_interrupted_does_not_exist(library: Library, folder: Path, left: str) -> None:
    (folder / "passages.lance" / left).mkdir(parents=True)
    assert library.store.documents() == []
    library.add(THREE, no_progress)
    assert search(library.store, "Dublin") == ["en"]


def test_without_an_embedder_search_by_words_works(make_library: MakeLibrary) -> None:
    library = make_library(NoEmbedder())
    library.add(THREE, no_progress)
    assert search(library.store, "Dublin") == ["en"]
    assert library.store.by_words(["dublin"], 5)[0].vector is None
    assert library.store.by_vector([1.0], 5) == []


def test_uncovered_passages_have_no_vector(make_library: MakeLibrary) -> None:
    library = make_library(HashEmbedder(covers=str.isascii))
    library.add(THREE, no_progress)
    assert [hit.passage.document_id for hit in library.store.by_vector([1.0] + [0.0] * 15, 9)] == ["en"]
    assert library.store.by_words(["大阪"], 5)[0].vector is None
    assert search(library.store, "大阪") == ["ja"]


@pytest.mark.parametrize(
    ("changes", "differences"),
    [({"passage_tokens": 9}, "passage_tokens 200, not 9"),
     ({"format": 99, "passage_tokens": 9}, "passage_tokens 200, not 9 and format 1, not 99")],
)  # fmt: skip
def test_another_recipe_fails_searches_and_writes(store: Store, changes: dict[str, Any], differences: str) -> None:
    changed = reopen(store, **changes)
    for call in (
        lambda: changed.by_words(["dublin"], 5),
        lambda: changed.by_entities(["dublin"], 5),
        lambda: changed.by_vector([1.0] * 16, 5),
        lambda: changed.by_ids(["en#0"]),
        lambda: changed.replace(changed.schema.empty_table(), []),
        changed.require_same_recipe,
    ):
        with pytest.raises(OutdatedIndexError, match=f'were indexed with {differences}: run "veracity reindex"'):
            call()
    assert len(changed.documents()) == 3
    assert changed.text("en") == ENGLISH


def test_another_embedder_leaves_search_by_words(store: Store) -> None:
    changed = reopen(store, embedder="new")
    hits = store.by_words(["dublin"], 5)
    assert hits and not store.has_outdated_vectors and changed.has_outdated_vectors
    found = [*changed.by_words(["dublin"], 5), *changed.by_ids([hit.passage.id for hit in hits])]
    assert [hit.passage for hit in found] == 2 * [hit.passage for hit in hits]
    assert all(hit.vector is None for hit in found)
    assert changed.by_vector([1.0] * 16, 5) == [] != store.by_vector([1.0] * 16, 5)
    with pytest.raises(OutdatedIndexError, match='were indexed with embedder hashed, not new: run "veracity reindex"'):
        changed.replace(changed.schema.empty_table(), [])


def damage_versions(store: Store) -> None:
    for path in (table_folder(store) / "_versions").iterdir():
        path.write_bytes(b"garbage")


def damage_data(store: Store) -> None:
    for path in data_files(store):
        with path.open("r+b") as file:
            file.truncate(30)


def lose_versions(store: Store) -> None:
    shutil.rmtree(table_folder(store) / "_versions")


def lose_data(store: Store) -> None:
    shutil.rmtree(table_folder(store) / "data")


@pytest.mark.parametrize("damage", [damage_versions, damage_data, lose_versions, lose_data])
def test_a_damaged_folder_is_reported_in_one_sentence(store: Store, damage: Any) -> None:
    damage(store)
    fresh = reopen(store)
    with pytest.raises(KnowledgeError) as error:
        assert fresh.documents() == []
    message = str(error.value)
    assert message.startswith(f'The documents in "{store.location}" cannot be used (')
    assert message.endswith(": if it persists, restore the folder from a backup, or delete it and ingest again.")
    assert ".rs:" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("problem", "remedy"),
    [
        (OSError(28, "No space left on device"), "free some disk space"),
        (
            RuntimeError("lance error: LanceError(IO): … (os error 28), /root/x/src/io.rs:653:26"),
            "free some disk space",
        ),
        (PermissionError(13, "Permission denied"), "make it readable and writable"),
        (OSError(30, "Read-only file system"), "make it readable and writable"),
        (RuntimeError("too many open files (os error 24)"), "allow more open files"),
        (pa.ArrowInvalid("odd"), "restore the folder"),
    ],
)
def test_database_errors_include_a_remedy(
    store: Store, library: Library, monkeypatch: pytest.MonkeyPatch, problem: Exception, remedy: str
) -> None:
    table = store._table

    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(table, "add", fail)
    with pytest.raises(KnowledgeError, match=remedy) as error:
        library.add([Document(id="d", text="more")], no_progress)
    assert ".rs" not in str(error.value)
    monkeypatch.undo()
    assert library.add([Document(id="d", text="more")], no_progress).count("added") == 1


def test_a_database_panic_is_reported_and_an_interrupt_propagates(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicException(BaseException):
        pass

    def fail_with(problem: BaseException) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise problem

        return fail

    table = store._table
    monkeypatch.setattr(table, "search", fail_with(PanicException("index out of bounds")))
    with pytest.raises(KnowledgeError, match="index out of bounds"):
        store.documents()
    monkeypatch.setattr(table, "search", fail_with(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        store.documents()


def test_the_database_prints_nothing(
    folder: Path, capfd: pytest.CaptureFixture[str], make_library: MakeLibrary
) -> None:
    library = make_library()
    library.add(THREE, no_progress)
    library.reindex(no_progress)
    library.add(THREE, no_progress)
    library.forget("en")
    assert os.environ["LANCEDB_LOG"] == "error"
    assert capfd.readouterr() == ("", "")


def indexed(store: Store) -> dict[str, int]:
    """The indexed columns, and how many rows are not indexed yet."""
    table = store._table
    assert table is not None
    return {index.columns[0]: index.num_unindexed_rows or 0 for index in table.list_indices()}


def versions(folder: Path) -> int:
    return len(list((folder / "passages.lance" / "_versions").iterdir()))


def text(number: int) -> str:
    return f"Report {number} names the pump. 第{number}号报告。第{number}回の報告です。"


def test_words_are_indexed_from_the_first_document(library: Library) -> None:
    library.add([Document(id="a", text=text(1))], no_progress)
    assert indexed(library.store).keys() == {"words", "entities"}


def test_rows_are_indexed_once_there_are_enough(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_UNINDEXED_ROWS", 20)
    library.add([Document(id="a", text=text(1))], no_progress)
    assert set(indexed(library.store).values()) == {2}
    library.add([Document(id=str(n), text=text(n)) for n in range(20)], no_progress)
    assert set(indexed(library.store).values()) == {0}
    assert len(search(library.store, "pump")) == 21


def test_vectors_are_indexed_once_there_are_enough(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MIN_INDEXED_VECTORS", 300)
    documents = [Document(id=str(n), text=text(n)) for n in range(320)]
    query = HashEmbedder().embed_query(text(7))
    library.add(documents[:100], no_progress)
    assert "vector" not in indexed(library.store)
    before = library.store.by_vector(query, 100)
    library.add(documents[100:], no_progress)
    assert "vector" in indexed(library.store)
    after = library.store.by_vector(query, 5)
    best = max(float(query @ hit.vector) for hit in before)
    assert max(float(query @ hit.vector) for hit in after) >= best - 0.01
    library.add([Document(id="late", text="Unlike zebra xylophone quartz.")], no_progress)
    nearest = library.store.by_vector(HashEmbedder().embed_query("Unlike zebra xylophone quartz."), 1)
    assert nearest[0].passage.document_id == "late"


def test_small_fragments_are_merged(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_SMALL_FRAGMENTS", 5)
    for number in range(12):
        library.add([Document(id=str(number), text=text(number))], no_progress)
    table = library.store._table
    assert table is not None
    assert table.stats()["fragment_stats"]["num_fragments"] <= 6  # type: ignore[index]
    assert_consistent(library.store)


def test_superseded_versions_are_deleted(library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_SUPERSEDED_VERSIONS", 10)
    for number in range(9):
        library.add([Document(id="a", text=text(number))], no_progress)
    many = versions(folder)
    assert many > 10  # all are recent
    monkeypatch.setattr(store_module, "KEEP_VERSIONS_SECONDS", 0.2)
    monkeypatch.setattr(store_module, "CLOCK_TOLERANCE_SECONDS", 0.05)
    time.sleep(0.3)
    library.add([Document(id="a", text=text(9))], no_progress)
    assert versions(folder) < many / 2
    assert search(library.store, "report 9") == ["a"]


def test_the_version_that_was_current_recently_is_kept_however_old() -> None:
    now = time.time()
    old, recent = [now - 90_000, now - 80_000, now - 70_000], [now - 5, now - 1]
    age = store_module._age_to_delete([*old, *recent])
    assert timedelta(seconds=70_000) < age < timedelta(seconds=80_000)
    assert store_module._superseded([*old, *recent]) == 2
    assert store_module._superseded(recent) == store_module._superseded([]) == 0
    assert store_module._age_to_delete(recent) >= timedelta(seconds=store_module.KEEP_VERSIONS_SECONDS)


def test_compaction_does_not_disturb_a_running_search(
    library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version it reads is old, and is replaced, compacted and cleaned up meanwhile."""
    for keep_seconds in (0.2, 2.0, 20.0):  # on a busy machine the writes may take longer than that
        library.add([Document(id=str(n), text=text(n)) for n in range(30)], no_progress)
        reader = Store(folder, 16, library.store._recipe)
        document_rows = reader.document_rows(batch=1)
        next(document_rows)
        with monkeypatch.context() as patched:
            for name, value in {
                "KEEP_VERSIONS_SECONDS": keep_seconds,
                "CLOCK_TOLERANCE_SECONDS": 0.05,
                "MAX_UNINDEXED_ROWS": 0,
            }.items():
                patched.setattr(store_module, name, value)
            time.sleep(keep_seconds + 0.1)
            began = time.monotonic()
            library.add([Document(id=str(n), text=text(n + 100)) for n in range(30)], no_progress)
            library.store.maintain()
        if time.monotonic() - began < keep_seconds:
            break
    assert len(list(document_rows)) == 29
    assert len(reader.by_words(["pump"], 100)) == 30


def test_files_of_a_killed_writer_are_deleted(library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library.add([Document(id="a", text=text(1))], no_progress)
    orphan = folder / "passages.lance" / "data" / "0123456789abcdef0123456789abcdef.lance"
    orphan.write_bytes(b"half")
    monkeypatch.setattr(store_module, "MAX_UNINDEXED_ROWS", 0)
    library.add([Document(id="b", text=text(2))], no_progress)
    assert not orphan.exists()


def test_maintenance_without_need_changes_nothing(library: Library, files: Path) -> None:
    library.add([Document(id="a", text=text(1))], no_progress)
    (files / "empty.md").touch()
    before = library.store.version
    for _ in range(3):
        library.ingest([files], True, no_progress)
        library.store.maintain()
    assert library.store.version == before


def test_a_missing_index_is_created_by_maintenance(library: Library, files: Path) -> None:
    """A kill between a rebuild and its indexing leaves no indexes. Until then words are found all the same."""
    library.add([Document(id="a", text=text(1)), Document(id="b", text="大阪の支社です。")], no_progress)
    table = library.store._table
    assert table is not None
    for index in list(table.list_indices()):
        table.drop_index(index.name)
    assert search(library.store, "pump") == ["a"]
    assert search(library.store, "大阪の支社") == ["b"]
    (files / "empty.md").touch()
    library.ingest([files], False, no_progress)
    assert indexed(library.store).keys() == {"words", "entities"}


def test_stored_vectors_are_normalized(library: Library) -> None:
    library.add([Document(id="a", text=text(1))], no_progress)
    (hit,) = library.store.by_words(["pump"], 5)
    assert hit.vector.shape == (16,)
    assert np.isclose(np.linalg.norm(hit.vector), 1)
