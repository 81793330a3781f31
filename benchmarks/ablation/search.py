"""Search over documents in three languages: nDCG@10 of the handbook's questions, in each language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from benchmarks.ablation.items import Context, Item
from benchmarks.conversation import PASSAGES
from benchmarks.retrieval.sets import handbook, ndcg
from veracity.language import Language


def search_handbook(context: Context, model: str) -> Iterator[Item]:
    for language in get_args(Language):
        data = handbook(language)
        library = context.library(handbook("en"), model)  # holds the documents in all languages
        for row in data.queries:
            relevant = data.relevant[row["_id"]]

            def score(text: str = row["text"], relevant: dict[str, float] = relevant) -> Mapping[str, float]:
                documents = (item.document_id for item in library.searcher.search(text, PASSAGES))
                return {"handbook in three languages, nDCG": ndcg(list(dict.fromkeys(documents)), relevant)}

            yield Item(language, language, score)
