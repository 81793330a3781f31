"""The graph source: the second passage of a question that takes two steps (SPEC C3)."""

import time

import pytest

from tests.retrieval.memory import NO_EMBEDDER, MemoryStore, passage
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
    return [one.passage.document_id for one in source.search(query, limit)]


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
def test_in_chinese_and_japanese_too(first: str, second: str, query: str) -> None:
    _, graph = sources(passage(first, "first"), passage(second, "second"), OTHER)
    assert names(graph, query)[:2] == ["first", "second"]


def test_a_passage_about_the_name_comes_before_one_that_mentions_it() -> None:
    _, graph = sources(BOOK, MENTION, AUTHOR)
    _, swapped = sources(AUTHOR, MENTION, BOOK)
    assert names(graph, QUESTION) == names(swapped, QUESTION) == ["book", "author", "aside"]


def test_a_name_that_many_hold_links_little() -> None:
    def strength(holders: int) -> float:
        crowd = [passage(f"Miriam Okafor was seen, says note {number}.", f"{number:02}") for number in range(holders)]
        _, graph = sources(BOOK, AUTHOR, *crowd)
        return next(one.score for one in graph.search(QUESTION, 50) if one.passage == AUTHOR)

    assert strength(20) < strength(3) < strength(0)


def test_a_passage_does_not_lead_to_itself() -> None:
    hybrid, graph = sources(BOOK, AUTHOR, OTHER)
    assert graph.search(QUESTION, 10)[0].score == hybrid.search(QUESTION, 10)[0].score


def test_equals_are_in_the_order_of_their_ids() -> None:
    twins = [passage(f"Miriam Okafor was here {name}.", name) for name in "zx"]
    hybrid, graph = sources(BOOK, *twins)
    question, matches = hybrid.matches(QUESTION, 10)
    for order in (1, -1):
        hits = graph._store.by_entities(["miriam_okafor"], 10)[::order]
        graph._store.by_entities = lambda names, limit, hits=hits: hits  # type: ignore[method-assign, misc]
        assert [hit.passage.document_id for hit, _ in graph.scored(question, matches)] == ["book", "x", "z"]


def test_what_matches_by_itself_is_there_too() -> None:
    hybrid, graph = sources(BOOK, AUTHOR, OTHER)
    assert set(names(hybrid, "lighthouse bread")) <= set(names(graph, "lighthouse bread"))


def test_relevance_is_a_chance() -> None:
    _, graph = sources(BOOK, AUTHOR, MENTION, OTHER)
    assert all(0 <= one.relevance <= 1 for one in graph.search(QUESTION, 10))


@pytest.mark.parametrize("query", ["", "nothing of the kind", "?!", "of the"])
def test_where_nothing_matches_nothing_is_linked(query: str) -> None:
    _, graph = sources(BOOK, AUTHOR)
    assert names(graph, query) == []
    _, empty = sources()
    assert names(empty, query) == []


def test_the_limit_holds() -> None:
    _, graph = sources(BOOK, AUTHOR, MENTION)
    assert names(graph, QUESTION, limit=1) == ["book"]


def test_linking_takes_little_time() -> None:
    """A hundred passages with thirty names each: 2 ms, and ten times that for a busy machine that counts coverage."""
    crowd = [
        passage(
            f"Lighthouse {number}. " + " ".join(f"We met Ann{(number * 7 + at) % 200} Lee." for at in range(30)),
            f"{number}",
        )
        for number in range(100)
    ]
    hybrid, graph = sources(*crowd)
    question, matches = hybrid.matches("lighthouse", 100)
    assert len(matches) == 100
    graph._store.by_entities = lambda names, limit: []  # type: ignore[method-assign]
    times = []
    for _ in range(10):
        started = time.process_time()
        graph.scored(question, matches)
        times.append(time.process_time() - started)
    assert min(times) < 0.02
