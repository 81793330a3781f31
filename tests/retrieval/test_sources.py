"""The graph source, for two-step questions, and the temporal source, for earlier questions (SPEC C3)."""

import time

import pytest

from tests.retrieval.memory import NO_EMBEDDER, Concepts, MemoryStore, passage, searcher_over
from veracity.models import Passage
from veracity.retrieval.hybrid import HybridSearch
from veracity.retrieval.sources import GraphSource

BOOK = passage("The Glass Harbour is a novel by Miriam Okafor about a lighthouse.", "book", "The Glass Harbour")
AUTHOR = passage("Miriam Okafor grew up in Galway, in a house by the sea.", "author", "Miriam Okafor")
MENTION = passage("At the fair we met Miriam Okafor and others.", "aside", "A day at the fair")
OTHER = passage("Bread is made of flour, water, salt and patience.", "bread", "Bread")
QUESTION = "Where does the writer of the novel about a lighthouse come from?"


def sources(*passages: Passage) -> tuple[HybridSearch, GraphSource]:
    store = MemoryStore()
    store.add(*passages)
    hybrid = HybridSearch(store, NO_EMBEDDER, 0.4)
    return hybrid, GraphSource(hybrid, store)


def names(source: HybridSearch | GraphSource, query: str, limit: int = 10) -> list[str]:
    return [result.passage.document_id for result in source.search(query, limit)]


def test_c3_a_passage_is_reached_through_a_shared_name() -> None:
    hybrid, graph = sources(BOOK, AUTHOR, OTHER)
    assert "author" not in names(hybrid, QUESTION)
    assert names(graph, QUESTION) == ["book", "author"]


@pytest.mark.parametrize(
    ("first", "second", "query"),
    [
        ("《玻璃海港》是作家王小明的小说。", "王小明出生于杭州。", "玻璃海港的作者是哪里人"),
        ("『硝子の港』はミリアムオカフォーの小説です。", "ミリアムオカフォーは神戸で生まれた。", "硝子の港を書いた人"),
    ],
)
def test_links_in_chinese_and_japanese(first: str, second: str, query: str) -> None:
    _, graph = sources(passage(first, "first"), passage(second, "second"), OTHER)
    assert names(graph, query)[:2] == ["first", "second"]


def test_a_subject_ranks_before_a_mention() -> None:
    _, graph = sources(BOOK, MENTION, AUTHOR)
    _, swapped = sources(AUTHOR, MENTION, BOOK)
    assert names(graph, QUESTION) == names(swapped, QUESTION) == ["book", "author", "aside"]


def test_a_frequent_name_links_weakly() -> None:
    def strength(holders: int) -> float:
        crowd = [passage(f"Miriam Okafor was seen, says note {number}.", f"{number:02}") for number in range(holders)]
        _, graph = sources(BOOK, AUTHOR, *crowd)
        return next(result.score for result in graph.search(QUESTION, 50) if result.passage == AUTHOR)

    assert strength(20) < strength(3) < strength(0)


def test_a_passage_does_not_link_to_itself() -> None:
    hybrid, graph = sources(BOOK, AUTHOR, OTHER)
    assert graph.search(QUESTION, 10)[0].score == hybrid.search(QUESTION, 10)[0].score


def test_ties_are_ordered_by_id() -> None:
    twins = [passage(f"Miriam Okafor was here {name}.", name) for name in "zx"]
    hybrid, graph = sources(BOOK, *twins)
    question, matches = hybrid.match(QUESTION, 10)
    for order in (1, -1):
        hits = graph._store.by_entities(["miriam_okafor"], 10)[::order]
        graph._store.by_entities = lambda names, limit, hits=hits: hits  # type: ignore[method-assign, misc]
        assert [match.passage.document_id for match in graph.score(question, matches)] == ["book", "x", "z"]


def test_the_graph_source_includes_direct_matches() -> None:
    hybrid, graph = sources(BOOK, AUTHOR, OTHER)
    assert set(names(hybrid, "lighthouse bread")) <= set(names(graph, "lighthouse bread"))


def test_graph_relevance_is_within_0_and_1() -> None:
    _, graph = sources(BOOK, AUTHOR, MENTION, OTHER)
    assert all(0 <= result.relevance <= 1 for result in graph.search(QUESTION, 10))


@pytest.mark.parametrize("query", ["", "nothing of the kind", "?!", "of the"])
def test_without_matches_there_are_no_links(query: str) -> None:
    _, graph = sources(BOOK, AUTHOR)
    assert names(graph, query) == []
    _, empty = sources()
    assert names(empty, query) == []


def test_the_graph_source_respects_the_limit() -> None:
    _, graph = sources(BOOK, AUTHOR, MENTION)
    assert names(graph, QUESTION, limit=1) == ["book"]


def test_linking_is_fast() -> None:
    """A hundred passages with thirty names each take 2 ms. The limit is ten times that, for busy machines."""
    crowd = [
        passage(
            f"Lighthouse {number}. " + " ".join(f"We met Ann{(number * 7 + at) % 200} Lee." for at in range(30)),
            f"{number}",
        )
        for number in range(100)
    ]
    hybrid, graph = sources(*crowd)
    question, matches = hybrid.match("lighthouse", 100)
    assert len(matches) == 100
    graph._store.by_entities = lambda names, limit: []  # type: ignore[method-assign]
    times = []
    for _ in range(10):
        started = time.process_time()
        graph.score(question, matches)
        times.append(time.process_time() - started)
    assert min(times) < 0.02


LEAVE = passage("Staff have 25 days of paid leave a year.", "leave")
TRAVEL = passage("Trips are booked two weeks ahead.", "travel")
REFUND = passage("退款需要七个工作日。", "refund")
PARKING = passage("駐車場は地下にあります。", "parking")


@pytest.mark.parametrize(
    ("query", "best"),
    [("How many days of leave?", "leave"), ("退款要多久", "refund"), ("駐車場はどこですか", "parking")],
)
def test_temporal_ranks_the_given_passages(query: str, best: str) -> None:
    searcher, _ = searcher_over(LEAVE, TRAVEL, REFUND, PARKING)
    results = searcher.find_recalled(query, [TRAVEL.id, LEAVE.id, REFUND.id, PARKING.id], 10)
    assert results[0].passage.document_id == best
    assert {result.passage.document_id for result in results} == {"leave", "travel", "refund", "parking"}


def test_temporal_skips_deleted_passages() -> None:
    searcher, _ = searcher_over(LEAVE)
    assert [result.passage.id for result in searcher.find_recalled("leave", [TRAVEL.id, LEAVE.id], 10)] == [LEAVE.id]
    assert searcher.find_recalled("leave", [], 10) == []


def test_temporal_respects_the_limit() -> None:
    searcher, _ = searcher_over(LEAVE, TRAVEL)
    assert len(searcher.find_recalled("leave", [LEAVE.id, TRAVEL.id], 1)) == 1


def test_temporal_relevance_equals_that_of_other_sources() -> None:
    searcher, _ = searcher_over(LEAVE, TRAVEL, embedder=Concepts("leave days", "trip"))
    by_id = {result.passage.id: result.relevance for result in searcher.find("knowledge", "days of leave", 10)}
    for result in searcher.find_recalled("days of leave", [TRAVEL.id, LEAVE.id], 10):
        assert result.relevance == by_id[result.passage.id]


def test_the_priority_source_gets_the_attribution() -> None:
    searcher, _ = searcher_over(LEAVE, TRAVEL)
    lists = {
        "knowledge": searcher.find("knowledge", "leave", 10),
        "temporal": searcher.find_recalled("leave", [TRAVEL.id, LEAVE.id], 10),
    }
    assert {item.source for item in searcher.fuse(lists, 10, "temporal")} == {"temporal"}
    assert "knowledge" in {item.source for item in searcher.fuse(lists, 10)}
