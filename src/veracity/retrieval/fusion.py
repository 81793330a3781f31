"""Fuses the results of several sources: by rank (RRF), by weighted scores, or one source after the other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from veracity.models import Evidence, Passage
from veracity.retrieval.base import RankedPassage

RRF_K = 60

SourceResults = Mapping[str, Sequence[RankedPassage]]  # by the name of the source, best first


def fuse(results: SourceResults, method: str, priority: str = "") -> Iterator[Evidence]:
    """The best first. Ties go to the passage that an earlier source ranked higher.

    A passage is attributed to the source that ranked it best, but always to the `priority` source if that found it.
    """
    scores, ranks = METHODS[method](results), _ranks(results)
    for id_ in sorted(scores, key=scores.__getitem__, reverse=True):
        found = ranks[id_]
        source = min(found, key=lambda name: (name != priority, found[name][0]))
        relevance = max(result.relevance for _, result in found.values())
        yield make_evidence(found[source][1].passage, relevance, source, list(found))


def make_evidence(passage: Passage, relevance: float, source: str, found_by: Sequence[str]) -> Evidence:
    metadata = {**passage.metadata, "relevance_score": round(relevance, 4), "found_by": list(found_by)}
    return Evidence.model_validate({**asdict(passage), "source": source, "metadata": metadata})


def fuse_by_rank(results: SourceResults) -> dict[str, float]:
    scores: dict[str, float] = {}
    for ranked in results.values():
        for rank, result in enumerate(ranked, 1):
            scores[result.passage.id] = scores.get(result.passage.id, 0.0) + 1 / (RRF_K + rank)
    return scores


def fuse_by_score(results: SourceResults) -> dict[str, float]:
    """Scores are relative to the best of each source."""
    scores: dict[str, float] = {}
    for ranked in results.values():
        best = max((result.score for result in ranked), default=0.0)
        for result in ranked:
            share = result.score / best if best > 0 else 0.0
            scores[result.passage.id] = scores.get(result.passage.id, 0.0) + share
    return scores


def cascade(results: SourceResults) -> dict[str, float]:
    """All passages of the first source, then what the second adds, and so on."""
    order = dict.fromkeys(result.passage.id for ranked in results.values() for result in ranked)
    return {id_: -float(position) for position, id_ in enumerate(order)}


METHODS: dict[str, Callable[[SourceResults], dict[str, float]]] = {
    "rrf": fuse_by_rank,
    "weighted": fuse_by_score,
    "cascade": cascade,
}


def _ranks(results: SourceResults) -> dict[str, dict[str, tuple[int, RankedPassage]]]:
    """For each passage id, by source: its rank and the result."""
    ranks: dict[str, dict[str, tuple[int, RankedPassage]]] = {}
    for source, ranked in results.items():
        for rank, result in enumerate(ranked):
            ranks.setdefault(result.passage.id, {})[source] = rank, result
    return ranks
