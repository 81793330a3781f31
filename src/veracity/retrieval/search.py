"""Searches from the question to the evidence: queries the sources, fuses their results, reranks.

The graph runs the sources as separate tasks and calls the steps one by one: `find`, `find_recalled`, `fuse`, `rerank`.
"""

from __future__ import annotations

from collections.abc import Sequence

from veracity.embedding import Embedder
from veracity.errors import InputError
from veracity.models import Evidence
from veracity.reranking import Reranker
from veracity.retrieval.base import PassageStore, RankedPassage, Source
from veracity.retrieval.fusion import SourceResults, fuse
from veracity.retrieval.hybrid import HybridSearch
from veracity.retrieval.sources import GraphSource, TemporalSource
from veracity.secrets import presentable
from veracity.settings import RetrievalSettings

MIN_DEPTH = 50  # results that each source contributes to the fusion
MAX_DEPTH = 4000
RERANK_DEPTH = 30


class Searcher:
    def __init__(
        self,
        store: PassageStore,
        sources: Sequence[Source],
        temporal: TemporalSource,
        settings: RetrievalSettings,
        reranker: Reranker | None,
    ) -> None:
        self._store = store
        self._sources = {source.name: source for source in sources}
        self._temporal = temporal
        self._settings = settings
        self._reranker = reranker

    def over(self, store: PassageStore) -> Searcher:
        """The same search in another store, such as a limited view of the store. Only this searcher is closed."""
        return _make_searcher(self._temporal.hybrid.over(store), store, self._settings, self._reranker)

    def search(
        self, query: str, top_k: int, sources: Sequence[str] | None = None, added_words: Sequence[str] = ()
    ) -> list[Evidence]:
        selected = self._select(self._settings.sources if sources is None else sources)
        results = _search_deep_enough(query, selected, top_k, added_words)
        return self.rerank(query, self.fuse(results, max(RERANK_DEPTH, top_k)))[:top_k]

    @property
    def has_outdated_vectors(self) -> bool:
        return self._store.has_outdated_vectors

    def close(self) -> None:
        for source in self._sources.values():
            if close := getattr(source, "close", None):
                close()

    def find(self, source: str, query: str, limit: int, added_words: Sequence[str] = ()) -> list[RankedPassage]:
        """The results of one source, best first."""
        [selected] = self._select([source])
        return selected.search(query, limit, added_words)

    def find_recalled(
        self, query: str, passage_ids: Sequence[str], limit: int, added_words: Sequence[str] = ()
    ) -> list[RankedPassage]:
        """The results of the temporal source, among the passages of earlier questions."""
        return self._temporal.search(query, passage_ids, limit, added_words)

    def fuse(self, results: SourceResults, limit: int, priority: str = "") -> list[Evidence]:
        """Fuse the results of the sources. A text that occurs in several documents is used once."""
        distinct: dict[str, Evidence] = {}
        for item in fuse(results, self._settings.fusion, priority):
            if len(distinct) == limit:
                break
            distinct.setdefault(item.text, item)
        return list(distinct.values())

    def rerank(self, query: str, evidence: list[Evidence]) -> list[Evidence]:
        """Reorder the best by the reranker, if there is one. Relevance stays calibrated: only the order changes."""
        if not self._reranker or not evidence:
            return evidence
        return self._reranker.rerank(query, evidence[:RERANK_DEPTH]) + evidence[RERANK_DEPTH:]

    def _select(self, names: Sequence[str]) -> list[Source]:
        if not names:
            raise InputError(f"No source is named to search in; known: {', '.join(self._sources)}.")
        for name in names:
            if name not in self._sources:
                raise InputError(f'There is no source "{presentable(name)}"; known: {", ".join(self._sources)}.')
        return [self._sources[name] for name in dict.fromkeys(names)]


def make_searcher(
    store: PassageStore, embedder: Embedder, settings: RetrievalSettings, reranker: Reranker | None = None
) -> Searcher:
    return _make_searcher(HybridSearch(store, embedder, settings.vector_weight), store, settings, reranker)


def _make_searcher(
    hybrid: HybridSearch, store: PassageStore, settings: RetrievalSettings, reranker: Reranker | None
) -> Searcher:
    return Searcher(store, [hybrid, GraphSource(hybrid, store)], TemporalSource(hybrid, store), settings, reranker)


def _search_deep_enough(
    query: str, sources: Sequence[Source], top_k: int, added_words: Sequence[str]
) -> dict[str, list[RankedPassage]]:
    """Increase the depth until there are `top_k` distinct texts, since a text may occur in many documents."""
    depth = max(MIN_DEPTH, top_k)
    while True:
        results = {source.name: source.search(query, depth, added_words) for source in sources}
        texts = {result.passage.text for ranked in results.values() for result in ranked}
        if len(texts) >= top_k or depth >= MAX_DEPTH or all(len(ranked) < depth for ranked in results.values()):
            return results
        depth = min(MAX_DEPTH, depth * 4)
