"""From the passages of a question to evidence, as the product makes it: cut, indexed, embedded, searched.

Only the store differs: it is in memory, since there is one for each question. Knows nothing about answers.
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

from benchmarks.answering.sets import Item, Text
from veracity.embedding import Embedder
from veracity.knowledge.prepare import context, prepare
from veracity.models import Evidence, Hit, Passage
from veracity.retrieval import make_searcher
from veracity.settings import Settings

K1, B = 1.2, 0.75
SETTINGS = Settings()


class RememberingEmbedder:
    """Embeds each text once, and keeps the vectors in a file where one is named."""

    def __init__(self, embedder: Embedder, file: Path | None) -> None:
        self._embedder = embedder
        self._file = file
        self._known: dict[str, Any] = pickle.loads(file.read_bytes()) if file and file.exists() else {}
        self.name, self.dimensions, self.covers = embedder.name, embedder.dimensions, embedder.covers

    def embed_passages(self, texts: Sequence[str]) -> Any:
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known.update(zip(new, self._embedder.embed_passages(new), strict=True))
        return np.array([self._known[text] for text in texts], np.float32).reshape(-1, self.dimensions)

    def embed_query(self, text: str) -> Any:
        return self.embed_passages([text])[0]

    def save(self) -> None:
        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_bytes(pickle.dumps(self._known))


class ItemStore:
    """BM25 over words and names, and vectors, all in memory."""

    version = 0

    def __init__(self, texts: Iterable[Text], embedder: Embedder) -> None:
        self._hits = [hit for text in texts for hit in _hits(text)]
        covered = [hit for hit in self._hits if embedder.covers(hit.passage.text)]
        vectors = iter(embedder.embed_passages([_embedded(hit.passage) for hit in covered]))
        names = {hit.passage.id for hit in covered}
        self._hits = [replace(hit, vector=next(vectors)) if hit.passage.id in names else hit for hit in self._hits]
        self._words = _postings(self._hits, lambda hit: hit.words.split())
        self._entities = _postings(self._hits, lambda hit: hit.passage.entities)

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]:
        found = self._by_terms(words, self._words, lambda hit: len(hit.words.split()))
        return [hit for hit in found if language in (None, hit.passage.language)][:limit]

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]:
        return self._by_terms(names, self._entities, lambda hit: len(hit.passage.entities))[:limit]

    def by_ids(self, ids: Sequence[str]) -> list[Hit]:
        known = {hit.passage.id: hit for hit in self._hits}
        return [known[name] for name in ids if name in known]

    def by_vector(self, vector: Any, limit: int) -> list[Hit]:
        near = [hit for hit in self._hits if hit.vector is not None]
        return sorted(near, key=lambda hit: -float(vector @ hit.vector))[:limit]

    def languages(self) -> frozenset[str]:
        return frozenset(hit.passage.language for hit in self._hits)

    def _by_terms(
        self, terms: Sequence[str], postings: dict[str, dict[int, int]], length: Callable[[Hit], int]
    ) -> list[Hit]:
        total, scores = len(self._hits), defaultdict[int, float](float)
        usual = sum(map(length, self._hits)) / max(1, total) or 1.0
        for term in dict.fromkeys(terms):
            held = postings.get(term, {})
            rarity = log(1 + (total - len(held) + 0.5) / (len(held) + 0.5))
            for place, count in held.items():
                scores[place] += (
                    rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * length(self._hits[place]) / usual))
                )
        return [replace(self._hits[place], score=scores[place]) for place in sorted(scores, key=lambda at: -scores[at])]


def _postings(hits: Sequence[Hit], terms: Callable[[Hit], Iterable[str]]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for place, hit in enumerate(hits):
        for term, count in Counter(terms(hit)).items():
            found[term][place] = count
    return found


def _hits(text: Text) -> Iterator[Hit]:
    cut = {"most": SETTINGS.knowledge.passage_tokens, "overlap": SETTINGS.knowledge.overlap_tokens}
    known = {"text": text.text, "title": text.title, "markdown": text.markdown}
    for row in prepare({**known, "format": "text", "pages": [], "digest": "", "cut": cut}).get("passages", []):
        passage = Passage(
            id=f"{text.id}.{row['mark']}",
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


def _embedded(passage: Passage) -> str:
    return "\n".join(filter(None, (context(passage.title, passage.headings, passage.text), passage.text)))


def evidence_of(item: Item, embedder: Embedder, whole: ItemStore | None) -> list[Evidence]:
    """What the writer would be given; `whole` is the store of the corpus, for an item that names no passages."""
    store = ItemStore(item.passages, embedder) if item.passages is not None else whole
    assert store is not None
    return make_searcher(store, embedder, SETTINGS.retrieval).search(item.question, SETTINGS.answering.evidence)
