"""Forgotten documents leave the disk: with the next change of a small table, or when a server asks for it."""

import os
import time
from pathlib import Path

import pytest

from tests.knowledge.material import no_progress, search
from veracity.engine import Veracity
from veracity.errors import BusyError
from veracity.knowledge import store as store_module
from veracity.knowledge.library import Library, purge_forgotten, writer_lock
from veracity.knowledge.purge import PURGE_AFTER_SECONDS
from veracity.models import Document
from veracity.settings import Settings

MANY = [Document(id=str(number), text=f"Tiger number {number}.") for number in range(40)]


@pytest.fixture
def forgotten(library: Library) -> Library:
    """With 40 documents besides: compaction alone would not touch a table with so few deleted rows."""
    library.add([*MANY, Document(id="a", text="A secretzebra. 机密文件。")], no_progress)
    library.forget("a")
    return library


def is_on_disk(folder: Path) -> bool:
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return any(word in content for content in files for word in (b"secretzebra", "机密".encode()))


def let_time_pass(folder: Path) -> None:
    then = time.time() - PURGE_AFTER_SECONDS - 1
    os.utime(folder / ".forgotten", (then, then))


def test_what_was_just_forgotten_stays_for_searches_under_way(forgotten: Library, folder: Path) -> None:
    assert not purge_forgotten(forgotten.store)
    forgotten.add([Document(id="b", text="Zebra.")], no_progress)
    assert is_on_disk(folder)


def test_a_server_removes_it_later(forgotten: Library, folder: Path) -> None:
    let_time_pass(folder)
    assert purge_forgotten(forgotten.store)
    assert not is_on_disk(folder)
    assert not purge_forgotten(forgotten.store)
    assert sorted(search(forgotten.store, "tiger")) == sorted(document.id for document in MANY)
    forgotten.add([Document(id="0", text="Tiger number zero.")], no_progress)
    assert len(forgotten.store.documents()) == 40


def test_the_next_change_removes_it_from_a_small_table(
    forgotten: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_time_pass(folder)
    with monkeypatch.context() as patched:
        patched.setattr(store_module, "MAX_CHEAP_ROWS", 10)
        forgotten.add([Document(id="b", text="Zebra.")], no_progress)
        assert is_on_disk(folder)
    forgotten.add([Document(id="c", text="Zebra.")], no_progress)
    assert not is_on_disk(folder)


def test_it_waits_for_another_writer(forgotten: Library, folder: Path) -> None:
    let_time_pass(folder)
    with writer_lock(folder), pytest.raises(BusyError):
        purge_forgotten(forgotten.store)
    assert purge_forgotten(forgotten.store) and not is_on_disk(folder)


def test_a_program_that_starts_catches_up(tmp_path: Path) -> None:
    settings = Settings.model_validate({"models": {"embedder": "none"}})
    with Veracity(tmp_path, settings=settings) as engine:
        engine.add([*MANY, Document(id="a", text="A secretzebra.")])
        engine.forget("a")
        engine.recover()
        assert is_on_disk(tmp_path)
        let_time_pass(tmp_path / "knowledge")
        engine.recover()
        assert not is_on_disk(tmp_path)
        assert len(engine.search("tiger", 50)) == 40
