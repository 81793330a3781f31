"""The `graph` source: passages that share names with those found first, for questions that take two steps.

"Where was the author of X born?" finds the passage on X by its words; that one names the author, and the passage on
the author holds the answer. A link counts the more, the better the first passage fits, the rarer the name, and when
the name is what one of the two is about. No language model is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import log2

from veracity.language import title_entity
from veracity.models import Hit
from veracity.retrieval.base import Found, PassageStore
from veracity.retrieval.hybrid import HybridSearch, Match, Question, found


class TemporalSource:
    name = "temporal"

    def __init__(self, hybrid: HybridSearch, store: PassageStore) -> None:
        self._hybrid = hybrid
        self._store = store

    def search(self, query: str, passage_ids: Sequence[str], limit: int, added: Sequence[str] = ()) -> list[Found]:
        """Those of the passages that are still there, the best first."""
        question, matches = self._hybrid.matches(query, limit, added)
        known = {match.passage.id: match.score for match in matches}
        remembered = [
            Match(hit, known.get(hit.passage.id, self._hybrid.score(question, hit, 0.0)))
            for hit in self._store.by_ids(passage_ids)
        ]
        best = max((match.score for match in matches), default=0.0)
        remembered.sort(key=lambda match: (-match.score, match.passage.id))
        return found(question, [(match.hit, match.score) for match in remembered[:limit]], best)


SEEDS = 5
NEIGHBOURS = 50
LINK_WEIGHT = 0.4
ABOUT, MENTIONED = 1.5, 0.5  # the name is what one of the two passages is about, or both only mention it


class GraphSource:
    name = "graph"

    def __init__(self, hybrid: HybridSearch, store: PassageStore) -> None:
        self._hybrid = hybrid
        self._store = store

    def search(self, query: str, limit: int, added: Sequence[str] = ()) -> list[Found]:
        question, matches = self._hybrid.matches(query, limit, added)
        return found(question, self.scored(question, matches)[:limit])

    def scored(self, question: Question, matches: list[Match]) -> list[tuple[Hit, float]]:
        """What matches by itself, and what the best of it leads to; the best first."""
        seeds = matches[:SEEDS]
        names = dict.fromkeys(name for seed in seeds for name in seed.passage.entities)
        known = {match.passage.id: match for match in matches}
        for hit in self._store.by_entities(list(names), NEIGHBOURS):
            known.setdefault(hit.passage.id, Match(hit, self._hybrid.score(question, hit, 0.0)))
        links = _links(seeds, known.values())
        scored = [(match.hit, match.score + LINK_WEIGHT * links.get(name, 0.0)) for name, match in known.items()]
        return sorted(scored, key=lambda one: (-one[1], one[0].passage.id))


def _links(seeds: list[Match], matches: Collection[Match]) -> dict[str, float]:
    """The strongest link of each passage to a seed. A name that many hold links little."""
    held_by = Counter(name for match in matches for name in match.passage.entities)
    about = {match.passage.id: title_entity(match.passage.title) for match in matches}
    links: dict[str, float] = {}
    for seed in seeds:
        own = seed.passage
        strength = {name: seed.score / log2(1 + held_by[name]) for name in own.entities if held_by[name] > 1}
        for match in matches:
            other = match.passage
            if other.id == own.id:
                continue
            for name in strength.keys() & other.entities:
                factor = ABOUT if name in (about[own.id], about[other.id]) else MENTIONED
                links[other.id] = max(links.get(other.id, 0.0), factor * strength[name])
    return links
