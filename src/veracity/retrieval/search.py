"""A search from the question to the evidence: ask the sources, fuse what they found, rerank.

Each step can be had alone too, for who runs the sources as tasks of their own: `find`, `remembered`, `fuse`, `rerank`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from veracity.embedding import Embedder
from veracity.errors import InputError
from veracity.models import Evidence, EvidenceMetadata
from veracity.reranking import Reranker
from veracity.retrieval.base import Found, PassageStore, Source
from veracity.retrieval.fusion import Fused, Lists, fuse
from veracity.retrieval.hybrid import HybridSearch
from veracity.retrieval.sources import GraphSource, TemporalSource
from veracity.secrets import presentable
from veracity.settings import RetrievalSettings

DEPTH = 50  # how much of each source's list takes part in the fusion, at least
DEEPEST = 4000
RERANKED = 30


class Searcher:
    def __init__(
        self,
        sources: Sequence[Source],
        temporal: TemporalSource,
        settings: RetrievalSettings,
        reranker: Reranker | None,
    ) -> None:
        self._sources = {source.name: source for source in sources}
        self._temporal = temporal
        self._settings = settings
        self._reranker = reranker

    def search(
        self, query: str, top_k: int, sources: Sequence[str] | None = None, added: Sequence[str] = ()
    ) -> list[Evidence]:
        asked = self._named(self._settings.sources if sources is None else sources)
        fused = self.fuse(_deep_enough(query, asked, top_k, added), max(RERANKED, top_k))
        return self.rerank(query, fused)[:top_k]

    def close(self) -> None:
        for source in self._sources.values():
            if close := getattr(source, "close", None):
                close()

    def find(self, source: str, query: str, limit: int, added: Sequence[str] = ()) -> list[Found]:
        """What one source finds, the best first."""
        [asked] = self._named([source])
        return asked.search(query, limit, added)

    def remembered(self, query: str, passage_ids: Sequence[str], limit: int, added: Sequence[str] = ()) -> list[Found]:
        """What the temporal source finds among the passages of earlier questions."""
        return self._temporal.search(query, passage_ids, limit, added)

    def fuse(self, lists: Lists, limit: int, priority: str = "") -> list[Evidence]:
        """One list of what several sources found. A text that stands in several documents is taken once."""
        distinct: dict[str, Fused] = {}
        for one in fuse(lists, self._settings.fusion, priority):
            distinct.setdefault(one.passage.text, one)
        return [_evidence(one) for one in islice(distinct.values(), limit)]

    def rerank(self, query: str, fused: list[Evidence]) -> list[Evidence]:
        """In the order of the reranker, if one is set."""
        return _reranked(self._reranker, query, fused) if self._reranker and fused else fused

    def _named(self, names: Sequence[str]) -> list[Source]:
        if not names:
            raise InputError(f"No source is named to search in; there are: {', '.join(self._sources)}.")
        for name in names:
            if name not in self._sources:
                raise InputError(f'There is no source "{presentable(name)}"; there are: {", ".join(self._sources)}.')
        return [self._sources[name] for name in dict.fromkeys(names)]


def make_searcher(
    store: PassageStore, embedder: Embedder, settings: RetrievalSettings, reranker: Reranker | None = None
) -> Searcher:
    hybrid = HybridSearch(store, embedder, settings.vector_weight)
    return Searcher([hybrid, GraphSource(hybrid, store)], TemporalSource(hybrid, store), settings, reranker)


def _deep_enough(query: str, sources: Sequence[Source], top_k: int, added: Sequence[str]) -> dict[str, list[Found]]:
    """What each source finds. Where one text stands in many documents, it takes more of them to find enough others."""
    depth = max(DEPTH, top_k)
    while True:
        lists = {source.name: source.search(query, depth, added) for source in sources}
        texts = {one.passage.text for found in lists.values() for one in found}
        if len(texts) >= top_k or depth >= DEEPEST or all(len(found) < depth for found in lists.values()):
            return lists
        depth = min(DEEPEST, depth * 4)


def _reranked(reranker: Reranker, query: str, fused: list[Evidence]) -> list[Evidence]:
    """The reranker decides the order; relevance stays what it was, so that it means the same before and after."""
    head = fused[:RERANKED]
    scores = reranker.scores(query, [one.text for one in head])
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
