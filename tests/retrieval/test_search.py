"""From the question to the evidence: sources, fusion, reranking, relevance (SPEC C3, C7)."""

import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.retrieval.memory import Concepts, MemoryStore, passage, searcher_over
from veracity.errors import InputError, ModelError, ModelUnreachableError
from veracity.models import Evidence, Passage
from veracity.reranking.base import TextReranker
from veracity.retrieval import Searcher
from veracity.retrieval.base import RankedPassage
from veracity.retrieval.hybrid import HybridSearch
from veracity.retrieval.search import MIN_DEPTH, RERANK_DEPTH
from veracity.retrieval.sources import TemporalSource
from veracity.settings import RetrievalSettings

EMBEDDER = Concepts("car automobile vehicle", "leave holiday vacation")
BOOK = passage("The Glass Harbour is a novel by Miriam Okafor about a lighthouse.", "book", "The Glass Harbour")
AUTHOR = passage("Miriam Okafor grew up in Galway, in a house by the sea.", "author", "Miriam Okafor")
BREAD = passage("Bread is made of flour, water, salt and patience.", "bread", "Bread")
QUESTION = "Where does the writer of the novel about a lighthouse come from?"


class ReverseReranker(TextReranker):
    """Reverses the order."""

    name = "backwards"

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[str]]] = []

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        self.seen.append((query, list(passages)))
        return [float(place) for place in range(len(passages))]


def names(evidence: list[Evidence]) -> list[str]:
    return [item.document_id for item in evidence]


def numbered(count: int) -> list[Passage]:
    return [passage(f"Car number {number:04} of the fleet.", f"{number:04}") for number in range(count)]


def test_c3_evidence_has_source_and_relevance() -> None:
    searcher, _ = searcher_over(BOOK, AUTHOR, BREAD)
    book, author = searcher.search(QUESTION, 10)
    assert (book.source, book.metadata.found_by) == ("knowledge", ["knowledge", "graph"])
    assert (author.source, author.metadata.found_by) == ("graph", ["graph"])
    assert 1 >= book.metadata.relevance_score > author.metadata.relevance_score >= 0
    assert (book.id, book.text, book.title, book.start, book.end) == (BOOK.id, BOOK.text, BOOK.title, 0, len(BOOK.text))


def test_document_metadata_never_overrides_ours() -> None:
    metadata = {"author": "me", "relevance_score": 7.0, "found_by": "me", "model_config": 1, "year": 2024}
    searcher, _ = searcher_over(passage("A car.", "one", metadata=metadata))  # type: ignore[arg-type]
    (evidence,) = searcher.search("car", 1)
    stored = evidence.model_dump()["metadata"]
    assert 0 <= stored["relevance_score"] <= 1
    assert stored["found_by"] == ["knowledge", "graph"]
    assert (stored["author"], stored["year"], stored["model_config"]) == ("me", 2024, 1)


def test_sources_default_to_the_settings() -> None:
    searcher, _ = searcher_over(BOOK, AUTHOR, sources=["knowledge"])
    assert names(searcher.search(QUESTION, 10)) == ["book"]
    assert names(searcher.search(QUESTION, 10, ["graph"])) == ["book", "author"]
    assert names(searcher.search(QUESTION, 10, ["graph", "knowledge", "graph"])) == ["book", "author"]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["knowledge", "web"], 'There is no source "web"; known: knowledge, graph.'),
        ([""], 'There is no source ""; known: knowledge, graph.'),
        ([], "No source is named to search in; known: knowledge, graph."),
    ],
)
def test_unknown_sources_are_an_error(sources: list[str], message: str) -> None:
    searcher, store = searcher_over(BOOK)
    with pytest.raises(InputError) as caught:
        searcher.search(QUESTION, 10, sources)
    assert str(caught.value) == message
    assert store.queries == []


@pytest.mark.parametrize("fusion", ["rrf", "weighted", "cascade"])
def test_c7_fusion_is_a_setting(fusion: str) -> None:
    class Fixed:
        def __init__(self, name: str, *scores: tuple[str, float]) -> None:
            self.name = name
            self._results = [RankedPassage(passage(text, text), score, 0.5) for text, score in scores]

        def search(self, query: str, limit: int, added_words: Sequence[str] = ()) -> list[RankedPassage]:
            return self._results[:limit]

    sources = [Fixed("knowledge", ("a", 1), ("b", 0.5), ("c", 0.4)), Fixed("graph", ("d", 9), ("b", 8), ("c", 1))]
    settings = RetrievalSettings.model_validate({"fusion": fusion})
    expected = {"rrf": ["b", "c", "a", "d"], "weighted": ["b", "a", "d", "c"], "cascade": ["a", "b", "c", "d"]}
    hybrid = HybridSearch(store := MemoryStore(), EMBEDDER, 0.4)
    searcher = Searcher(store, sources, TemporalSource(hybrid, store), settings, None)
    assert names(searcher.search("query", 10)) == expected[fusion]


def test_a_text_in_several_documents_is_returned_once() -> None:
    best = passage("The car is red.", "best", "Red car, red car")
    between = passage("The car and the house and the tree.", "between", "Red car")
    copy = passage("The car is red.", "copy")
    searcher, _ = searcher_over(best, between, copy)
    lists = {"knowledge": searcher.find("knowledge", "red car", 10)}
    assert [result.passage.document_id for result in lists["knowledge"]] == ["best", "between", "copy"]
    assert names(searcher.search("red car", 10)) == ["best", "between"]


@pytest.mark.parametrize("embedder", [Concepts(covers=lambda text: False), EMBEDDER])
def test_duplicate_texts_do_not_crowd_out_others(embedder: Concepts) -> None:
    copies = [passage("A car, a car, a car.", f"copy{number:04}") for number in range(300)]
    searcher, _ = searcher_over(*copies, *numbered(20), embedder=embedder)
    assert len(searcher.search("car", 10)) == 10


@pytest.mark.parametrize("top_k", [1, 10, MIN_DEPTH, MIN_DEPTH + 1, 200, 1000])
@pytest.mark.parametrize("embedder", [Concepts(covers=lambda text: False), EMBEDDER])
def test_top_k_results_if_they_exist(top_k: int, embedder: Concepts) -> None:
    searcher, store = searcher_over(*numbered(220), embedder=embedder)
    results = names(searcher.search("car", top_k))
    assert len(results) == len(set(results)) == min(top_k, 220)
    assert store.queries.count("words") == 1


def test_c7_the_reranker_reorders_the_best() -> None:
    reranker = ReverseReranker()
    plain, _ = searcher_over(*numbered(40), embedder=EMBEDDER)
    reranked, _ = searcher_over(*numbered(40), embedder=EMBEDDER, reranker=reranker)
    before, after = plain.search("car 0007", 40), reranked.search("car 0007", 40)
    assert names(after) == [*names(before)[:RERANK_DEPTH][::-1], *names(before)[RERANK_DEPTH:]]
    assert reranker.seen == [("car 0007", [item.text for item in before[:RERANK_DEPTH]])]


def test_c3_relevance_is_the_same_before_and_after_reranking() -> None:
    passages = [*numbered(10), BOOK, AUTHOR, BREAD]
    plain, _ = searcher_over(*passages, embedder=EMBEDDER)
    reranked, _ = searcher_over(*passages, embedder=EMBEDDER, reranker=ReverseReranker())
    before = {item.id: item for item in plain.search("vehicle 0003", 50)}
    after = {item.id: item for item in reranked.search("vehicle 0003", 50)}
    assert before == after
    assert list(before) == list(after)[::-1]


def test_equal_reranker_scores_keep_the_order() -> None:
    class Indifferent(ReverseReranker):
        def scores(self, query: str, passages: Sequence[str]) -> list[float]:
            return [0.0] * len(passages)

    plain, _ = searcher_over(*numbered(10))
    reranked, _ = searcher_over(*numbered(10), reranker=Indifferent())
    assert plain.search("car", 10) == reranked.search("car", 10)


def test_without_results_the_reranker_is_not_called() -> None:
    reranker = ReverseReranker()
    searcher, _ = searcher_over(BREAD, reranker=reranker)
    assert searcher.search("lighthouse", 10) == []
    assert reranker.seen == []


def test_reranker_errors_propagate() -> None:
    class Failing(ReverseReranker):
        def scores(self, query: str, passages: Sequence[str]) -> list[float]:
            raise ModelUnreachableError("The reranker is unreachable.")

    searcher, _ = searcher_over(BREAD, reranker=Failing())
    with pytest.raises(ModelError, match="The reranker is unreachable."):
        searcher.search("bread", 10)


@pytest.mark.parametrize("query", ["the of and", "?!", "🙂", "word " * 20_000, "\udcff", "東京", "a" * 100_000])
def test_any_query_works(query: str) -> None:
    searcher, _ = searcher_over(BOOK, AUTHOR, BREAD, embedder=EMBEDDER)
    for item in searcher.search(query, 10):
        assert 0 <= item.metadata.relevance_score <= 1


def test_results_are_deterministic() -> None:
    passages = [*numbered(80), BOOK, AUTHOR, BREAD]
    searcher, _ = searcher_over(*passages, embedder=EMBEDDER)
    other, _ = searcher_over(*passages[::-1], embedder=EMBEDDER)
    assert searcher.search("car", 60) == searcher.search("car", 60) == other.search("car", 60)


def test_a_changed_store_is_searched() -> None:
    searcher, store = searcher_over(BOOK)
    assert names(searcher.search(QUESTION, 10)) == ["book"]
    store.add(AUTHOR)
    assert names(searcher.search(QUESTION, 10)) == ["book", "author"]


def test_concurrent_searches_do_not_mix() -> None:
    searcher, _ = searcher_over(*numbered(40), BOOK, AUTHOR, BREAD, embedder=EMBEDDER)
    questions = [f"car number {number:04}" for number in range(7)] + [QUESTION]
    alone = {question: searcher.search(question, 10) for question in questions}

    def ask(question: str) -> Any:
        return all(searcher.search(question, 10) == alone[question] for _ in range(20))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, questions))


def test_a_program_exits_without_close() -> None:
    program = (
        "from tests.retrieval.memory import passage, searcher_over\n"
        "searcher, _ = searcher_over(passage('A car.', 'a'))\n"
        "print(len(searcher.search('car', 1)))"
    )
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
    root = Path(__file__).parents[2]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "1\n", "")
