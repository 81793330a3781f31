"""From tasks to rows: in order, in batches, each document's failure its own."""

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from tests.knowledge.material import Hashed, MakeLibrary, found, quiet, require_whole
from veracity.embedding import make_embedder
from veracity.errors import KnowledgeError
from veracity.knowledge import ingest
from veracity.knowledge.ingest import Ingestion, Task
from veracity.knowledge.library import Library
from veracity.knowledge.store import Store
from veracity.models import Document, Outcome
from veracity.reading import WorkerFailure
from veracity.settings import KnowledgeSettings, LLMSettings, ReadingSettings

GOOD = "The pump in Dublin. 上海的泵。大阪のポンプ。"


def task(name: str, text: str = GOOD, is_known: bool = False) -> Task:
    return ingest.of_document(Document(id=name, text=text), is_known)


class Scripted:
    """Workers that do in this process what they are told."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.futures: list[Future[dict[str, Any]]] = []
        self.waiting: list[int] = []

    def submit(self, request: dict[str, Any]) -> Future[dict[str, Any]]:
        from veracity.knowledge.prepare import prepare

        future: Future[dict[str, Any]] = Future()
        self.futures.append(future)
        if request["text"] in self.failing:
            future.set_exception(WorkerFailure("time", "it took longer than 1 second to read"))
        elif request["text"] != "never":
            future.set_result(prepare(request))
        return future


@pytest.fixture
def ingestion(library: Library) -> Ingestion:
    return library._ingestion


def script(ingestion: Ingestion, *failing: str) -> Scripted:
    workers = Scripted(*failing)
    ingestion._workers = workers  # type: ignore[assignment]
    return workers


def statuses(outcomes: Iterator[Outcome]) -> list[tuple[str, str]]:
    return [(outcome.name, outcome.status) for outcome in outcomes]


def test_failures_stand_alone_and_are_told_at_once(ingestion: Ingestion, library: Library) -> None:
    script(ingestion, "slow")
    outcomes = list(ingestion.run([task("a"), task("b", "slow"), task("c", " "), task("d")]))
    told = {outcome.name: (outcome.status, outcome.reason, outcome.passages) for outcome in outcomes}
    assert told == {
        "a": ("added", "", 1),
        "b": ("failed", "it took longer than 1 second to read", 0),
        "c": ("skipped", "it is empty", 0),
        "d": ("added", "", 1),
    }
    assert set(found(library.store, "pump")) == {"a", "d"}


def test_what_is_told_is_stored(ingestion: Ingestion, folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "PASSAGES", 3)
    reader = Store(folder, 16, ingestion._store._recipe)
    for told, outcome in enumerate(ingestion.run(task(str(number)) for number in range(10)), 1):
        assert reader.text(outcome.name) == GOOD
        assert len(reader.documents()) >= told
    require_whole(reader)


@pytest.mark.parametrize(("limit", "value"), [("PASSAGES", 2), ("CHARACTERS", 2 * len(GOOD)), ("SECONDS", -1.0)])
def test_batches_are_bounded(
    ingestion: Ingestion, library: Library, monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    monkeypatch.setattr(ingest, limit, value)
    script(ingestion)
    list(ingestion.run(task(str(number)) for number in range(8)))
    assert library.store.version[1] >= 3 + (8 if limit == "SECONDS" else 4)


def test_so_much_is_prepared_ahead_and_no_more(ingestion: Ingestion, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = script(ingestion)
    monkeypatch.setattr(ingest, "AHEAD", 3)
    asked: list[int] = []
    monkeypatch.setattr(ingest, "PASSAGES", 1)
    for _ in ingestion.run(task(str(number)) for number in range(20)):
        asked.append(len(workers.futures))
    assert asked[0] <= 8
    monkeypatch.setattr(ingest, "AHEAD_BYTES", 10)
    workers = script(ingestion)
    outcomes = ingestion.run(task(str(number), is_known=True) for number in range(20))
    next(outcomes)
    assert len(workers.futures) <= 2


def test_who_stops_listening_leaves_no_work_behind(ingestion: Ingestion) -> None:
    workers = script(ingestion)
    outcomes = ingestion.run([task("empty", " "), task("a", "never"), task("b", "never")])
    assert next(outcomes).status == "skipped"
    outcomes.close()  # type: ignore[attr-defined]
    assert [future.cancelled() for future in workers.futures] == [False, True, True]


def test_a_later_document_of_the_same_name_replaces_the_earlier(ingestion: Ingestion, library: Library) -> None:
    script(ingestion)
    given = [task("a", "A zebra."), task("b"), task("a", "A giraffe.", True), task("c"), task("b", " ", True)]
    assert statuses(ingestion.run(given)) == [
        ("a", "added"), ("b", "added"), ("b", "removed"), ("a", "updated"), ("c", "added"),
    ]  # fmt: skip
    require_whole(library.store)
    assert {document.id for document in library.store.documents()} == {"a", "c"}
    assert found(library.store, "zebra") == []


def test_a_known_document_that_fails_is_kept_and_one_that_is_empty_goes(ingestion: Ingestion, library: Library) -> None:
    script(ingestion, "slow")
    list(ingestion.run([task("a"), task("b")]))
    failed, removed = ingestion.run([task("a", "slow", True), task("b", "\n", True)])
    assert failed.reason == "it took longer than 1 second to read; what was known of it is kept"
    assert (removed.status, removed.reason, removed.document_id) == ("removed", "it is empty", "b")
    assert found(library.store, "pump") == ["a"]


def test_only_what_is_covered_is_embedded_with_what_stands_above_it(make_library: MakeLibrary) -> None:
    embedder = Hashed(covers=lambda text: "ja" not in text)
    library = make_library(embedder)
    library.add([Document(id="a", title="規程", text="# Leave\n\nTwenty days.", markdown=True)], quiet)
    library.add([Document(id="b", text="ja: 二十日")], quiet)
    assert embedder.seen == ["規程\n# Leave\n\nTwenty days."]


def test_an_embedder_that_fails_fails_the_whole(make_library: MakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_library()
    library.add([Document(id="a", text=GOOD)], quiet)

    def fail(texts: list[str]) -> None:
        raise KnowledgeError("the server is gone")

    monkeypatch.setattr(library._ingestion._embedder, "embed_passages", fail)
    with pytest.raises(KnowledgeError, match="the server is gone"):
        library.add([Document(id="b", text=GOOD)], quiet)
    monkeypatch.undo()
    assert [document.id for document in library.store.documents()] == ["a"]
    assert library.add([Document(id="b", text=GOOD)], quiet).count("added") == 1


def test_rows_for_who_writes_them_all_at_once(ingestion: Ingestion, monkeypatch: pytest.MonkeyPatch) -> None:
    script(ingestion, "slow")
    monkeypatch.setattr(ingest, "PASSAGES", 2)
    made = list(ingestion.tables(task(str(number)) for number in range(5)))
    assert [table.num_rows for table, _ in made] == [4, 4, 2]
    assert [outcome.name for _, outcomes in made for outcome in outcomes] == list("01234")
    with pytest.raises(KnowledgeError, match='"b" cannot be indexed: it took longer than 1 second to read'):
        list(ingestion.tables([task("a"), task("b", "slow")]))


def test_the_overlap_is_never_more_than_half_a_passage(library: Library) -> None:
    settings = KnowledgeSettings(passage_tokens=40, overlap_tokens=500)
    made = Ingestion(library.store, Hashed(), settings, ReadingSettings())
    assert made._cut == {"most": 40, "overlap": 20}
    assert made._count >= 1
    made.close()


def test_with_the_bundled_embedder_and_workers_of_its_own(folder: Any) -> None:
    embedder = make_embedder("bundled", LLMSettings())
    library = Library(folder, embedder, KnowledgeSettings(), ReadingSettings(workers=1))
    try:
        report = library.add([Document(id="a", text="How many days of leave?"), Document(id="b", text=GOOD)], quiet)
        assert report.count("added") == 2
        assert library.reindex(quiet).count("updated") == 2
        nearest = library.store.by_vector(embedder.embed_query("vacation allowance"), 1)[0]
        assert nearest.passage.document_id == "a"
        assert np.isclose(np.linalg.norm(nearest.vector), 1, atol=1e-3)
        assert found(library.store, "大阪のポンプ") == ["b"]
    finally:
        library.close()
