"""A search from the question to the evidence: ask the sources, fuse what they found, rerank.

What a source finds can be had alone too, for who runs the sources as tasks of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from veracity.embedding import Embedder
from veracity.errors import InputError
from veracity.models import Evidence, EvidenceMetadata
from veracity.reranking import Reranker
from veracity.retrieval.fusion import Fused, Lists, fuse
from veracity.retrieval.graph import GraphSource
from veracity.retrieval.hybrid import HybridSearch
from veracity.retrieval.sources import PassageStore, Source
from veracity.settings import RetrievalSettings

DEPTH = 50  # how much of each source's list takes part in the fusion
RERANKED = 30


class Searcher:
    def __init__(self, sources: Sequence[Source], settings: RetrievalSettings, reranker: Reranker | None) -> None:
        self._sources = {source.name: source for source in sources}
        self._settings = settings
        self._reranker = reranker

    def search(self, query: str, top_k: int, sources: Sequence[str] | None = None) -> list[Evidence]:
        asked = self._named(sources or self._settings.sources)
        lists = {source.name: source.search(query, DEPTH) for source in asked}
        return [_evidence(fused) for fused in self.rank(query, lists)[:top_k]]

    def rank(self, query: str, lists: Lists) -> list[Fused]:
        """Fuse and rerank. A text that stands in several documents is taken once."""
        fused = fuse(lists, self._settings.fusion)
        distinct = list({one.passage.text: one for one in reversed(fused)}.values())[::-1]
        return distinct if self._reranker is None else _reranked(self._reranker, query, distinct)

    def _named(self, names: Sequence[str]) -> list[Source]:
        if unknown := next((name for name in names if name not in self._sources), None):
            raise InputError(f'There is no source "{unknown}"; there are: {", ".join(self._sources)}.')
        return [self._sources[name] for name in dict.fromkeys(names)]


def make_searcher(
    store: PassageStore, embedder: Embedder, settings: RetrievalSettings, reranker: Reranker | None = None
) -> Searcher:
    hybrid = HybridSearch(store, embedder, settings.vector_weight)
    return Searcher([hybrid, GraphSource(hybrid, store)], settings, reranker)


def _reranked(reranker: Reranker, query: str, fused: list[Fused]) -> list[Fused]:
    """The reranker decides the order; relevance stays what it was, so that thresholds mean the same before and after."""
    head = fused[:RERANKED]
    scores = reranker.scores(query, [one.passage.text for one in head])
    order = sorted(range(len(head)), key=lambda place: -scores[place])
    return [head[place] for place in order] + fused[RERANKED:]


def _evidence(fused: Fused) -> Evidence:
    passage = fused.passage
    known: Mapping[str, object] = passage.metadata
    return Evidence(
        id=passage.id,
        text=passage.text,
        source=fused.source,
        document_id=passage.document_id,
        title=passage.title,
        location=passage.location,
        headings=list(passage.headings),
        page=passage.page,
        start=passage.start,
        end=passage.end,
        language=passage.language,
        metadata=EvidenceMetadata.model_validate(
            {**known, "relevance_score": round(fused.relevance, 4), "found_by": list(fused.found_by)}
        ),
    )
