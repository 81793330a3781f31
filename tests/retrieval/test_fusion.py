"""One list from several (SPEC C7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieval.memory import passage
from veracity.retrieval.base import Found
from veracity.retrieval.fusion import METHODS, RRF_K, Fused, by_rank, by_score, fuse, one_after_the_other
from veracity.settings import RetrievalSettings


def found(*names: str, scores: tuple[float, ...] = (), relevance: float = 0.5) -> list[Found]:
    given = scores or tuple(float(len(names) - place) for place in range(len(names)))
    return [Found(passage(name, name), score, relevance) for name, score in zip(names, given, strict=True)]


def names(fused: list[Fused]) -> list[str]:
    return [one.passage.document_id for one in fused]


RANKINGS = st.dictionaries(
    st.sampled_from(["knowledge", "graph", "temporal"]),
    st.lists(st.sampled_from("abcdefgh"), unique=True).map(lambda some: found(*some)),
)


def test_c7_reciprocal_rank_fusion_with_k_60_is_the_default() -> None:
    assert RetrievalSettings().fusion == "rrf"
    assert RRF_K == 60
    points = by_rank({"knowledge": found("a", "b", "c"), "graph": found("c", "a")})
    assert points == {"a.0": 1 / 61 + 1 / 62, "b.0": 1 / 62, "c.0": 1 / 63 + 1 / 61}
    assert names(fuse({"knowledge": found("a", "b", "c"), "graph": found("c", "a")}, "rrf")) == ["a", "c", "b"]


def test_c7_rank_fusion_looks_at_the_order_alone() -> None:
    one = fuse({"x": found("a", "b", scores=(9, 8)), "y": found("b", "c", scores=(2, 1))}, "rrf")
    other = fuse({"x": found("a", "b", scores=(0.1, 0)), "y": found("b", "c", scores=(700, -1))}, "rrf")
    assert names(one) == names(other) == ["b", "a", "c"]


def test_of_equals_the_earlier_source_comes_first() -> None:
    assert names(fuse({"x": found("b"), "y": found("a")}, "rrf")) == ["b", "a"]
    assert names(fuse({"y": found("a"), "x": found("b")}, "rrf")) == ["a", "b"]
    assert names(fuse({"x": found("a", "b"), "y": found("b", "a")}, "rrf")) == ["a", "b"]


def test_c7_weighted_scores_are_shares_of_the_best_of_each_source() -> None:
    lists = {"x": found("a", "b", "c", scores=(10, 9, 1)), "y": found("c", "b", scores=(0.2, 0.05))}
    assert by_score(lists) == {"a.0": 1.0, "b.0": 0.9 + 0.25, "c.0": 0.1 + 1.0}
    assert names(fuse(lists, "weighted")) == ["b", "c", "a"]


@pytest.mark.parametrize("scores", [(0.0, 0.0), (-1.0, -2.0)])
def test_scores_that_are_not_positive_keep_their_order(scores: tuple[float, float]) -> None:
    assert names(fuse({"x": found("a", "b", scores=scores)}, "weighted")) == ["a", "b"]


def test_c7_a_cascade_takes_one_source_after_the_other() -> None:
    lists = {"x": found("b", "a"), "y": found("c", "a", "d")}
    assert list(one_after_the_other(lists)) == ["b.0", "a.0", "c.0", "d.0"]
    assert names(fuse(lists, "cascade")) == ["b", "a", "c", "d"]


@pytest.mark.parametrize("method", METHODS)
def test_nothing_found(method: str) -> None:
    assert fuse({}, method) == fuse({"x": [], "y": []}, method) == []
    assert names(fuse({"x": [], "y": found("a")}, method)) == ["a"]


@pytest.mark.parametrize("method", METHODS)
def test_one_source_keeps_its_order(method: str) -> None:
    assert names(fuse({"x": found("c", "a", "b")}, method)) == ["c", "a", "b"]


def test_c3_the_source_is_the_one_that_ranked_it_best() -> None:
    lists = {"knowledge": found("a", "b", relevance=0.2), "graph": found("b", "a", "c", relevance=0.7)}
    told = {one.passage.document_id: (one.source, one.found_by, one.relevance) for one in fuse(lists, "rrf")}
    assert told == {
        "a": ("knowledge", ("knowledge", "graph"), 0.7),
        "b": ("graph", ("knowledge", "graph"), 0.7),
        "c": ("graph", ("graph",), 0.7),
    }


@given(RANKINGS, st.sampled_from(sorted(METHODS)))
def test_what_comes_out_is_what_went_in_each_once(lists: dict[str, list[Found]], method: str) -> None:
    fused = names(fuse(lists, method))
    assert len(fused) == len(set(fused))
    assert set(fused) == {one.passage.document_id for some in lists.values() for one in some}


@given(RANKINGS, st.randoms())
def test_points_do_not_depend_on_the_order_of_the_sources(lists: dict[str, list[Found]], chance: object) -> None:
    shuffled = list(lists.items())
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    for method in (by_rank, by_score):
        assert method(dict(shuffled)) == pytest.approx(method(lists))


@given(RANKINGS)
def test_what_all_rank_higher_is_higher(lists: dict[str, list[Found]]) -> None:
    places = {
        name: [[one.passage.document_id for one in some].index(name) for some in lists.values()]
        for name in "abcdefgh"
        if lists and all(name in [one.passage.document_id for one in some] for some in lists.values())
    }
    fused = names(fuse(lists, "rrf"))
    for one, mine in places.items():
        for other, theirs in places.items():
            if one != other and all(a < b for a, b in zip(mine, theirs, strict=True)):
                assert fused.index(one) < fused.index(other)
