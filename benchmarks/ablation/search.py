"""Search over documents in three languages: nDCG@10 of the handbook's questions, in each language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from benchmarks.ablation.items import Context, Item, Library
from benchmarks.conversation import PASSAGES
from benchmarks.retrieval.sets import handbook, ndcg
from veracity.language import Language


def search_handbook(context: Context, model: str) -> Iterator[Item]:
    library = context.library(handbook("en"), model)  # holds the documents in all languages
    for language in get_args(Language):
        data = handbook(language)
        for row in data.queries:
            yield Item(language, language, _Searched(library, row["text"], data.relevant[row["_id"]]))


class _Searched:
    def __init__(self, library: Library, question: str, relevant: dict[str, float]) -> None:
        self._library, self._question, self._relevant = library, question, relevant

    def __call__(self) -> Mapping[str, float]:
        """Searches again each time: the rule is a part of search."""
        found = self._library.searcher.search(self._question, PASSAGES)
        documents = list(dict.fromkeys(item.document_id for item in found))
        return {"handbook in three languages, nDCG": ndcg(documents, self._relevant)}
