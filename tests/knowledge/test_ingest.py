"""From tasks to rows: in order, in batches, and a document that fails does not stop the others."""

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from tests.knowledge.material import HashEmbedder, MakeLibrary, assert_consistent, no_progress, search
from veracity.embedding import make_embedder
from veracity.errors import KnowledgeError
from veracity.knowledge import ingest
from veracity.knowledge.ingest import Ingestion, Task
from veracity.knowledge.library import Library
from veracity.knowledge.store import Store
from veracity.models import Document, Outcome
from veracity.reading.sandbox.process import WorkerFailure
from veracity.settings import KnowledgeSettings, LLMSettings, ReadingSettings

GOOD = "The pump in Dublin. 上海的泵。大阪のポンプ。"


def task(name: str, text: str = GOOD, is_known: bool = False) -> Task:
    return Task.from_document(Document(id=name, text=text), is_known)


class FakeWorkers:
    """A worker pool that prepares in this process, fails for `failing` texts and never finishes "never"."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.futures: list[Future[dict[str, Any]]] = []

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


def use_fake_workers(ingestion: Ingestion, *failing: str) -> FakeWorkers:
    workers = FakeWorkers(*failing)
    ingestion._workers = workers  # type: ignore[assignment]
    return workers


def statuses(outcomes: Iterator[Outcome]) -> list[tuple[str, str]]:
    return [(outcome.name, outcome.status) for outcome in outcomes]


def test_a_failure_does_not_stop_the_other_documents(ingestion: Ingestion, library: Library) -> None:
    use_fake_workers(ingestion, "slow")
    outcomes = list(ingestion.run([task("a"), task("b", "slow"), task("c", " "), task("d")]))
    results = {outcome.name: (outcome.status, outcome.reason, outcome.passages) for outcome in outcomes}
    assert results == {
        "a": ("added", "", 1),
        "b": ("failed", "it took longer than 1 second to read", 0),
        "c": ("skipped", "it is empty", 0),
        "d": ("added", "", 1),
    }
    assert set(search(library.store, "pump")) == {"a", "d"}


def test_reported_documents_are_stored(ingestion: Ingestion, folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "MAX_BATCH_PASSAGES", 3)
    reader = Store(folder, 16, ingestion._store._recipe)
    for count, outcome in enumerate(ingestion.run(task(str(number)) for number in range(10)), 1):
        assert reader.text(outcome.name) == GOOD
        assert len(reader.documents()) >= count
    assert_consistent(reader)


@pytest.mark.parametrize(
    ("limit", "value"),
    [("MAX_BATCH_PASSAGES", 2), ("MAX_BATCH_CHARACTERS", 2 * len(GOOD)), ("MAX_BATCH_SECONDS", -1.0)],
)
def test_batches_are_bounded(
    ingestion: Ingestion, library: Library, monkeypatch: pytest.MonkeyPatch, limit: str, value: float
) -> None:
    monkeypatch.setattr(ingest, limit, value)
    use_fake_workers(ingestion)
    list(ingestion.run(task(str(number)) for number in range(8)))
    assert library.store.version[1] >= 3 + (8 if limit == "MAX_BATCH_SECONDS" else 4)


def test_preparing_ahead_is_bounded(ingestion: Ingestion, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = use_fake_workers(ingestion)
    monkeypatch.setattr(ingest, "MAX_AHEAD_PER_WORKER", 3)
    submitted: list[int] = []
    monkeypatch.setattr(ingest, "MAX_BATCH_PASSAGES", 1)
    for _ in ingestion.run(task(str(number)) for number in range(20)):
        submitted.append(len(workers.futures))
    assert submitted[0] <= 8
    monkeypatch.setattr(ingest, "MAX_AHEAD_BYTES", 10)
    workers = use_fake_workers(ingestion)
    outcomes = ingestion.run(task(str(number), is_known=True) for number in range(20))
    next(outcomes)
    assert len(workers.futures) <= 2


def test_closing_the_iterator_cancels_pending_work(ingestion: Ingestion) -> None:
    workers = use_fake_workers(ingestion)
    outcomes = ingestion.run([task("empty", " "), task("a", "never"), task("b", "never")])
    assert next(outcomes).status == "skipped"
    outcomes.close()  # type: ignore[attr-defined]
    assert [future.cancelled() for future in workers.futures] == [False, True, True]


def test_a_later_document_with_the_same_id_replaces_the_earlier(ingestion: Ingestion, library: Library) -> None:
    use_fake_workers(ingestion)
    tasks = [task("a", "A zebra."), task("b"), task("a", "A giraffe.", True), task("c"), task("b", " ", True)]
    assert statuses(ingestion.run(tasks)) == [
        ("a", "added"), ("b", "added"), ("b", "removed"), ("a", "updated"), ("c", "added"),
    ]  # fmt: skip
    assert_consistent(library.store)
    assert {document.id for document in library.store.documents()} == {"a", "c"}
    assert search(library.store, "zebra") == []


def test_a_stored_document_is_kept_on_failure_and_forgotten_when_empty(ingestion: Ingestion, library: Library) -> None:
    use_fake_workers(ingestion, "slow")
    list(ingestion.run([task("a"), task("b")]))
    failed, removed = ingestion.run([task("a", "slow", True), task("b", "\n", True)])
    assert failed.reason == "it took longer than 1 second to read; the previous version is kept"
    assert (removed.status, removed.reason, removed.document_id) == ("removed", "it is empty", "b")
    assert search(library.store, "pump") == ["a"]


def test_covered_passages_are_embedded_with_their_context(make_library: MakeLibrary) -> None:
    embedder = HashEmbedder(covers=lambda text: "ja" not in text)
    library = make_library(embedder)
    library.add([Document(id="a", title="規程", text="# Leave\n\nTwenty days.", markdown=True)], no_progress)
    library.add([Document(id="b", text="ja: 二十日")], no_progress)
    assert embedder.seen == ["規程\n# Leave\n\nTwenty days."]


def test_an_embedder_failure_stops_the_ingestion(make_library: MakeLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    library = make_library()
    library.add([Document(id="a", text=GOOD)], no_progress)

    def fail(texts: list[str]) -> None:
        raise KnowledgeError("the server is down")

    monkeypatch.setattr(library._ingestion._embedder, "embed_passages", fail)
    with pytest.raises(KnowledgeError, match="the server is down"):
        library.add([Document(id="b", text=GOOD)], no_progress)
    monkeypatch.undo()
    assert [document.id for document in library.store.documents()] == ["a"]
    assert library.add([Document(id="b", text=GOOD)], no_progress).count("added") == 1


def test_tables_for_one_commit(ingestion: Ingestion, monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_workers(ingestion, "slow")
    monkeypatch.setattr(ingest, "MAX_BATCH_PASSAGES", 2)
    made = list(ingestion.tables(task(str(number)) for number in range(5)))
    assert [table.num_rows for table, _ in made] == [4, 4, 2]
    assert [outcome.name for _, outcomes in made for outcome in outcomes] == list("01234")
    with pytest.raises(KnowledgeError, match='"b" cannot be indexed: it took longer than 1 second to read'):
        list(ingestion.tables([task("a"), task("b", "slow")]))


def test_the_overlap_is_at_most_half_a_passage(library: Library) -> None:
    settings = KnowledgeSettings(passage_tokens=40, overlap_tokens=500)
    made = Ingestion(library.store, HashEmbedder(), settings, ReadingSettings())
    assert made._chunking == {"max_tokens": 40, "overlap_tokens": 20}
    assert made._worker_count >= 1
    made.close()


def test_with_the_bundled_embedder_and_real_workers(folder: Any) -> None:
    embedder = make_embedder("bundled", LLMSettings())
    library = Library(folder, embedder, KnowledgeSettings(), ReadingSettings(workers=1))
    try:
        report = library.add(
            [Document(id="a", text="How many days of leave?"), Document(id="b", text=GOOD)], no_progress
        )
        assert report.count("added") == 2
        assert library.reindex(no_progress).count("updated") == 2
        nearest = library.store.by_vector(embedder.embed_query("vacation allowance"), 1)[0]
        assert nearest.passage.document_id == "a"
        assert np.isclose(np.linalg.norm(nearest.vector), 1, atol=1e-3)
        assert search(library.store, "大阪のポンプ") == ["b"]
    finally:
        library.close()
