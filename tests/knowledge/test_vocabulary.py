"""The words of the documents, over a real store (SPEC C4)."""

from pathlib import Path

import pyarrow as pa
import pytest

from veracity import Document
from veracity.engine import Veracity
from veracity.knowledge import vocabulary as module
from veracity.knowledge.vocabulary import StoreVocabulary, VocabularySnapshot
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
def words(engine: Veracity) -> VocabularySnapshot:
    return StoreVocabulary(engine._parts.library.store, engine._parts.embedder).current()


def test_forms_of_a_word_are_counted_together(words: VocabularySnapshot) -> None:
    assert words.frequency("warranti") == 2
    assert words.frequency("warrenti") == 0
    assert words.size > 10


def test_it_knows_words_of_every_language(words: VocabularySnapshot) -> None:
    assert words.knows("warranti") and words.knows("年休假") and words.knows("在宅")
    assert not words.knows("vacat") and not words.knows("报销")


def test_words_containing_a_character(words: VocabularySnapshot) -> None:
    assert "年休假" in words.words_containing("假")
    assert "在宅" in words.words_containing("宅")
    assert words.words_containing("q") == ()


def test_ordinary_words_are_not_misspellings(words: VocabularySnapshot) -> None:
    assert words.is_ordinary("vacation") and words.is_ordinary("Poorly")
    assert not words.is_ordinary("warrenty") and not words.is_ordinary("reciept")


def test_a_word_is_written_as_it_is_in_a_passage(words: VocabularySnapshot) -> None:
    assert words.is_written("warranty") and words.is_written("warranties") and words.is_written("Instrument")
    assert not words.is_written("warrantied") and not words.is_written("vacation") and not words.is_written("the")


def test_similarity_is_in_meaning(words: VocabularySnapshot) -> None:
    child, invoice = words.similarities("kid", ["child", "invoice"])
    assert child > 0.6 > invoice


def test_without_an_embedder_no_words_are_similar(engine: Veracity) -> None:
    assert StoreVocabulary(engine._parts.library.store).current().similarities("kid", ["child"]) == [0.0]


def test_an_empty_store_has_no_words(tmp_path: Path) -> None:
    words = StoreVocabulary(Veracity(tmp_path)._parts.library.store).current()
    assert words.size == 0 and not words.knows("warranti") and words.words_containing("假") == ()


def test_changed_documents_are_counted_again(tmp_path: Path) -> None:
    engine = Veracity(tmp_path)
    vocabulary = StoreVocabulary(engine._parts.library.store)
    assert not vocabulary.current().knows("hammer")
    engine.add(Document(id="new", text="A hammer."))
    assert vocabulary.current().knows("hammer")


class RecordingStore:
    """A store that counts reads and records index lookups."""

    version = 1

    def __init__(self, passages: list[str]) -> None:
        self.passages = passages
        self.reads = 0
        self.lookups: list[str] = []

    def words(self) -> pa.ChunkedArray:
        self.reads += 1
        return pa.chunked_array([self.passages])

    def by_words(self, words: list[str], limit: int, language: str | None = None) -> list[Hit]:
        self.lookups += words
        held = any(words[0] in passage.split() for passage in self.passages)
        return ["a hit"] if held else []  # type: ignore[list-item]


def test_words_are_counted_once_per_version() -> None:
    store = RecordingStore(["a b", "b"])
    vocabulary = StoreVocabulary(store)  # type: ignore[arg-type]
    words = vocabulary.current()
    assert [words.frequency("b"), words.frequency("a"), words.size] == [2, 1, 3]
    assert vocabulary.current().size == 3 and store.reads == 1
    store.version = 2
    assert vocabulary.current().frequency("b") == 2 and store.reads == 2


def test_a_large_store_is_sampled_and_the_index_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_COUNTED_PASSAGES", 5)
    store = RecordingStore([f"all w{number}" for number in range(10)])
    words = StoreVocabulary(store).current()  # type: ignore[arg-type]
    assert words.frequency("all") == 5
    assert all(words.knows(f"w{number}") for number in range(10))
    assert not words.knows("w10") and "w10" in store.lookups
