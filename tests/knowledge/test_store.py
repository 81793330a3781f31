"""The table: what is written is found, whole and once, and every other reader sees it at its next question."""

import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.knowledge.material import CHINESE, ENGLISH, JAPANESE, Hashed, MakeLibrary, found, quiet, require_whole
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
NASTY = [
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
    library.add(THREE, quiet)
    return library.store


def other(store: Store, **changes: Any) -> Store:
    return Store(store._folder, 16, {**store._recipe, **changes})


def data_files(store: Store) -> list[Path]:
    return list(store._home.rglob("data/*.lance"))


def test_nothing_is_there_and_nothing_is_created_by_asking(folder: Path) -> None:
    store = Store(folder, 16, {"embedder": "x"})
    assert store.version == (0, 0)
    assert [*store.documents(), *store.fingerprints(), *store.bodies()] == []
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
def test_words_find_their_document(store: Store, query: str, expected: str) -> None:
    assert found(store, query)[0] == expected


def test_names_and_vectors_find_their_document(store: Store) -> None:
    (hit,) = store.by_entities(["dublin"], 5)
    assert hit.passage.document_id == "en"
    assert hit.score > 0
    for document in THREE:
        assert store.by_vector(Hashed().embed_query(document.text), 1)[0].passage.document_id == document.id
    assert len(store.by_vector(Hashed().embed_query("x"), 10)) == 3  # the rows of documents are none


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


def test_an_open_reader_sees_each_change_at_its_next_question(library: Library) -> None:
    reader = Store(library.store._folder, 16, library.store._recipe)
    assert found(reader, "Dublin") == []
    library.add(THREE[:1], quiet)
    assert found(reader, "Dublin") == ["en"]
    before = reader.version
    library.add([Document(id="en", text="上海办公室")], quiet)
    assert found(reader, "Dublin") == []
    assert found(reader, "上海办公室") == ["en"]
    assert reader.version > before
    library.reindex(quiet)
    assert found(reader, "上海办公室") == ["en"]
    library.forget("en")
    assert reader.documents() == []


def test_a_folder_removed_and_made_again_is_seen_as_it_is(library: Library, store: Store, folder: Path) -> None:
    shutil.rmtree(folder)
    assert store.documents() == []
    library.add(THREE[:1], quiet)
    assert [document.id for document in store.documents()] == ["en"]
    assert found(store, "Dublin") == ["en"]


@pytest.mark.parametrize("name", NASTY)
def test_no_name_is_more_than_a_name(library: Library, store: Store, name: str) -> None:
    library.add([Document(id=name, text="A zebra.")], quiet)
    library.add([Document(id=name, text="A giraffe. キリン。")], quiet)
    require_whole(store)
    assert len(store.documents()) == 4
    assert store.text(name) == "A giraffe. キリン。"
    assert found(store, "giraffe") == [name]
    assert found(store, "zebra") == []
    store.forget([name])
    assert {document.id for document in store.documents()} == {"en", "zh", "ja"}
    assert store.text(name) is None


def test_many_are_forgotten_at_once(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MOST_NAMED", 7)
    library.add([Document(id=f"it's {n}", text=f"number {n}") for n in range(30)], quiet)
    library.store.forget([f"it's {n}" for n in range(29)])
    assert [document.id for document in library.store.documents()] == ["it's 29"]


def test_an_empty_table_is_fine(library: Library, store: Store) -> None:
    """As a kill leaves it between creating the table and the first rows, or when the last document goes."""
    store.forget(["en", "zh", "ja"])
    assert [*store.documents(), *found(store, "Dublin")] == []
    assert library.reindex(quiet).outcomes == []
    assert library.add(THREE, quiet).count("added") == 3
    require_whole(store)


@pytest.mark.parametrize("left", ["", "_versions", "_transactions", "data"])
def test_a_table_that_was_only_begun_is_none(library: Library, folder: Path, left: str) -> None:
    (folder / "passages.lance" / left).mkdir(parents=True)
    assert library.store.documents() == []
    library.add(THREE, quiet)
    assert found(library.store, "Dublin") == ["en"]


def test_without_an_embedder_words_still_find(make_library: MakeLibrary) -> None:
    library = make_library(NoEmbedder())
    library.add(THREE, quiet)
    assert found(library.store, "Dublin") == ["en"]
    assert library.store.by_words(["dublin"], 5)[0].vector is None
    assert library.store.by_vector([1.0], 5) == []


def test_what_is_not_covered_has_no_vector(make_library: MakeLibrary) -> None:
    library = make_library(Hashed(covers=str.isascii))
    library.add(THREE, quiet)
    assert [hit.passage.document_id for hit in library.store.by_vector([1.0] + [0.0] * 15, 9)] == ["en"]
    assert library.store.by_words(["大阪"], 5)[0].vector is None
    assert found(library.store, "大阪") == ["ja"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [({"embedder": "new"}, "embedder hashed, not new"), ({"passage_tokens": 9}, "passage_tokens 200, not 9"),
     ({"format": 99, "embedder": "new"}, "embedder hashed, not new and format 1, not 99")],
)  # fmt: skip
def test_another_recipe_is_told_by_all_that_search_or_write(store: Store, changes: dict[str, Any], told: str) -> None:
    changed = other(store, **changes)
    for ask in (
        lambda: changed.by_words(["dublin"], 5),
        lambda: changed.by_entities(["dublin"], 5),
        lambda: changed.by_vector([1.0] * 16, 5),
        lambda: changed.replace(changed.schema.empty_table(), []),
        changed.require_same_recipe,
    ):
        with pytest.raises(OutdatedIndexError, match=f'were indexed with {told}: run "veracity reindex"'):
            ask()
    assert len(changed.documents()) == 3
    assert changed.text("en") == ENGLISH


def damage_versions(store: Store) -> None:
    for path in (store._home / "_versions").iterdir():
        path.write_bytes(b"garbage")


def damage_data(store: Store) -> None:
    for path in data_files(store):
        with path.open("r+b") as file:
            file.truncate(30)


def lose_versions(store: Store) -> None:
    shutil.rmtree(store._home / "_versions")


def lose_data(store: Store) -> None:
    shutil.rmtree(store._home / "data")


@pytest.mark.parametrize("damage", [damage_versions, damage_data, lose_versions, lose_data])
def test_a_damaged_folder_is_told_in_one_sentence(store: Store, damage: Any) -> None:
    damage(store)
    fresh = other(store)
    with pytest.raises(KnowledgeError) as told:
        assert fresh.documents() == []
    message = str(told.value)
    assert message.startswith(f'The documents in "{store._folder}" cannot be used (')
    assert message.endswith(": if it stays so, bring the folder back from a backup, or remove it and ingest again.")
    assert ".rs:" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("problem", "remedy"),
    [
        (OSError(28, "No space left on device"), "make room on the disk"),
        (
            RuntimeError("lance error: LanceError(IO): … (os error 28), /root/x/src/io.rs:653:26"),
            "make room on the disk",
        ),
        (PermissionError(13, "Permission denied"), "make it readable and writable"),
        (OSError(30, "Read-only file system"), "make it readable and writable"),
        (RuntimeError("too many open files (os error 24)"), "allow more open files"),
        (pa.ArrowInvalid("odd"), "bring the folder back"),
    ],
)
def test_what_the_database_says_becomes_advice(
    store: Store, library: Library, monkeypatch: pytest.MonkeyPatch, problem: Exception, remedy: str
) -> None:
    table = store._table

    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(table, "add", fail)
    with pytest.raises(KnowledgeError, match=remedy) as told:
        library.add([Document(id="d", text="more")], quiet)
    assert ".rs" not in str(told.value)
    monkeypatch.undo()
    assert library.add([Document(id="d", text="more")], quiet).count("added") == 1


def test_a_crash_inside_the_database_is_told_and_an_interruption_passes(
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


def test_the_database_is_silent(folder: Path, capfd: pytest.CaptureFixture[str], make_library: MakeLibrary) -> None:
    library = make_library()
    library.add(THREE, quiet)
    library.reindex(quiet)
    library.add(THREE, quiet)
    library.forget("en")
    assert os.environ["LANCEDB_LOG"] == "error"
    assert capfd.readouterr() == ("", "")
