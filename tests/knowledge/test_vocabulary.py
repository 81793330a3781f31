"""The documents' own words, over a store as it is used (SPEC C4)."""

from pathlib import Path

import pyarrow as pa
import pytest

from veracity import Document
from veracity.engine import Veracity
from veracity.knowledge import vocabulary as module
from veracity.knowledge.vocabulary import StoreVocabulary, Words
from veracity.models import Hit

DOCUMENTS = [
    Document(id="en", text="The warranty of an instrument lasts 36 months. Warranties are printed on paper."),
    Document(id="zh", text="员工每年享有带薪年休假12天，须提前申请。"),
    Document(id="ja", text="在宅勤務の手当を支給する。"),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Veracity:
    engine = Veracity(tmp_path_factory.mktemp("vocabulary"))
    engine.add(DOCUMENTS)
    return engine


@pytest.fixture
def words(engine: Veracity) -> Words:
    return StoreVocabulary(engine._library.store, engine._embedder).now()


def test_forms_of_a_word_are_counted_together(words: Words) -> None:
    assert words.frequency("warranti") == 2
    assert words.frequency("warrenti") == 0
    assert words.size > 10


def test_it_knows_words_of_every_language(words: Words) -> None:
    assert words.knows("warranti") and words.knows("年休假") and words.knows("在宅")
    assert not words.knows("vacat") and not words.knows("报销")


def test_words_are_found_by_a_character_they_hold(words: Words) -> None:
    assert "年休假" in words.sharing("假")
    assert "在宅" in words.sharing("宅")
    assert words.sharing("q") == ()


def test_ordinary_words_are_told_from_slips(words: Words) -> None:
    assert words.is_ordinary("vacation") and words.is_ordinary("Poorly")
    assert not words.is_ordinary("warrenty") and not words.is_ordinary("reciept")


def test_nearness_is_in_meaning(words: Words) -> None:
    child, invoice = words.nearness("kid", ["child", "invoice"])
    assert child > 0.6 > invoice


def test_without_an_embedder_nothing_is_near(engine: Veracity) -> None:
    assert StoreVocabulary(engine._library.store).now().nearness("kid", ["child"]) == [0.0]


def test_no_documents_have_no_words(tmp_path: Path) -> None:
    words = StoreVocabulary(Veracity(tmp_path)._library.store).now()
    assert words.size == 0 and not words.knows("warranti") and words.sharing("假") == ()


def test_a_change_of_the_documents_is_seen(tmp_path: Path) -> None:
    engine = Veracity(tmp_path)
    vocabulary = StoreVocabulary(engine._library.store)
    assert not vocabulary.now().knows("hammer")
    engine.add(Document(id="new", text="A hammer."))
    assert vocabulary.now().knows("hammer")


class Counted:
    """A store that tells how often its words were read and what its index was asked."""

    version = 1

    def __init__(self, passages: list[str]) -> None:
        self.passages = passages
        self.reads = 0
        self.asked: list[str] = []

    def words(self) -> pa.ChunkedArray:
        self.reads += 1
        return pa.chunked_array([self.passages])

    def by_words(self, words: list[str], limit: int, language: str | None = None) -> list[Hit]:
        self.asked += words
        held = any(words[0] in passage.split() for passage in self.passages)
        return ["a hit"] if held else []  # type: ignore[list-item]


def test_it_is_counted_once_for_a_version() -> None:
    store = Counted(["a b", "b"])
    vocabulary = StoreVocabulary(store)  # type: ignore[arg-type]
    words = vocabulary.now()
    assert [words.frequency("b"), words.frequency("a"), words.size] == [2, 1, 3]
    assert vocabulary.now().size == 3 and store.reads == 1
    store.version = 2
    assert vocabulary.now().frequency("b") == 2 and store.reads == 2


def test_of_a_large_store_a_part_is_counted_and_the_index_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COUNTED", 5)
    store = Counted([f"all w{number}" for number in range(10)])
    words = StoreVocabulary(store).now()  # type: ignore[arg-type]
    assert words.frequency("all") == 5
    assert all(words.knows(f"w{number}") for number in range(10))
    assert not words.knows("w10") and "w10" in store.asked
