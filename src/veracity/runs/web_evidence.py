"""Web evidence: searches the web, chunks the pages like documents, and ranks the passages by the question.

Passages get the same relevance scores as those of the store. Nothing is stored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from math import log
from typing import Any

from veracity import telemetry
from veracity.deadlines import Deadline
from veracity.embedding import Embedder
from veracity.graph.context import WebFindings
from veracity.knowledge.prepare import chunking_options, passage_context, prepare
from veracity.language import search_tokens
from veracity.models import Hit, Passage
from veracity.retrieval.base import RankedPassage
from veracity.retrieval.fusion import make_evidence
from veracity.retrieval.hybrid import HybridSearch
from veracity.settings import Settings
from veracity.websearch.search import WebHit, WebSearch, make_web_search

SOURCE = "web"
MAX_PASSAGES_PER_PAGE = 3  # leaves room for other pages
MAX_PAGE_LENGTH = 100_000  # characters
MAX_EMBEDDED = 64  # passages that get a vector: those that match best by their words
BM25_K1, BM25_B = 1.2, 0.75  # saturation and length normalisation, as in the store

NO_READABLE_PAGE = "None of the pages that were found could be read."
NO_RELEVANT_PAGE = "None of the pages that were found is about the question."


class WebEvidence:
    """Uses threads and processes until it is closed."""

    def __init__(self, search: WebSearch, settings: Settings, embedder: Embedder) -> None:
        self.name = search.name
        self._search = search
        self._settings = settings
        self._embedder = embedder

    def look_up(self, query: str, question: str, deadline: Deadline) -> WebFindings:
        """Search for the query, and rank the passages of the pages by the question."""
        with telemetry.web_search(self.name) as span:
            findings = self._look_up(query, question, deadline)
            span.set_web_results(len(findings.pages), len(findings.evidence))
        return findings

    def close(self) -> None:
        self._search.close()

    def _look_up(self, query: str, question: str, deadline: Deadline) -> WebFindings:
        results = self._search.search(query, deadline)
        pages = list(results.pages)
        hits: list[Hit] = []
        for page in results.hits:
            if not (hits and deadline.has_passed):
                hits.extend(self._passages(page))
        if not hits:
            return WebFindings([], pages, results.problem or NO_READABLE_PAGE)
        best = self._select(self._rank(question, hits, deadline))
        evidence = [make_evidence(hit.passage, hit.relevance, SOURCE, [SOURCE]) for hit in best]
        return WebFindings(evidence, pages, "" if evidence else NO_RELEVANT_PAGE)

    def _passages(self, hit: WebHit) -> Iterator[Hit]:
        if hit.text is None:
            return
        request = {
            "text": hit.text.text[:MAX_PAGE_LENGTH],
            "title": hit.page.title,
            "format": hit.text.format,
            "markdown": hit.text.markdown,
            "pages": hit.text.pages,
            "digest": "",
            "chunking": chunking_options(self._settings.knowledge),
        }
        prepared = prepare(request)
        for chunk in prepared.get("passages", ()):
            yield Hit(_passage(hit, prepared, chunk), 0.0, chunk["words"], None)

    def _rank(self, question: str, hits: list[Hit], deadline: Deadline) -> list[RankedPassage]:
        if not deadline.has_passed:
            hits = self._embed(question, hits)
        hybrid = HybridSearch(MemoryStore(hits), self._embedder, self._settings.retrieval.vector_weight)
        try:
            return hybrid.search(question, len(hits))
        finally:
            hybrid.close()

    def _embed(self, question: str, hits: list[Hit]) -> list[Hit]:
        """Add vectors to the passages that match best by their words, then to the first ones."""
        if not self._embedder.covers(question):
            return hits
        best = MemoryStore(hits).by_words(search_tokens(question), MAX_EMBEDDED)
        by_id = {hit.passage.id: hit for hit in hits}
        order = list(dict.fromkeys(hit.passage.id for hit in (*best, *hits)))[:MAX_EMBEDDED]
        chosen = [by_id[passage_id] for passage_id in order if self._embedder.covers(by_id[passage_id].passage.text)]
        vectors = self._embedder.embed_passages([_text_with_context(hit.passage) for hit in chosen])
        by_id |= {hit.passage.id: replace(hit, vector=vector) for hit, vector in zip(chosen, vectors, strict=True)}
        return list(by_id.values())

    def _select(self, ranked: Iterable[RankedPassage]) -> Iterator[RankedPassage]:
        """The passages for the writer, without duplicate texts and with a limit per page."""
        counts: Counter[str] = Counter()
        texts: set[str] = set()
        for hit in ranked:
            if len(texts) == self._settings.answering.evidence:
                return
            if counts[hit.passage.document_id] < MAX_PASSAGES_PER_PAGE and hit.passage.text not in texts:
                counts[hit.passage.document_id] += 1
                texts.add(hit.passage.text)
                yield hit


class MemoryStore:
    """A `PassageStore` in memory."""

    version = 0
    has_outdated_vectors = False

    def __init__(self, hits: Iterable[Hit]) -> None:
        self._hits = {hit.passage.id: hit for hit in hits}
        self._words = {passage_id: Counter(hit.words.split()) for passage_id, hit in self._hits.items()}

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]:
        counts = {
            passage_id: count
            for passage_id, count in self._words.items()
            if language in (None, self._hits[passage_id].passage.language)
        }
        return self._by_terms(words, counts, limit)

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]:
        counts = {passage_id: Counter(hit.passage.entities) for passage_id, hit in self._hits.items()}
        return self._by_terms(names, counts, limit)

    def by_vector(self, vector: Any, limit: int) -> list[Hit]:
        embedded = [hit for hit in self._hits.values() if hit.vector is not None]
        return sorted(embedded, key=lambda hit: (-float(vector @ hit.vector), hit.passage.id))[:limit]

    def by_ids(self, ids: Sequence[str]) -> list[Hit]:
        return [self._hits[passage_id] for passage_id in ids if passage_id in self._hits]

    def languages(self) -> frozenset[str]:
        return frozenset(hit.passage.language for hit in self._hits.values())

    def _by_terms(self, terms: Sequence[str], counts: dict[str, Counter[str]], limit: int) -> list[Hit]:
        """Rank the passages by BM25."""
        mean_length = sum(count.total() for count in counts.values()) / max(1, len(counts)) or 1.0
        scores: defaultdict[str, float] = defaultdict(float)
        for term in dict.fromkeys(terms):
            matching = [passage_id for passage_id, count in counts.items() if term in count]
            idf = log(1 + (len(counts) - len(matching) + 0.5) / (len(matching) + 0.5))
            for passage_id in matching:
                frequency, length = counts[passage_id][term], counts[passage_id].total() / mean_length
                scores[passage_id] += idf * frequency / (frequency + BM25_K1 * (1 - BM25_B + BM25_B * length))
        best = sorted(scores, key=lambda passage_id: (-scores[passage_id], passage_id))
        return [replace(self._hits[passage_id], score=scores[passage_id]) for passage_id in best[:limit]]


def make_web_evidence(settings: Settings, embedder: Embedder) -> WebEvidence | None:
    """None if no provider is configured."""
    search = make_web_search(settings)
    return WebEvidence(search, settings, embedder) if search else None


def _passage(hit: WebHit, prepared: dict[str, Any], chunk: dict[str, Any]) -> Passage:
    """The id is stable: the same text of the same page has the same id."""
    url = hit.page.url
    return Passage(
        id=f"web-{blake2b(url.encode(), digest_size=8).hexdigest()}.{chunk['key']}",
        text=prepared["text"][chunk["start"] : chunk["end"]],
        document_id=url,
        title=prepared["title"],
        location=url,
        headings=tuple(chunk["headings"]),
        page=chunk["page"],
        start=chunk["start"],
        end=chunk["end"],
        language=chunk["language"],
        entities=tuple(chunk["entities"]),
        metadata={"url": url, "kind": hit.kind, "retrieved": hit.page.retrieved.isoformat()},
    )


def _text_with_context(passage: Passage) -> str:
    context = passage_context(passage.title, passage.headings, passage.text)
    return f"{context}\n{passage.text}" if context else passage.text
