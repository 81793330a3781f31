"""Retrieves evidence for a question the way the product does: chunked, indexed, embedded and searched.

Only the store differs: it is in memory, because each question has its own.
"""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.answers.items import Item, Text
from veracity.embedding import Embedder
from veracity.knowledge.prepare import chunking_options, passage_context, prepare
from veracity.models import Evidence, Hit, Passage
from veracity.retrieval import make_searcher
from veracity.settings import Settings

K1, B = 1.2, 0.75  # of BM25
SETTINGS = Settings()


class CachingEmbedder:
    """Embeds each text once. Stores the vectors in `file`, if given."""

    def __init__(self, embedder: Embedder, file: Path | None) -> None:
        self._embedder = embedder
        self._file = file
        self._vectors: dict[str, Any] = pickle.loads(file.read_bytes()) if file and file.exists() else {}
        self.name, self.dimensions, self.covers = embedder.name, embedder.dimensions, embedder.covers

    def embed_passages(self, texts: Sequence[str]) -> Any:
        if new := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors.update(zip(new, self._embedder.embed_passages(new), strict=True))
        return np.array([self._vectors[text] for text in texts], np.float32).reshape(-1, self.dimensions)

    def embed_query(self, text: str) -> Any:
        return self.embed_passages([text])[0]

    def save(self) -> None:
        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_bytes(pickle.dumps(self._vectors))


class ItemStore:
    """An in-memory passage store with BM25 over words and names, and vectors."""

    version = 0
    has_outdated_vectors = False

    def __init__(self, texts: Iterable[Text], embedder: Embedder) -> None:
        self._hits = [hit for text in texts for hit in _make_hits(text)]
        covered = [hit for hit in self._hits if embedder.covers(hit.passage.text)]
        vectors = iter(embedder.embed_passages([_embedding_text(hit.passage) for hit in covered]))
        ids = {hit.passage.id for hit in covered}
        self._hits = [replace(hit, vector=next(vectors)) if hit.passage.id in ids else hit for hit in self._hits]
        self._words = _make_postings(self._hits, lambda hit: hit.words.split())
        self._entities = _make_postings(self._hits, lambda hit: hit.passage.entities)

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]:
        hits = self._by_terms(words, self._words, lambda hit: len(hit.words.split()))
        return [hit for hit in hits if language in (None, hit.passage.language)][:limit]

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]:
        return self._by_terms(names, self._entities, lambda hit: len(hit.passage.entities))[:limit]

    def by_ids(self, ids: Sequence[str]) -> list[Hit]:
        hits = {hit.passage.id: hit for hit in self._hits}
        return [hits[id_] for id_ in ids if id_ in hits]

    def by_vector(self, vector: Any, limit: int) -> list[Hit]:
        hits = [hit for hit in self._hits if hit.vector is not None]
        return sorted(hits, key=lambda hit: -float(vector @ hit.vector))[:limit]

    def words(self) -> Any:
        """The indexed words of each passage, for the vocabulary."""
        return pa.chunked_array([pa.array([hit.words for hit in self._hits], pa.string())])

    def languages(self) -> frozenset[str]:
        return frozenset(hit.passage.language for hit in self._hits)

    def _by_terms(
        self, terms: Sequence[str], postings: dict[str, dict[int, int]], length: Callable[[Hit], int]
    ) -> list[Hit]:
        total, scores = len(self._hits), defaultdict[int, float](float)
        average = sum(map(length, self._hits)) / max(1, total) or 1.0
        for term in dict.fromkeys(terms):
            posting = postings.get(term, {})
            rarity = log(1 + (total - len(posting) + 0.5) / (len(posting) + 0.5))
            for index, count in posting.items():
                scores[index] += (
                    rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * length(self._hits[index]) / average))
                )
        ranked = sorted(scores, key=lambda index: -scores[index])
        return [replace(self._hits[index], score=scores[index]) for index in ranked]


def _make_postings(hits: Sequence[Hit], terms: Callable[[Hit], Iterable[str]]) -> dict[str, dict[int, int]]:
    postings: dict[str, dict[int, int]] = defaultdict(dict)
    for index, hit in enumerate(hits):
        for term, count in Counter(terms(hit)).items():
            postings[term][index] = count
    return postings


def _make_hits(text: Text) -> Iterator[Hit]:
    content = {"text": text.text, "title": text.title, "markdown": text.markdown}
    for row in prepare(
        {**content, "format": "text", "pages": [], "digest": "", "chunking": chunking_options(SETTINGS.knowledge)}
    ).get("passages", []):
        passage = Passage(
            id=f"{text.id}.{row['key']}",
            text=text.text[row["start"] : row["end"]],
            document_id=text.id,
            title=text.title,
            location="",
            headings=tuple(row["headings"]),
            page=None,
            start=row["start"],
            end=row["end"],
            language=row["language"],
            entities=tuple(row["entities"]),
            metadata={},
        )
        yield Hit(passage, 0.0, row["words"], None)


def _embedding_text(passage: Passage) -> str:
    return "\n".join(filter(None, (passage_context(passage.title, passage.headings, passage.text), passage.text)))


def search_evidence(item: Item, embedder: Embedder, store: ItemStore) -> list[Evidence]:
    """The writer's evidence after a single search."""
    return make_searcher(store, embedder, SETTINGS.retrieval).search(item.question, SETTINGS.answering.evidence)
