"""Passages of earlier questions (SPEC C3)."""

import pytest

from tests.retrieval.memory import Concepts, passage, searcher_over

LEAVE = passage("Staff have 25 days of paid leave a year.", "leave")
TRAVEL = passage("Trips are booked two weeks ahead.", "travel")
REFUND = passage("退款需要七个工作日。", "refund")
PARKING = passage("駐車場は地下にあります。", "parking")


@pytest.mark.parametrize(
    ("query", "best"),
    [("How many days of leave?", "leave"), ("退款要多久", "refund"), ("駐車場はどこですか", "parking")],
)
def test_the_passages_handed_in_the_best_first(query: str, best: str) -> None:
    searcher, _ = searcher_over(LEAVE, TRAVEL, REFUND, PARKING)
    found = searcher.remembered(query, [TRAVEL.id, LEAVE.id, REFUND.id, PARKING.id], 10)
    assert found[0].passage.document_id == best
    assert {one.passage.document_id for one in found} == {"leave", "travel", "refund", "parking"}


def test_what_is_no_longer_there_is_not_found() -> None:
    searcher, _ = searcher_over(LEAVE)
    assert [one.passage.id for one in searcher.remembered("leave", [TRAVEL.id, LEAVE.id], 10)] == [LEAVE.id]
    assert searcher.remembered("leave", [], 10) == []


def test_no_more_than_asked_for() -> None:
    searcher, _ = searcher_over(LEAVE, TRAVEL)
    assert len(searcher.remembered("leave", [LEAVE.id, TRAVEL.id], 1)) == 1


def test_relevance_means_the_same_as_from_other_sources() -> None:
    searcher, _ = searcher_over(LEAVE, TRAVEL, embedder=Concepts("leave days", "trip"))
    by_id = {one.passage.id: one.relevance for one in searcher.find("knowledge", "days of leave", 10)}
    for one in searcher.remembered("days of leave", [TRAVEL.id, LEAVE.id], 10):
        assert one.relevance == by_id[one.passage.id]


def test_what_the_priority_source_found_counts_as_its_own() -> None:
    searcher, _ = searcher_over(LEAVE, TRAVEL)
    lists = {
        "knowledge": searcher.find("knowledge", "leave", 10),
        "temporal": searcher.remembered("leave", [TRAVEL.id, LEAVE.id], 10),
    }
    assert {one.source for one in searcher.fuse(lists, 10, "temporal")} == {"temporal"}
    assert "knowledge" in {one.source for one in searcher.fuse(lists, 10)}
