"""Cases of the benchmark: questions with the store to search, from the data sets and from the bundled handbook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.answers.evidence import CachingEmbedder, ItemStore, search_evidence
from benchmarks.answers.items import Item, Text, load
from benchmarks.retrieval.sets import documents, handbook
from veracity.models import Evidence

HANDBOOKS = ("handbook_en", "handbook_zh", "handbook_ja")

Case = tuple[Item, ItemStore]
CaseWithEvidence = tuple[Item, list[Evidence]]


def load_cases(folder: Path, name: str, embedder: CachingEmbedder) -> list[Case]:
    cases = list(_handbook_cases(name, embedder) if name in HANDBOOKS else _cases(folder, name, embedder))
    embedder.save()
    return cases


def load_cases_with_evidence(folder: Path, name: str, embedder: CachingEmbedder) -> list[CaseWithEvidence]:
    """The evidence of a single search: what the writer receives if the question is not rewritten."""
    cases = [(item, search_evidence(item, embedder, store)) for item, store in load_cases(folder, name, embedder)]
    embedder.save()
    return cases


def _cases(folder: Path, name: str, embedder: CachingEmbedder) -> Iterator[Case]:
    items, corpus = load(folder, name)
    whole = ItemStore(corpus.values(), embedder) if any(item.passages is None for item in items) else None
    for item in items:
        store = whole if item.passages is None else ItemStore(item.passages, embedder)
        assert store is not None
        yield item, store


def _handbook_cases(name: str, embedder: CachingEmbedder) -> Iterator[Case]:
    """Each question over the whole handbook, and again without the documents that answer it."""
    data = handbook(name.removeprefix("handbook_"))
    texts = [Text(document.id, document.title, document.text, document.markdown) for document in documents(data)]
    whole = ItemStore(texts, embedder)
    for query in data.queries:
        gold = frozenset(data.relevant[query["_id"]])
        rest = ItemStore([text for text in texts if text.id not in gold], embedder)
        for expected, store in ((gold, whole), (frozenset[str](), rest)):
            yield (
                Item(query["_id"], data.name, data.language, query["text"], None, bool(expected), gold=expected),
                store,
            )
