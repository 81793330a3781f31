"""Retrieval quality: nDCG@10, recall@10, latency and ingest rate, compared with BM25 on the same rows.

    python -m benchmarks.retrieval DIRECTORY [--sets scifact hotpotqa100 …] [--queries 300]

The directory holds sets as `NAME.corpus.jsonl` (`_id`, `title`, `text`), `NAME.queries.jsonl` (`_id`, `text`) and
`NAME.qrels.jsonl` (`query_id`, `doc_id`, `score`); VERACITY_DATA can name it as well. Documents are ranked by their
best passage. "both" counts the questions with all relevant documents in the top 10. Latencies are medians and include
embedding the question. "hybrid + links" is the graph source, which adds link scores to hybrid scores; "both, by RRF"
fuses the two, and "both, reranked" is the default search: the bundled reranker reads the best passages.
"""

from __future__ import annotations

import statistics
import tempfile
import time
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
from veracity.reranking import Reranker, make_reranker
from veracity.retrieval import Searcher, make_searcher
from veracity.settings import RetrievalSettings

PASSAGES = 40  # retrieved for each question


def search_variants(engine: Veracity) -> dict[str, tuple[Searcher, list[str]]]:
    store, embedder = engine._parts.library.store, engine._parts.embedder

    def make(weight: float, reranker: Reranker | None = None) -> Searcher:
        return make_searcher(store, embedder, RetrievalSettings(vector_weight=weight), reranker)

    usual = RetrievalSettings().vector_weight
    return {
        "full text": (make(0.0), ["knowledge"]),
        "vectors": (make(1.0), ["knowledge"]),
        "hybrid": (make(usual), ["knowledge"]),
        "hybrid + links": (make(usual), ["graph"]),
        "both, by RRF": (make(usual), ["knowledge", "graph"]),
        "both, reranked": (make(usual, make_reranker("bundled")), ["knowledge", "graph"]),
    }


def measure(data: RetrievalSet, folder: Path) -> None:
    started = time.perf_counter()
    engine, report = workspace_of(data, folder)
    seconds = time.perf_counter() - started
    with engine:
        ingested = ""
        if report is not None:
            rate = report.passages / seconds
            ingested = f", {report.passages:,} passages, ingested {rate:,.0f} a second, embedding included"
        print(f"\n{data.name}: {len(data.corpus):,} documents{ingested}; {len(data.queries)} queries")
        print(f"  {'':16} {'nDCG@10':>8} {'against':>8} {'recall@10':>9} {'both':>5} {'ms':>6}")
        baseline = _show("BM25", data, bm25_rankings(data), 0.0, None)
        for name, (searcher, sources) in search_variants(engine).items():
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
    gain = statistics.mean(ndcg(names, wanted) for names, wanted in zip(ranked, relevant, strict=True))
    recalled = statistics.mean(recall(names, wanted) for names, wanted in zip(ranked, relevant, strict=True))
    both = sum(wanted.keys() <= set(names[:10]) for names, wanted in zip(ranked, relevant, strict=True))
    difference = "" if baseline is None else f"{gain - baseline:+.3f}"
    print(f"  {name:16} {gain:8.4f} {difference:>8} {recalled:9.3f} {both:5} {latency:6.1f}", flush=True)
    return gain


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=list(NAMES))
    arguments = parser.parse_args()
    folder = data_folder(arguments.directory)
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.sets:
            measure(load(folder, name, arguments.queries), arguments.keep or Path(scratch))


if __name__ == "__main__":
    main()
