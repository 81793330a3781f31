"""nDCG@10 of alternatives to the chosen tokenization and to the weighted sum of words and meaning.

    python -m benchmarks.retrieval.choices DIRECTORY [--keep DIR]

Tokenizers are compared by BM25 in memory (bm25s) over whole documents. Combinations of words and vectors are compared
on the candidates that the store returns for each question.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import bm25s
import numpy as np
import rjieba

from benchmarks.retrieval.sets import RetrievalSet, data_folder, load, ndcg, options, workspace_of
from veracity.language import content_tokens, search_tokens, tokens
from veracity.retrieval.fusion import RRF_K
from veracity.retrieval.hybrid import HybridSearch, similarity

Tokenize = Callable[[str], list[str]]
WEIGHTS = (0.3, 0.4, 0.5, 0.6)

TOKENIZERS: dict[str, dict[str, Tokenize]] = {
    "hotpotqa100": {
        "as shipped: without function words": lambda text: search_tokens(text, "en"),
        "without all common words": lambda text: content_tokens(text, "en"),
        "with all words": lambda text: tokens(text, "en"),
    },
    "mtrag": {
        "as shipped: without function words": lambda text: search_tokens(text, "en"),
        "without all common words": lambda text: content_tokens(text, "en"),
        "with all words": lambda text: tokens(text, "en"),
    },
    "rgb_zh": {
        "as shipped: words and words inside them": lambda text: search_tokens(text, "zh"),
        "words": lambda text: tokens(text, "zh"),
        "words but common ones": lambda text: content_tokens(text, "zh"),
        "rjieba as it is": lambda text: list(rjieba.cut(text)),
    },
    "jsquad": {
        "as shipped: pairs across scripts, kanji": lambda text: search_tokens(text, "ja"),
        "pairs within one script": lambda text: tokens(text, "ja"),
        "pairs within one script but common ones": lambda text: content_tokens(text, "ja"),
    },
}


def by_words(data: RetrievalSet, tokenize: Tokenize) -> float:
    index = bm25s.BM25(k1=1.2, b=0.75)
    names = [row["_id"] for row in data.corpus]
    index.index([tokenize(f"{row.get('title') or ''}\n{row['text']}") for row in data.corpus], show_progress=False)
    gains = []
    for query in data.queries:
        known = [word for word in dict.fromkeys(tokenize(query["text"])) if word in index.vocab_dict]
        scores = index.get_scores(known) if known else np.zeros(len(names))
        ranked = [names[place] for place in np.argsort(-scores, kind="stable")[:10]]
        gains.append(ndcg(ranked, data.relevant[query["_id"]]))
    return statistics.mean(gains)


def together(data: RetrievalSet, folder: Path) -> dict[str, float]:
    """Mean nDCG@10 of each way to add words and meaning."""
    engine, _ = workspace_of(data, folder)
    gains: dict[str, list[float]] = {}
    with engine:
        hybrid: HybridSearch = engine._parts.searcher._sources["knowledge"]  # type: ignore[assignment]
        for query in data.queries:
            for way, scores in _scored(hybrid, query["text"]).items():
                ranked = list(dict.fromkeys(name for name, _ in sorted(scores, key=lambda pair: -pair[1])))
                gains.setdefault(way, []).append(ndcg(ranked, data.relevant[query["_id"]]))
    return {way: statistics.mean(values) for way, values in gains.items()}


def _scored(hybrid: HybridSearch, query: str) -> dict[str, list[tuple[str, float]]]:
    """For each way, the documents of the passages and their scores."""
    candidates = hybrid.find_candidates(query)
    question, matches = hybrid.score_candidates(candidates)
    words = {hit.passage.id: hit.score / (question.best_words or 1) for hit in candidates.by_words}
    similarities = {
        match.passage.id: similarity(question.vector, match.hit.vector) / (question.best_meaning or 1)
        for match in matches
    }
    ranks = [_ranks(words), _ranks({hit.passage.id: similarities[hit.passage.id] for hit in candidates.by_vector})]

    def by_rank(name: str) -> float:
        return sum(1 / (RRF_K + rank[name]) for rank in ranks if name in rank)

    def by_score(name: str, weight: float) -> float:
        return (1 - weight) * words.get(name, 0.0) + weight * similarities[name]

    ways: dict[str, Callable[[str], float]] = {"RRF of both": by_rank}
    ways |= {f"{1 - weight:.1f} words + {weight:.1f} meaning": partial(by_score, weight=weight) for weight in WEIGHTS}
    return {
        way: [(match.passage.document_id, score(match.passage.id)) for match in matches] for way, score in ways.items()
    }


def _ranks(scores: dict[str, float]) -> dict[str, int]:
    return {name: place for place, name in enumerate(sorted(scores, key=lambda name: -scores[name]), 1)}


def main() -> None:
    arguments = options(__doc__).parse_args()
    folder = data_folder(arguments.directory)
    for name, tokenizers in TOKENIZERS.items():
        data = load(folder, name, arguments.queries)
        print(f"\n{name}, by words")
        for title, tokenize in tokenizers.items():
            print(f"  {title:42} {by_words(data, tokenize):.4f}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("scifact", "hotpotqa100", "mtrag", "cast22"):
            print(f"\n{name}, words and meaning")
            for title, gain in together(load(folder, name, arguments.queries), arguments.keep or Path(scratch)).items():
                print(f"  {title:42} {gain:.4f}", flush=True)


if __name__ == "__main__":
    main()
