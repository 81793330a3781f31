"""Fusing the results of several sources (SPEC C7)."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieval.memory import passage
from veracity.models import Evidence
from veracity.retrieval.base import RankedPassage
from veracity.retrieval.fusion import METHODS, RRF_K, cascade, fuse, fuse_by_rank, fuse_by_score
from veracity.settings import RetrievalSettings


def ranked(*names: str, scores: tuple[float, ...] = (), relevance: float = 0.5) -> list[RankedPassage]:
    all_scores = scores or tuple(float(len(names) - place) for place in range(len(names)))
    return [RankedPassage(passage(name, name), score, relevance) for name, score in zip(names, all_scores, strict=True)]


def names(fused: Iterable[Evidence]) -> list[str]:
    return [item.document_id for item in fused]


RANKINGS = st.dictionaries(
    st.sampled_from(["knowledge", "graph", "temporal"]),
    st.lists(st.sampled_from("abcdefgh"), unique=True).map(lambda some: ranked(*some)),
)


def test_c7_reciprocal_rank_fusion_with_k_60_is_the_default() -> None:
    assert RetrievalSettings().fusion == "rrf"
    assert RRF_K == 60
    scores = fuse_by_rank({"knowledge": ranked("a", "b", "c"), "graph": ranked("c", "a")})
    assert scores == {"a.0": 1 / 61 + 1 / 62, "b.0": 1 / 62, "c.0": 1 / 63 + 1 / 61}
    assert names(fuse({"knowledge": ranked("a", "b", "c"), "graph": ranked("c", "a")}, "rrf")) == ["a", "c", "b"]


def test_c7_rank_fusion_ignores_scores() -> None:
    high = fuse({"x": ranked("a", "b", scores=(9, 8)), "y": ranked("b", "c", scores=(2, 1))}, "rrf")
    low = fuse({"x": ranked("a", "b", scores=(0.1, 0)), "y": ranked("b", "c", scores=(700, -1))}, "rrf")
    assert names(high) == names(low) == ["b", "a", "c"]


def test_ties_go_to_the_earlier_source() -> None:
    assert names(fuse({"x": ranked("b"), "y": ranked("a")}, "rrf")) == ["b", "a"]
    assert names(fuse({"y": ranked("a"), "x": ranked("b")}, "rrf")) == ["a", "b"]
    assert names(fuse({"x": ranked("a", "b"), "y": ranked("b", "a")}, "rrf")) == ["a", "b"]


def test_c7_weighted_scores_are_relative_to_the_best_of_each_source() -> None:
    lists = {"x": ranked("a", "b", "c", scores=(10, 9, 1)), "y": ranked("c", "b", scores=(0.2, 0.05))}
    assert fuse_by_score(lists) == {"a.0": 1.0, "b.0": 0.9 + 0.25, "c.0": 0.1 + 1.0}
    assert names(fuse(lists, "weighted")) == ["b", "c", "a"]


@pytest.mark.parametrize("scores", [(0.0, 0.0), (-1.0, -2.0)])
def test_non_positive_scores_keep_their_order(scores: tuple[float, float]) -> None:
    assert names(fuse({"x": ranked("a", "b", scores=scores)}, "weighted")) == ["a", "b"]


def test_c7_cascade_appends_source_after_source() -> None:
    lists = {"x": ranked("b", "a"), "y": ranked("c", "a", "d")}
    assert list(cascade(lists)) == ["b.0", "a.0", "c.0", "d.0"]
    assert names(fuse(lists, "cascade")) == ["b", "a", "c", "d"]


@pytest.mark.parametrize("method", METHODS)
def test_fusing_no_results(method: str) -> None:
    assert list(fuse({}, method)) == list(fuse({"x": [], "y": []}, method)) == []
    assert names(fuse({"x": [], "y": ranked("a")}, method)) == ["a"]


@pytest.mark.parametrize("method", METHODS)
def test_one_source_keeps_its_order(method: str) -> None:
    assert names(fuse({"x": ranked("c", "a", "b")}, method)) == ["c", "a", "b"]


def test_c3_source_is_the_one_with_the_best_rank() -> None:
    lists = {"knowledge": ranked("a", "b", relevance=0.2), "graph": ranked("b", "a", "c", relevance=0.7)}
    fused = {
        item.document_id: (item.source, item.metadata.found_by, item.metadata.relevance_score)
        for item in fuse(lists, "rrf")
    }
    assert fused == {
        "a": ("knowledge", ["knowledge", "graph"], 0.7),
        "b": ("graph", ["knowledge", "graph"], 0.7),
        "c": ("graph", ["graph"], 0.7),
    }


@given(RANKINGS, st.sampled_from(sorted(METHODS)))
def test_fusion_returns_each_passage_once(lists: dict[str, list[RankedPassage]], method: str) -> None:
    fused = names(fuse(lists, method))
    assert len(fused) == len(set(fused))
    assert set(fused) == {result.passage.document_id for results in lists.values() for result in results}


@given(RANKINGS, st.randoms())
def test_scores_do_not_depend_on_the_order_of_sources(lists: dict[str, list[RankedPassage]], random: object) -> None:
    shuffled = list(lists.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for method in (fuse_by_rank, fuse_by_score):
        assert method(dict(shuffled)) == pytest.approx(method(lists))


@given(RANKINGS)
def test_a_passage_that_all_sources_rank_higher_is_higher(lists: dict[str, list[RankedPassage]]) -> None:
    places = {
        name: [[result.passage.document_id for result in results].index(name) for results in lists.values()]
        for name in "abcdefgh"
        if lists and all(name in [result.passage.document_id for result in results] for results in lists.values())
    }
    fused = names(fuse(lists, "rrf"))
    for name, ranks in places.items():
        for other, other_ranks in places.items():
            if name != other and all(a < b for a, b in zip(ranks, other_ranks, strict=True)):
                assert fused.index(name) < fused.index(other)
