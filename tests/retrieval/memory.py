"""A passage store and an embedder in memory, for tests."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.embedding import Embedder
from veracity.language import entities, guess_language, search_tokens, title_entity
from veracity.models import Hit, Passage
from veracity.models.documents import MetadataValue
from veracity.retrieval import Searcher, make_searcher
from veracity.settings import RetrievalSettings

Vector = NDArray[np.float32]


class Concepts:
    """An embedder: words of one concept share a dimension, all other words the last one. Covers English by default."""

    def __init__(
        self,
        *concepts: str,
        name: str = "concepts",
        covers: Callable[[str], bool] = lambda text: guess_language(text) == "en",
    ) -> None:
        self.name = name
        self.dimensions = len(concepts) + 1
        self.covers = covers
        self._dimensions = {
            word: dimension for dimension, concept in enumerate(concepts) for word in search_tokens(concept, "en")
        }

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        return np.array([self.embed_query(text) for text in texts], np.float32).reshape(-1, self.dimensions)

    def embed_query(self, text: str) -> Vector:
        vector = np.zeros(self.dimensions, np.float32)
        for word in search_tokens(text, "en"):
            vector[self._dimensions.get(word, -1)] += 1 if word in self._dimensions else 0.01
        vector[-1] += 1e-3
        vector /= np.linalg.norm(vector)
        return vector


NO_EMBEDDER = Concepts(name="none", covers=lambda text: False)


def passage(
    text: str, document_id: str, title: str = "", metadata: dict[str, MetadataValue] | None = None, **others: Any
) -> Passage:
    language = guess_language(text)
    named = dict.fromkeys([*entities(text, language), *filter(None, [title_entity(title)])])
    return Passage(
        id=f"{document_id}.0",
        text=text,
        document_id=document_id,
        title=title,
        location="",
        headings=(),
        page=None,
        start=0,
        end=len(text),
        language=language,
        entities=tuple(named),
        metadata=metadata or {},
        **others,
    )


class MemoryStore:
    """A `PassageStore` with BM25 that ignores the length of passages."""

    has_outdated_vectors = False

    def __init__(self, embedder: Embedder = NO_EMBEDDER) -> None:
        self._embedder = embedder
        self.hits: dict[str, Hit] = {}
        self.version = 0
        self.queries: list[str] = []

    def add(self, *passages: Passage) -> None:
        for new in passages:
            language = guess_language(new.text)
            words = search_tokens(new.title, language) + search_tokens(new.text, language)
            vector = self._embedder.embed_query(new.text) if self._embedder.covers(new.text) else None
            self.hits[new.id] = Hit(new, 0.0, " ".join(words), vector)
        self.version += 1

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]:
        self.queries.append("words")
        wanted = [hit for hit in self.hits.values() if language in (None, hit.passage.language)]
        return self._by_terms(words, {hit.passage.id: hit.words.split() for hit in wanted}, limit)

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]:
        self.queries.append("entities")
        return self._by_terms(names, {name: hit.passage.entities for name, hit in self.hits.items()}, limit)

    def by_vector(self, vector: Any, limit: int) -> list[Hit]:
        self.queries.append("vector")
        near = [hit for hit in self.hits.values() if hit.vector is not None]
        return sorted(near, key=lambda hit: (-float(vector @ hit.vector), hit.passage.id))[:limit]

    def by_ids(self, ids: Sequence[str]) -> list[Hit]:
        self.queries.append("ids")
        return [self.hits[name] for name in ids if name in self.hits]

    def languages(self) -> frozenset[str]:
        return frozenset(hit.passage.language for hit in self.hits.values())

    def _by_terms(self, terms: Iterable[str], terms_by_id: dict[str, Sequence[str]], limit: int) -> list[Hit]:
        holders = Counter(term for words in terms_by_id.values() for term in set(words))
        rarity = {term: log(1 + len(self.hits) / holders[term]) for term in terms if term in holders}
        scores = {
            name: sum(rarity.get(term, 0.0) * count / (count + 1) for term, count in Counter(words).items())
            for name, words in terms_by_id.items()
        }
        best = sorted((name for name in scores if scores[name] > 0), key=lambda name: (-scores[name], name))
        return [
            Hit(self.hits[name].passage, scores[name], self.hits[name].words, self.hits[name].vector)
            for name in best[:limit]
        ]


def searcher_over(
    *passages: Passage, embedder: Embedder = NO_EMBEDDER, reranker: Any = None, **settings: Any
) -> tuple[Searcher, MemoryStore]:
    store = MemoryStore(embedder)
    store.add(*passages)
    return make_searcher(store, embedder, RetrievalSettings(**settings), reranker), store
