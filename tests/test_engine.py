"""A workspace end to end, on disk and with the bundled embedder (SPEC C1, C3)."""

import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge.material import aged
from veracity import (
    BusyError,
    ConfigurationError,
    Document,
    Evidence,
    InputError,
    OutdatedIndexError,
    Veracity,
)
from veracity.inputs import MAX_QUERY_LENGTH, MAX_RESULTS
from veracity.models import Outcome
from veracity.settings import ModelSettings, ReadingSettings, RetrievalSettings, Settings

WORDS_ONLY = "[models]\nembedder = 'none'\n[reading]\nworkers = 1\n"
ENGLISH = "# Leave\n\nEvery engineer in Dublin gets twenty-five days of annual leave.\n"
CHINESE = "# 差旅\n\n上海办公室的员工出差时每晚住宿不超过六百元。\n"
JAPANESE = "# 休暇\n\n大阪の社員は年に二十日の有給休暇をもらえます。\n"
NOTES = [
    Document(id="leave", text=ENGLISH, markdown=True, metadata={"office": "Dublin"}),
    Document(id="travel", text=CHINESE, markdown=True),
    Document(id="休暇", text=JAPANESE, markdown=True),
]

Make = Callable[..., Veracity]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """`make()` opens a workspace whose settings file has this content."""
    opened = []

    def make(settings: str = WORDS_ONLY, name: str = "ws") -> Veracity:
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        (root / "veracity.toml").write_text(settings, encoding="utf-8")
        opened.append(Veracity(root))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Veracity]:
    """Three documents in three languages, with the bundled embedder. Shared: do not change it."""
    settings = Settings(reading=ReadingSettings(workers=1))
    with Veracity(tmp_path_factory.mktemp("notes"), settings=settings) as engine:
        engine.add(NOTES)
        yield engine


def ids(found: list[Evidence]) -> list[str]:
    return [item.document_id for item in found]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("How many vacation days do engineers have?", "leave"),
        ("出差住宿多少钱", "travel"),
        ("有給休暇は何日ですか", "休暇"),
        ("有給休暇", "休暇"),
    ],
)
def test_c3_search_in_three_languages(notes: Veracity, query: str, found: str) -> None:
    best = notes.search(query)[0]
    assert best.document_id == found
    assert (best.source, best.metadata.found_by) == ("knowledge", ["knowledge", "graph"])
    assert 0 <= best.metadata.relevance_score <= 1


def test_search_by_meaning_without_common_words(notes: Veracity) -> None:
    assert ids(notes.search("vacation for staff", 1)) == ["leave"]


def test_offsets_point_into_the_text_of_the_document(notes: Veracity) -> None:
    for query in ("leave", "住宿", "休暇は"):
        for item in notes.search(query):
            assert notes.text(item.document_id)[item.start : item.end] == item.text


def test_evidence_has_its_location(notes: Veracity) -> None:
    item = notes.search("annual leave", 1)[0]
    assert (item.headings, item.page, item.language, item.location) == (["Leave"], None, "en", "")
    assert item.model_dump()["metadata"]["office"] == "Dublin"


def test_documents_are_listed(notes: Veracity) -> None:
    documents = {item.id: (item.language, item.passages, item.characters) for item in notes.documents()}
    assert documents == {
        "leave": ("en", 1, len(ENGLISH)),
        "travel": ("zh", 1, len(CHINESE)),
        "休暇": ("ja", 1, len(JAPANESE)),
    }
    assert notes.text("leave") == ENGLISH
    with pytest.raises(InputError, match='There is no document with the id "nothing"'):
        notes.text("nothing")


@pytest.mark.parametrize("query", ["", "  \n\t", "\u3000"])
def test_an_empty_query_is_refused(notes: Veracity, query: str) -> None:
    with pytest.raises(InputError, match="The query is empty"):
        notes.search(query)


@pytest.mark.parametrize("top_k", [0, -1, MAX_RESULTS + 1])
def test_top_k_is_bounded(notes: Veracity, top_k: int) -> None:
    with pytest.raises(InputError, match=f"between 1 and 1000 passages, not {top_k}"):
        notes.search("leave", top_k)
    assert len(notes.search("leave", 1)) == 1
    assert 1 <= len(notes.search("leave", MAX_RESULTS)) <= 3


@pytest.mark.parametrize(
    "query", ["?!", "the of", "🙂", "\udcff", "a\x00b", "'; DROP TABLE --", "+leave -(", "word " * MAX_QUERY_LENGTH]
)
def test_unusual_queries_do_not_fail(notes: Veracity, query: str) -> None:
    assert len(notes.search(query)) <= 3


def test_sources_default_to_the_settings(notes: Veracity) -> None:
    assert [item.source for item in notes.search("annual leave", 1, sources="graph")] == ["graph"]
    assert [item.source for item in notes.search("annual leave", 1, sources=["knowledge"])] == ["knowledge"]
    with pytest.raises(InputError, match='There is no source "web"; known: knowledge, graph.'):
        notes.search("leave", sources="web")
    with pytest.raises(InputError, match="No source is named"):
        notes.search("leave", sources=[])


def test_threads_share_an_engine(notes: Veracity) -> None:
    queries = ["annual leave", "住宿", "有給休暇", "Dublin engineers"] * 4
    alone = [notes.search(query) for query in queries]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(notes.search, queries)) == alone


def test_concurrent_first_use_builds_one_library(make: Make) -> None:
    engine = make()
    ready = threading.Barrier(8)

    def first(_: int) -> Any:
        ready.wait()
        return engine._parts.library

    with ThreadPoolExecutor(8) as threads:
        assert len(set(map(id, threads.map(first, range(8))))) == 1


def test_a_missing_workspace_is_created_on_the_first_write(tmp_path: Path) -> None:
    settings = Settings(models=ModelSettings(embedder="none"), reading=ReadingSettings(workers=1))
    with Veracity(str(tmp_path / "new"), settings=settings) as engine:
        for use in (
            lambda: engine.search("leave"),
            engine.documents,
            engine.reindex,
            lambda: engine.text("leave"),
            lambda: engine.forget("leave"),
        ):
            with pytest.raises(ConfigurationError, match='create it with "veracity init'):
                use()
        assert not (tmp_path / "new").exists()
        engine.add(NOTES[0])
        assert ids(engine.search("leave")) == ["leave"]


def test_a_workspace_cannot_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConfigurationError):
        Veracity(tmp_path / "file").search("leave")


def test_an_empty_workspace(make: Make) -> None:
    engine = make()
    assert engine.search("leave") == []
    assert engine.documents() == []
    assert engine.reindex().outcomes == []
    with pytest.raises(InputError):
        engine.forget("leave")


def test_files_folders_and_patterns(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "sub").mkdir(parents=True)
    for name, text in (("a.md", ENGLISH), ("b.txt", CHINESE), ("sub/c.md", JAPANESE)):
        (folder / name).write_text(text, encoding="utf-8")
        aged(folder / name, 100)
    engine = make()
    assert engine.ingest(str(folder / "a.md")).count("added") == 1
    assert engine.ingest(folder / "b.txt").count("added") == 1
    seen: list[Outcome] = []
    report = engine.ingest([folder, str(folder / "*.md")], progress=lambda outcome, to_come: seen.append(outcome))
    assert dict(report.counts) == {"unchanged": 2, "added": 1}
    assert seen == report.outcomes
    item = engine.search("有給休暇は", 1)[0]
    assert (item.location, item.title) == (str(folder / "sub/c.md"), "休暇")
    (folder / "a.md").unlink()
    assert engine.ingest(folder, prune=True).count("removed") == 1
    assert engine.search("Dublin") == []
    with pytest.raises(InputError, match="nothing to ingest"):
        engine.ingest([])
    with pytest.raises(InputError, match="There is no file or folder"):
        engine.ingest(folder / "nothing.md")


def test_add_takes_a_document_a_list_or_a_generator(make: Make) -> None:
    engine = make()
    assert engine.add(NOTES[0]).count("added") == 1
    assert engine.add(document for document in NOTES).counts == {"updated": 1, "added": 2}
    assert engine.add(iter(())).outcomes == engine.add([]).outcomes == []
    assert len(engine.documents()) == 3


def test_forgotten_documents_are_not_found(make: Make) -> None:
    engine = make()
    engine.add(NOTES)
    assert ids(engine.search("Dublin")) == ["leave"]
    assert [item.id for item in engine.forget("leave")] == ["leave"]
    assert engine.search("Dublin") == []
    assert [item.id for item in engine.documents()] == ["travel", "休暇"]
    with pytest.raises(InputError, match='There is no document "leave"'):
        engine.forget("leave")


def test_evidence_keeps_its_id_while_its_text_is_unchanged(make: Make) -> None:
    """Citations and past turns point to it."""
    sections = [
        f"# Part {name}\n\n" + f"The {name} engine needs {name} oil every week. " * 30 for name in ("red", "blue")
    ]
    engine = make()

    def blue() -> Evidence:
        return engine.search("blue engine", 1)[0]

    engine.add(Document(id="one", text="\n\n".join(sections), markdown=True))
    first = blue()
    engine.add(Document(id="one", text="\n\n".join(sections), markdown=True))
    assert blue() == first
    engine.add(
        Document(id="one", text="\n\n".join(["# New\n\nSomething else stands here now.", *sections]), markdown=True)
    )
    assert (blue().id, blue().text) == (first.id, first.text)
    assert blue().start > first.start
    engine.reindex()
    assert blue().id == first.id
    engine.add(Document(id="one", text=sections[1].replace("blue oil", "green oil"), markdown=True))
    assert blue().id != first.id


def test_documents_with_the_same_text_have_separate_evidence(make: Make) -> None:
    engine = make()
    engine.add([Document(id="one", text=ENGLISH), Document(id="two", text=ENGLISH)])
    (first,) = engine.search("Dublin")
    engine.forget(first.document_id)
    (second,) = engine.search("Dublin")
    assert {first.document_id, second.document_id} == {"one", "two"}
    assert first.id != second.id
    assert first.text == second.text


def test_the_graph_source_finds_linked_passages(make: Make) -> None:
    engine = make()
    engine.add(
        [
            Document(id="book", title="The Glass Harbour", text="A novel by Miriam Okafor about a lighthouse."),
            Document(id="author", title="Miriam Okafor", text="Miriam Okafor grew up in Galway by the sea."),
            Document(id="bread", title="Bread", text="Bread is made of flour, water and salt."),
        ]
    )
    book, author = engine.search("Who wrote the novel with the lighthouse?")
    assert (book.document_id, author.document_id, author.source) == ("book", "author", "graph")


def test_settings_are_read_from_the_workspace(make: Make) -> None:
    engine = make(WORDS_ONLY + "[knowledge]\npassage_tokens = 32\noverlap_tokens = 0\n[retrieval]\nsources = ['graph']")
    engine.add(Document(id="long", text="One sentence follows another here. " * 40))
    assert engine.documents()[0].passages > 5
    assert {item.source for item in engine.search("sentence")} == {"graph"}
    with pytest.raises(ConfigurationError, match="veracity.toml, models.embedder"):
        make("[models]\nembedder = 'mini'", name="other")


def test_explicit_settings_replace_the_file(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "veracity.toml").write_text("[retrieval]\nsources = ['graph']")
    retrieval = RetrievalSettings(sources=["knowledge"])
    settings = Settings(models=ModelSettings(embedder="none"), reading=ReadingSettings(workers=1), retrieval=retrieval)
    with Veracity(tmp_path / "ws", settings=settings) as engine:
        engine.add(NOTES[0])
        assert [item.source for item in engine.search("leave")] == ["knowledge"]


def test_another_embedder_searches_by_words_until_a_reindex(make: Make) -> None:
    engine = make()
    engine.add(NOTES)
    before = engine.search("annual leave")
    bundled = make("[reading]\nworkers = 1\n")
    with pytest.raises(OutdatedIndexError, match='run "veracity reindex"'):
        bundled.add(NOTES[0])
    assert bundled.search("annual leave")[0].id == before[0].id
    answer = bundled.ask("How many days of annual leave do people get in Dublin?")
    assert [notice.code for notice in answer.notices].count("outdated_index") == 1
    assert len(bundled.documents()) == 3
    assert bundled.reindex().count("updated") == 3
    assert ids(bundled.search("vacation for staff", 1)) == ["leave"]
    answer = bundled.ask("How many days of annual leave do people get in Dublin?")
    assert "outdated_index" not in [notice.code for notice in answer.notices]
    assert engine.search("annual leave")[0].id == before[0].id


def test_changes_by_another_engine_are_visible(make: Make) -> None:
    reader, writer = make(), make()
    assert reader.search("Dublin") == []
    writer.add(NOTES[0])
    assert ids(reader.search("Dublin")) == ["leave"]
    writer.forget("leave")
    assert reader.search("Dublin") == []


def test_a_deleted_knowledge_folder_is_noticed(make: Make, tmp_path: Path) -> None:
    reader, writer = make(), make()
    writer.add(Document(id="old", text="The car is red."))
    assert ids(reader.search("car")) == ["old"]
    shutil.rmtree(tmp_path / "ws" / "knowledge")
    make().add(Document(id="new", text="The car is blue."))
    assert ids(reader.search("car")) == ["new"]


def test_one_writer_at_a_time_and_concurrent_readers(make: Make) -> None:
    engine, other = make(), make()
    engine.add(NOTES[1:])

    def documents() -> Iterator[Document]:
        yield NOTES[0]
        with pytest.raises(BusyError):
            other.add(NOTES[1])
        assert ids(other.search("住宿")) == ["travel"]

    assert engine.add(documents()).count("added") == 1
    assert other.add(NOTES[1]).count("updated") == 1


def test_a_closed_engine_cannot_be_used(make: Make) -> None:
    engine = make()
    engine.add(NOTES[0])
    engine.close()
    engine.close()
    for use in (lambda: engine.search("leave"), lambda: engine.add(NOTES[0]), engine.documents, engine.reindex):
        with pytest.raises(ConfigurationError, match="is closed and cannot be used again"):
            use()
    with make() as another:
        assert ids(another.search("leave")) == ["leave"]


def test_closing_an_unused_engine(make: Make) -> None:
    engine = make()
    engine.close()
    with pytest.raises(ConfigurationError, match="is closed"):
        engine.add(NOTES[0])


def test_listing_and_forgetting_need_neither_key_nor_network(make: Make, tmp_path: Path) -> None:
    make().add(Document(id="a", text="zebra"))
    unreachable = Veracity(
        tmp_path / "ws", settings=Settings(models=ModelSettings(embedder="openai:text-embedding-3-small"))
    )
    assert [document.id for document in unreachable.documents()] == ["a"]
    assert unreachable.text("a") == "zebra"
    unreachable.forget("a")
    assert unreachable.documents() == []


def test_ingest_skips_the_files_of_the_workspace(make: Make, tmp_path: Path) -> None:
    engine = make()
    engine.add(Document(id="a", text="zebra"))
    for name in (
        "veracity.toml",
        "configs/evaluator.toml",
        "metrics/own.py",
        "notes.md",
        "other/knowledge/x.lance/y.txt",
    ):
        path = tmp_path / "ws" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# text\n")
    names = [Path(outcome.name).name for outcome in engine.ingest(tmp_path / "ws").outcomes]
    assert names == ["notes.md"]


@pytest.mark.parametrize(
    "use",
    [
        lambda engine: engine.add("text"),
        lambda engine: engine.add(["text"]),
        lambda engine: engine.add({"id": "a"}),
        lambda engine: engine.add(5),
        lambda engine: engine.ingest(5),
        lambda engine: engine.ingest([b"documents"]),
        lambda engine: engine.ingest(""),
        lambda engine: engine.search(5),
        lambda engine: engine.search("zebra", "3"),
    ],
)
def test_wrong_types_are_input_errors(make: Make, use: Callable[[Veracity], object]) -> None:
    engine = make()
    engine.add(Document(id="a", text="zebra"))
    with pytest.raises(InputError):
        use(engine)
