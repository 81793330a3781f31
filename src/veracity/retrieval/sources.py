"""The `graph` and `temporal` sources. Both start from the matches of the hybrid search.

The graph source answers two-step questions: "Where was the author of X born?" finds the passage on X by its words, that
names the author, and the passage on the author has the answer. The temporal source ranks passages of earlier questions.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from math import log2

from veracity.language import title_entity
from veracity.retrieval.base import PassageStore, RankedPassage
from veracity.retrieval.hybrid import HybridSearch, Match, Question, rank

MAX_SEEDS = 5
MAX_NEIGHBOURS = 50
LINK_WEIGHT = 0.4
SUBJECT_FACTOR, MENTION_FACTOR = 1.5, 0.5  # the name is the subject of one of the passages, or both only mention it


class GraphSource:
    """Follows names from the best passages to other passages."""

    name = "graph"

    def __init__(self, hybrid: HybridSearch, store: PassageStore) -> None:
        self._hybrid = hybrid
        self._store = store

    def search(self, query: str, limit: int, added_words: Sequence[str] = ()) -> list[RankedPassage]:
        question, matches = self._hybrid.match(query, limit, added_words)
        return rank(question, self.score(question, matches)[:limit])

    def score(self, question: Question, matches: list[Match]) -> list[Match]:
        """The matches and the passages linked to the best of them, best first."""
        seeds = matches[:MAX_SEEDS]
        names = dict.fromkeys(name for seed in seeds for name in seed.passage.entities)
        candidates = {match.passage.id: match for match in matches}
        for hit in self._store.by_entities(list(names), MAX_NEIGHBOURS):
            candidates.setdefault(hit.passage.id, Match(hit, self._hybrid.score(question, hit, 0.0)))
        links = _links(seeds, candidates.values())
        scored = [
            Match(match.hit, match.score + LINK_WEIGHT * links.get(id_, 0.0)) for id_, match in candidates.items()
        ]
        return sorted(scored, key=lambda match: (-match.score, match.passage.id))


class TemporalSource:
    name = "temporal"

    def __init__(self, hybrid: HybridSearch, store: PassageStore) -> None:
        self.hybrid = hybrid
        self._store = store

    def search(
        self, query: str, passage_ids: Sequence[str], limit: int, added_words: Sequence[str] = ()
    ) -> list[RankedPassage]:
        """Rank the passages with these ids that still exist."""
        question, matches = self.hybrid.match(query, limit, added_words)
        scores = {match.passage.id: match.score for match in matches}
        recalled = [
            Match(hit, scores.get(hit.passage.id, self.hybrid.score(question, hit, 0.0)))
            for hit in self._store.by_ids(passage_ids)
        ]
        recalled.sort(key=lambda match: (-match.score, match.passage.id))
        best = max((match.score for match in matches), default=0.0)
        return rank(question, recalled[:limit], best)


def _links(seeds: list[Match], matches: Collection[Match]) -> dict[str, float]:
    """The strongest link of each passage to a seed.

    A link is stronger if the seed scores high, the name is rare, and one of the passages is about the name.
    """
    holders = Counter(name for match in matches for name in match.passage.entities)
    subjects = {match.passage.id: title_entity(match.passage.title) for match in matches}
    links: dict[str, float] = {}
    for seed in seeds:
        own = seed.passage
        strength = {name: seed.score / log2(1 + holders[name]) for name in own.entities if holders[name] > 1}
        for match in matches:
            other = match.passage
            if other.id == own.id:
                continue
            for name in strength.keys() & other.entities:
                factor = SUBJECT_FACTOR if name in (subjects[own.id], subjects[other.id]) else MENTION_FACTOR
                links[other.id] = max(links.get(other.id, 0.0), factor * strength[name])
    return links
