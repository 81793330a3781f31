"""The `temporal` source: passages that stood behind earlier questions like this one, above all those that went wrong.

Which questions those are is known elsewhere: the ids of their passages are handed in. It yields passages as they stand
in the documents now, and never what was answered then.
"""

from __future__ import annotations

from collections.abc import Sequence

from veracity.retrieval.hybrid import HybridSearch, Match, found
from veracity.retrieval.sources import Found, PassageStore


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
