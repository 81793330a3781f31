"""From a question to evidence from the web: looks it up, cuts the pages as documents are cut, ranks the passages.

They are scored as those of the store are, so that relevance means the same. Nothing of them is stored here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import log
from typing import Any

from veracity import telemetry
from veracity.deadlines import Deadline
from veracity.embedding import Embedder
from veracity.knowledge.prepare import context, prepare
from veracity.language import search_tokens
from veracity.models import Evidence, EvidenceMetadata, Hit, Passage, WebPage
from veracity.retrieval.base import Found
from veracity.retrieval.hybrid import HybridSearch
from veracity.settings import Settings
from veracity.websearch.search import LookedUp, WebSearch, make_web_search

# BM25, as the store weighs words: how soon repetition counts no more, and how much long passages lose.
REPETITION, LENGTH = 1.2, 0.75


class Gathered:
    """A `PassageStore` in memory. The hits come with their words, and with vectors where there are any."""

    version = 0

    def __init__(self, hits: Iterable[Hit]) -> None:
        self._hits = {hit.passage.id: hit for hit in hits}
        self._words = {name: Counter(hit.words.split()) for name, hit in self._hits.items()}

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]:
        held = {
            name: counted
            for name, counted in self._words.items()
            if language in (None, self._hits[name].passage.language)
        }
        return self._by_terms(words, held, limit)

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]:
        return self._by_terms(names, {name: Counter(hit.passage.entities) for name, hit in self._hits.items()}, limit)

    def by_vector(self, vector: Any, limit: int) -> list[Hit]:
        near = [hit for hit in self._hits.values() if hit.vector is not None]
        return sorted(near, key=lambda hit: (-float(vector @ hit.vector), hit.passage.id))[:limit]

    def by_ids(self, ids: Sequence[str]) -> list[Hit]:
        return [self._hits[name] for name in ids if name in self._hits]

    def languages(self) -> frozenset[str]:
        return frozenset(hit.passage.language for hit in self._hits.values())

    def _by_terms(self, terms: Sequence[str], held: dict[str, Counter[str]], limit: int) -> list[Hit]:
        mean = sum(counted.total() for counted in held.values()) / max(1, len(held)) or 1.0
        scores: defaultdict[str, float] = defaultdict(float)
        for term in dict.fromkeys(terms):
            holders = [name for name, counted in held.items() if term in counted]
            rarity = log(1 + (len(held) - len(holders) + 0.5) / (len(holders) + 0.5))
            for name in holders:
                count, length = held[name][term], held[name].total() / mean
                scores[name] += rarity * count / (count + REPETITION * (1 - LENGTH + LENGTH * length))
        best = sorted(scores, key=lambda name: (-scores[name], name))
        return [replace(self._hits[name], score=scores[name]) for name in best[:limit]]


SOURCE = "web"
PER_PAGE = 3  # passages, so that one page is not all there is
LONGEST_PAGE = 100_000  # characters that are looked at
EMBEDDED = 64  # passages that are compared by meaning: those that fit best by their words

UNREAD = "The web was searched, and none of the pages could be read."
BESIDE = "The web was searched, and no page that was found has to do with the question."


@dataclass(frozen=True, slots=True)
class FoundOnWeb:
    """`problem` is one sentence that says why there is no evidence; empty where there is."""

    evidence: list[Evidence]
    pages: list[WebPage]
    problem: str = ""


class WebLookups:
    """Holds threads and processes until it is closed."""

    def __init__(self, search: WebSearch, settings: Settings, embedder: Embedder) -> None:
        self.name = search.name
        self._search = search
        self._settings = settings
        self._embedder = embedder

    def look_up(self, query: str, question: str, deadline: Deadline) -> FoundOnWeb:
        """Searches for the query and ranks what comes of it by the question."""
        with telemetry.web_search(self.name) as span:
            found = self._look_up(query, question, deadline)
            span.looked_up(len(found.pages), len(found.evidence))
        return found

    def _look_up(self, query: str, question: str, deadline: Deadline) -> FoundOnWeb:
        found = self._search.look_up(query, deadline)
        pages = list(found.pages)
        hits: list[Hit] = []
        for one in found.found:
            if not (hits and deadline.has_passed):
                hits.extend(self._cut(one))
        if not hits:
            return FoundOnWeb([], pages, found.problem or UNREAD)
        evidence = [_evidence(one) for one in self._best(self._ranked(question, hits, deadline))]
        return FoundOnWeb(evidence, pages, "" if evidence else BESIDE)

    def close(self) -> None:
        self._search.close()

    def _cut(self, found: LookedUp) -> Iterator[Hit]:
        """The passages of a page, with the words by which they are found."""
        if found.text is None:
            return
        knowledge = self._settings.knowledge
        request = {
            "text": found.text.text[:LONGEST_PAGE],
            "title": found.page.title,
            "format": found.text.format,
            "markdown": found.text.markdown,
            "pages": found.text.pages,
            "digest": "",
            "cut": {
                "most": knowledge.passage_tokens,
                "overlap": min(knowledge.overlap_tokens, knowledge.passage_tokens // 2),
            },
        }
        prepared = prepare(request)
        for passage in prepared.get("passages", ()):
            yield Hit(_passage(found, prepared, passage), 0.0, passage["words"], None)

    def _ranked(self, question: str, hits: list[Hit], deadline: Deadline) -> list[Found]:
        if not deadline.has_passed:
            hits = self._embedded(question, hits)
        hybrid = HybridSearch(Gathered(hits), self._embedder, self._settings.retrieval.vector_weight)
        try:
            return hybrid.search(question, len(hits))
        finally:
            hybrid.close()

    def _embedded(self, question: str, hits: list[Hit]) -> list[Hit]:
        """Vectors for the passages that fit best by their words, and then for the first of all."""
        if not self._embedder.covers(question):
            return hits
        best = Gathered(hits).by_words(search_tokens(question), EMBEDDED)
        order = dict.fromkeys(hit.passage.id for hit in (*best, *hits))
        known = {hit.passage.id: hit for hit in hits}
        chosen = [known[name] for name in list(order)[:EMBEDDED] if self._embedder.covers(known[name].passage.text)]
        vectors = self._embedder.embed_passages([_read_with_context(hit.passage) for hit in chosen])
        known |= {hit.passage.id: replace(hit, vector=vector) for hit, vector in zip(chosen, vectors, strict=True)}
        return list(known.values())

    def _best(self, ranked: Iterable[Found]) -> Iterator[Found]:
        """So many as the writer is given, not too many of one page, and no text twice."""
        taken: Counter[str] = Counter()
        texts: set[str] = set()
        for one in ranked:
            if len(texts) == self._settings.answering.evidence:
                return
            if taken[one.passage.document_id] < PER_PAGE and one.passage.text not in texts:
                taken[one.passage.document_id] += 1
                texts.add(one.passage.text)
                yield one


def make_web_lookups(settings: Settings, embedder: Embedder) -> WebLookups | None:
    """None where the web is not to be searched."""
    search = make_web_search(settings)
    return WebLookups(search, settings, embedder) if search else None


def _passage(found: LookedUp, prepared: dict[str, Any], told: dict[str, Any]) -> Passage:
    """The id tells the same text of the same page again."""
    url = found.page.url
    return Passage(
        id=f"web-{blake2b(url.encode(), digest_size=8).hexdigest()}.{told['mark']}",
        text=prepared["text"][told["start"] : told["end"]],
        document_id=url,
        title=prepared["title"],
        location=url,
        headings=tuple(told["headings"]),
        page=told["page"],
        start=told["start"],
        end=told["end"],
        language=told["language"],
        entities=tuple(told["entities"]),
        metadata={"url": url, "kind": found.kind, "retrieved": found.page.retrieved.isoformat()},
    )


def _read_with_context(passage: Passage) -> str:
    above = context(passage.title, passage.headings, passage.text)
    return f"{above}\n{passage.text}" if above else passage.text


def _evidence(found: Found) -> Evidence:
    passage = found.passage
    known: dict[str, Any] = {**passage.metadata, "relevance_score": round(found.relevance, 4), "found_by": [SOURCE]}
    return Evidence(
        id=passage.id,
        text=passage.text,
        source=SOURCE,
        document_id=passage.document_id,
        title=passage.title,
        location=passage.location,
        headings=list(passage.headings),
        page=passage.page,
        start=passage.start,
        end=passage.end,
        language=passage.language,
        metadata=EvidenceMetadata.model_validate(known),
    )
