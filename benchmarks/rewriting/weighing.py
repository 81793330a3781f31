"""Added words that count less than the asker's own: what the search would do if it were told which words were added.

Not part of the product. Points of the added words count `WORDS` times those of the asker's, each measured by its best
passage, and the vector is the mean of those of the query with and without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veracity.embedding import Embedder
from veracity.models import Hit
from veracity.retrieval.fusion import fuse
from veracity.retrieval.graph import GraphSource
from veracity.retrieval.hybrid import Candidates, HybridSearch, found

WORDS = 0.3
DEPTH = 50


def weighed(
    query: str, added: Sequence[str], hybrid: HybridSearch, graph: GraphSource, embedder: Embedder
) -> list[str]:
    """The documents, the best first."""
    own = hybrid.candidates(query)
    both = hybrid.candidates(" ".join([query, *added]))
    led = hybrid.candidates(" ".join(added)).by_words if added else []
    vector = own.vector
    if vector is not None and both.vector is not None:
        vector = vector + both.vector
        vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    near = {hit.passage.id: hit for hit in (*own.by_vector, *both.by_vector)}
    hits = _added_up(own.by_words, led)
    question, matches = hybrid.weigh(Candidates(own.words, vector, hits, list(near.values())))
    lists = {
        "knowledge": found(question, [(match.hit, match.score) for match in matches[:DEPTH]]),
        "graph": found(question, graph.scored(question, matches)[:DEPTH]),
    }
    return list(dict.fromkeys(one.passage.document_id for one in fuse(lists, "rrf")))


def _added_up(own: Sequence[Hit], led: Sequence[Hit]) -> list[Hit]:
    hits: dict[str, Hit] = {}
    for some, weight in ((own, 1.0), (led, WORDS)):
        best = max((hit.score for hit in some), default=1.0)
        for hit in some:
            before = hits[hit.passage.id].score if hit.passage.id in hits else 0.0
            hits[hit.passage.id] = replace(hit, score=before + weight * hit.score / best)
    return list(hits.values())
