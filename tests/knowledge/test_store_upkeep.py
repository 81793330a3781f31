"""Indexes that come by themselves where they pay, and a folder that does not grow without end."""

import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from tests.knowledge.material import Hashed, found, quiet, require_whole
from veracity.knowledge import store as store_module
from veracity.knowledge.library import Library
from veracity.knowledge.store import Store
from veracity.models import Document


def indexed(store: Store) -> dict[str, int]:
    """The columns that have an index, and how many rows are not in it yet."""
    table = store._table
    assert table is not None
    return {index.columns[0]: index.num_unindexed_rows or 0 for index in table.list_indices()}


def versions(folder: Path) -> int:
    return len(list((folder / "passages.lance" / "_versions").iterdir()))


def text(number: int) -> str:
    return f"Report {number} names the pump. 第{number}号报告。第{number}回の報告です。"


def test_words_are_indexed_from_the_first_document(library: Library) -> None:
    library.add([Document(id="a", text=text(1))], quiet)
    assert indexed(library.store).keys() == {"words", "entities"}


def test_many_new_rows_are_indexed_and_few_wait(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "ROWS_WORTH_INDEXING", 20)
    library.add([Document(id="a", text=text(1))], quiet)
    assert set(indexed(library.store).values()) == {2}
    library.add([Document(id=str(n), text=text(n)) for n in range(20)], quiet)
    assert set(indexed(library.store).values()) == {0}
    assert len(found(library.store, "pump")) == 21


def test_vectors_are_indexed_when_there_are_enough_and_found_before_and_after(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "VECTORS_WORTH_AN_INDEX", 300)
    documents = [Document(id=str(n), text=text(n)) for n in range(320)]
    query = Hashed().embed_query(text(7))
    library.add(documents[:100], quiet)
    assert "vector" not in indexed(library.store)
    before = library.store.by_vector(query, 100)
    library.add(documents[100:], quiet)
    assert "vector" in indexed(library.store)
    after = library.store.by_vector(query, 5)
    best = max(float(query @ hit.vector) for hit in before)
    assert max(float(query @ hit.vector) for hit in after) >= best - 0.01
    library.add([Document(id="late", text="Unlike zebra xylophone quartz.")], quiet)
    nearest = library.store.by_vector(Hashed().embed_query("Unlike zebra xylophone quartz."), 1)
    assert nearest[0].passage.document_id == "late"


def test_many_small_commits_are_merged(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "COMMITS_WORTH_MERGING", 5)
    for number in range(12):
        library.add([Document(id=str(number), text=text(number))], quiet)
    table = library.store._table
    assert table is not None
    assert table.stats()["fragment_stats"]["num_fragments"] <= 6  # type: ignore[index]
    require_whole(library.store)


def test_versions_go_when_no_one_can_read_them_any_more(
    library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "VERSIONS_WORTH_REMOVING", 10)
    for number in range(9):
        library.add([Document(id="a", text=text(number))], quiet)
    many = versions(folder)
    assert many > 10  # all are of these minutes
    monkeypatch.setattr(store_module, "KEPT", 0.2)
    monkeypatch.setattr(store_module, "LEEWAY", 0.05)
    time.sleep(0.3)
    library.add([Document(id="a", text=text(9))], quiet)
    assert versions(folder) < many / 2
    assert found(library.store, "report 9") == ["a"]


def test_the_version_that_was_current_a_moment_ago_stays_however_old_it_is() -> None:
    now = time.time()
    old, recent = [now - 90_000, now - 80_000, now - 70_000], [now - 5, now - 1]
    age = store_module._age_to_remove([*old, *recent])
    assert timedelta(seconds=70_000) < age < timedelta(seconds=80_000)
    assert store_module._superseded([*old, *recent]) == 2
    assert store_module._superseded(recent) == store_module._superseded([]) == 0
    assert store_module._age_to_remove(recent) >= timedelta(seconds=store_module.KEPT)


def test_a_reader_in_the_midst_of_a_search_keeps_what_it_reads(
    library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The version it reads is old, and is replaced, merged and cleaned up behind its back."""
    for kept in (0.2, 2.0, 20.0):  # on a busy machine the rest may take longer than that
        library.add([Document(id=str(n), text=text(n)) for n in range(30)], quiet)
        reader = Store(folder, 16, library.store._recipe)
        bodies = reader.bodies(batch=1)
        next(bodies)
        with monkeypatch.context() as patched:
            for name, value in {"KEPT": kept, "LEEWAY": 0.05, "ROWS_WORTH_INDEXING": 0}.items():
                patched.setattr(store_module, name, value)
            time.sleep(kept + 0.1)
            began = time.monotonic()
            library.add([Document(id=str(n), text=text(n + 100)) for n in range(30)], quiet)
            library.store.maintain()
        if time.monotonic() - began < kept:
            break
    assert len(list(bodies)) == 29
    assert len(reader.by_words(["pump"], 100)) == 30


def test_what_a_killed_writer_left_is_removed(library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library.add([Document(id="a", text=text(1))], quiet)
    orphan = folder / "passages.lance" / "data" / "0123456789abcdef0123456789abcdef.lance"
    orphan.write_bytes(b"half")
    monkeypatch.setattr(store_module, "ROWS_WORTH_INDEXING", 0)
    library.add([Document(id="b", text=text(2))], quiet)
    assert not orphan.exists()


def test_nothing_is_done_without_need(library: Library, files: Path) -> None:
    library.add([Document(id="a", text=text(1))], quiet)
    (files / "empty.md").touch()
    before = library.store.version
    for _ in range(3):
        library.ingest([files], True, quiet)
        library.store.maintain()
    assert library.store.version == before


def test_an_index_that_is_missing_is_made_at_the_next_occasion(library: Library, files: Path) -> None:
    """As after a kill between writing everything anew and indexing it. Until then words are found all the same."""
    library.add([Document(id="a", text=text(1)), Document(id="b", text="大阪の支社です。")], quiet)
    table = library.store._table
    assert table is not None
    for index in list(table.list_indices()):
        table.drop_index(index.name)
    assert found(library.store, "pump") == ["a"]
    assert found(library.store, "大阪の支社") == ["b"]
    (files / "empty.md").touch()
    library.ingest([files], False, quiet)
    assert indexed(library.store).keys() == {"words", "entities"}


def test_vectors_of_all_sizes_are_null_or_whole(library: Library) -> None:
    library.add([Document(id="a", text=text(1))], quiet)
    (hit,) = library.store.by_words(["pump"], 5)
    assert hit.vector.shape == (16,)
    assert np.isclose(np.linalg.norm(hit.vector), 1)
