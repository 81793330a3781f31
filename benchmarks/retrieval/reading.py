"""nDCG@10 of the default search reranked with the bundled answer reader, by weight and number of passages read.

    python -m benchmarks.retrieval.reading DIRECTORY [--sets clapnq mtrag …] [--queries 150] [--keep FOLDER]

The score of a passage is the log-odds of its relevance plus a weight times the best score that the reader gives to one
of its units. "fused" is the order without it. The interval is that of the gain with the weight and number in use.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Sequence
from itertools import product
from math import log
from pathlib import Path
from typing import NamedTuple

from benchmarks.retrieval.sets import NAMES, RetrievalSet, data_folder, load, ndcg, options, workspace_of
from veracity.answer_reader import UNREAD, Passage
from veracity.answer_reader.bundled import BundledReader
from veracity.reranking.bundled import MAX_READ, MAX_RELEVANCE, MIN_RELEVANCE, READING_WEIGHT
from veracity.retrieval import make_searcher
from veracity.settings import RetrievalSettings

PASSAGES = 40  # searched for each question
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4)
DEPTHS = (8, 12, 20)
SAMPLES = 2000  # of the bootstrap


class Read(NamedTuple):
    document: str
    relevance: float
    reading: float


class Question(NamedTuple):
    passages: Sequence[Read]  # those that were read, in the order of the search
    others: Sequence[str]  # the documents of the passages behind them
    relevant: dict[str, float]


def read(data: RetrievalSet, folder: Path) -> list[Question]:
    engine, _ = workspace_of(data, folder)
    reader, questions = BundledReader(), []
    with engine:
        searcher = make_searcher(engine._parts.library.store, engine._parts.embedder, RetrievalSettings())
        for query in data.queries:
            found = searcher.search(query["text"], PASSAGES)
            head = found[: max(DEPTHS)]
            readings = reader.read(query["text"], [Passage.of(item) for item in head])
            passages = [
                Read(item.document_id, item.metadata.relevance_score, max(scores, default=UNREAD))
                for item, scores in zip(head, readings, strict=True)
            ]
            others = [item.document_id for item in found[len(head) :]]
            questions.append(Question(passages, others, data.relevant[query["_id"]]))
    return questions


def gain(question: Question, depth: int, weight: float | None) -> float:
    """nDCG@10; without a weight in the order of the search."""
    head, rest = question.passages[:depth], question.passages[depth:]
    if weight is not None:
        head = sorted(head, key=lambda item: -_log_odds(item.relevance) - weight * item.reading)
    names = [*(item.document for item in (*head, *rest)), *question.others]
    return ndcg(list(dict.fromkeys(names)), question.relevant)


def _log_odds(relevance: float) -> float:
    share = min(MAX_RELEVANCE, max(MIN_RELEVANCE, relevance))
    return log(share / (1 - share))


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean."""
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(differences, k=len(differences))) for _ in range(SAMPLES))
    return means[int(0.025 * SAMPLES)], means[int(0.975 * SAMPLES)]


def print_set(name: str, questions: Sequence[Question]) -> None:
    fused = [gain(question, 0, None) for question in questions]
    print(f"\n{name}, {len(questions)} questions: fused {statistics.fmean(fused):.4f}")
    for depth, weight in product(DEPTHS, WEIGHTS):
        gains = [gain(question, depth, weight) for question in questions]
        line = f"  first {depth:2}, weight {weight:.1f}  {statistics.fmean(gains):.4f}"
        if (depth, weight) == (MAX_READ, READING_WEIGHT):
            differences = [after - before for after, before in zip(gains, fused, strict=True)]
            low, high = interval(differences)
            line += f"  in use: {statistics.fmean(differences):+.4f} ({low:+.4f} to {high:+.4f})"
        print(line, flush=True)


def main() -> None:
    parser = options(__doc__)
    parser.set_defaults(queries=150)
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=list(NAMES))
    chosen = parser.parse_args()
    folder = data_folder(chosen.directory)
    with tempfile.TemporaryDirectory() as scratch:
        for name in chosen.sets:
            print_set(name, read(load(folder, name, chosen.queries), chosen.keep or Path(scratch)))


if __name__ == "__main__":
    main()
