"""How well passages are found: nDCG@10, recall@10, latency and ingest rate, beside BM25 on the same rows.

    python -m benchmarks.retrieval DIRECTORY [--sets scifact hotpotqa100 …] [--queries 300]

The directory holds sets as `NAME.corpus.jsonl` (`_id`, `title`, `text`), `NAME.queries.jsonl` (`_id`, `text`) and
`NAME.qrels.jsonl` (`query_id`, `doc_id`, `score`); VERACITY_DATA can name it as well. Documents are ranked by their
best passage. "both" counts the questions of which all relevant documents are in the top 10. Latencies are medians, the
embedding of the question included. "hybrid + links" is the graph source, which adds to hybrid scores what shared names
are worth; "both, by RRF" is what a search does unless told otherwise.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks.retrieval.sets import (
    NAMES,
    RetrievalSet,
    bm25_rankings,
    data_folder,
    load,
    ndcg,
    options,
    recall,
    workspace_of,
)
from veracity.engine import Veracity
from veracity.language import search_tokens
from veracity.retrieval import Searcher, make_searcher
from veracity.settings import RetrievalSettings

PASSAGES = 40  # of which the documents are taken


class LexicalReranker:
    """Share of the question's words in the passage, those in the same order counted twice. Kept for the record: it
    helps nothing, which is why it is not a part of the product."""

    name = "lexical"

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        wanted = search_tokens(query)
        pairs = set(pairwise(wanted))
        scored = []
        for passage in passages:
            found = search_tokens(passage)
            shared = len(set(wanted) & set(found)) / max(1, len(set(wanted)))
            scored.append(shared + len(pairs & set(pairwise(found))) / max(1, len(pairs)))
        return scored


def ways(engine: Veracity) -> dict[str, tuple[Searcher, list[str]]]:
    store, embedder = engine._library.store, engine._embedder

    def made(weight: float, reranker: LexicalReranker | None = None) -> Searcher:
        return make_searcher(store, embedder, RetrievalSettings(vector_weight=weight), reranker)

    usual = RetrievalSettings().vector_weight
    return {
        "full text": (made(0.0), ["knowledge"]),
        "vectors": (made(1.0), ["knowledge"]),
        "hybrid": (made(usual), ["knowledge"]),
        "hybrid + rerank": (made(usual, LexicalReranker()), ["knowledge"]),
        "hybrid + links": (made(usual), ["graph"]),
        "both, by RRF": (made(usual), ["knowledge", "graph"]),
    }


def measure(data: RetrievalSet, folder: Path) -> None:
    started = time.perf_counter()
    engine, report = workspace_of(data, folder)
    seconds = time.perf_counter() - started
    with engine:
        told = ""
        if report is not None:
            rate = report.passages / seconds
            told = f", {report.passages:,} passages, ingested {rate:,.0f} a second with the model's work"
        print(f"\n{data.name}: {len(data.corpus):,} documents{told}; {len(data.queries)} queries")
        print(f"  {'':16} {'nDCG@10':>8} {'against':>8} {'recall@10':>9} {'both':>5} {'ms':>6}")
        baseline = _show("BM25", data, bm25_rankings(data), 0.0, None)
        for name, (searcher, sources) in ways(engine).items():
            if name != "vectors" or data.language == "en":
                ranked, latency = _ranked(data, searcher, sources)
                _show(name, data, ranked, latency, baseline)


def _ranked(data: RetrievalSet, searcher: Searcher, sources: list[str]) -> tuple[list[list[str]], float]:
    ranked, times = [], []
    for query in data.queries:
        started = time.perf_counter()
        evidence = searcher.search(query["text"], PASSAGES, sources)
        times.append(time.perf_counter() - started)
        ranked.append(list(dict.fromkeys(item.document_id for item in evidence)))
    return ranked, statistics.median(times) * 1000


def _show(name: str, data: RetrievalSet, ranked: list[list[str]], latency: float, baseline: float | None) -> float:
    relevant = [data.relevant[query["_id"]] for query in data.queries]
    gain = statistics.mean(ndcg(one, wanted) for one, wanted in zip(ranked, relevant, strict=True))
    found = statistics.mean(recall(one, wanted) for one, wanted in zip(ranked, relevant, strict=True))
    both = sum(wanted.keys() <= set(one[:10]) for one, wanted in zip(ranked, relevant, strict=True))
    beside = "" if baseline is None else f"{gain - baseline:+.3f}"
    print(f"  {name:16} {gain:8.4f} {beside:>8} {found:9.3f} {both:5} {latency:6.1f}", flush=True)
    return gain


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=list(NAMES))
    given = parser.parse_args()
    folder = data_folder(given.directory)
    with tempfile.TemporaryDirectory() as scratch:
        for name in given.sets:
            measure(load(folder, name, given.queries), given.keep or Path(scratch))


if __name__ == "__main__":
    main()
