"""One list from what several sources found: by rank (RRF), by weighted scores, or one source after the other.

Knows nothing about where the passages come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from veracity.models import Passage
from veracity.retrieval.base import Found

RRF_K = 60

Lists = Mapping[str, Sequence[Found]]


@dataclass(frozen=True, slots=True)
class Fused:
    """A passage, the source that ranked it best, and all that found it."""

    passage: Passage
    source: str
    found_by: tuple[str, ...]
    relevance: float


def fuse(lists: Lists, method: str, priority: str = "") -> list[Fused]:
    """The best first. Of equals, the one that an earlier source ranked higher. What the `priority` source found counts
    as found by it, whoever ranked it better."""
    points, places = METHODS[method](lists), _places(lists)
    return [_fused(places[name], priority) for name in sorted(points, key=points.__getitem__, reverse=True)]


def by_rank(lists: Lists) -> dict[str, float]:
    points: dict[str, float] = {}
    for found in lists.values():
        for rank, one in enumerate(found, 1):
            points[one.passage.id] = points.get(one.passage.id, 0.0) + 1 / (RRF_K + rank)
    return points


def by_score(lists: Lists) -> dict[str, float]:
    """Each source's scores as shares of its best."""
    points: dict[str, float] = {}
    for found in lists.values():
        best = max((one.score for one in found), default=0.0)
        for one in found:
            points[one.passage.id] = points.get(one.passage.id, 0.0) + (one.score / best if best > 0 else 0.0)
    return points


def one_after_the_other(lists: Lists) -> dict[str, float]:
    """All that the first source found, then what the second adds, and so on."""
    order = dict.fromkeys(one.passage.id for found in lists.values() for one in found)
    return {name: -float(place) for place, name in enumerate(order)}


METHODS: dict[str, Callable[[Lists], dict[str, float]]] = {
    "rrf": by_rank,
    "weighted": by_score,
    "cascade": one_after_the_other,
}


def _places(lists: Lists) -> dict[str, dict[str, tuple[int, Found]]]:
    """For each passage, by source: its place in the list, and what was found there."""
    places: dict[str, dict[str, tuple[int, Found]]] = {}
    for source, found in lists.items():
        for place, one in enumerate(found):
            places.setdefault(one.passage.id, {})[source] = place, one
    return places


def _fused(places: dict[str, tuple[int, Found]], priority: str) -> Fused:
    best = min(places, key=lambda source: (source != priority, places[source][0]))
    relevance = max(one.relevance for _, one in places.values())
    return Fused(places[best][1].passage, best, tuple(places), relevance)
