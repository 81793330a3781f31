"""The handbook that comes with Veracity as a set: each question over all of it, and once more without its document.

Knows nothing about how an answer is written.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.answering.evidence import ItemStore, RememberingEmbedder, evidence_of
from benchmarks.answering.sets import Item, Text
from benchmarks.retrieval.sets import documents, handbook
from veracity.models import Evidence

NAMES = ("handbook_en", "handbook_zh", "handbook_ja")


def handbook_cases(name: str, embedder: RememberingEmbedder) -> Iterator[tuple[Item, list[Evidence]]]:
    data = handbook(name.removeprefix("handbook_"))
    texts = [Text(document.id, document.title, document.text, document.markdown) for document in documents(data)]
    whole = ItemStore(texts, embedder)
    for query in data.queries:
        gold = frozenset(data.relevant[query["_id"]])
        rest = ItemStore([text for text in texts if text.id not in gold], embedder)
        for held, store in ((gold, whole), (frozenset[str](), rest)):
            item = Item(query["_id"], data.name, data.language, query["text"], None, bool(held), gold=held)
            yield item, evidence_of(item, embedder, store)
