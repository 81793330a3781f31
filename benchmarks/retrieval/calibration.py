"""Calibration of relevance: fits the curves of `veracity.retrieval.hybrid` and prints reliability tables.

    python -m benchmarks.retrieval.calibration DIRECTORY [--keep DIR]

For every question, the best passage of each of the ten best documents is used, of the knowledge and of the graph
source; it counts as relevant if its document is. Each question is searched a second time with its relevant documents
hidden, since an unanswerable question must score low; these rows count half. (Not for rgb_zh, where many relevant
documents are not marked.) So do twenty questions of every other set of the language. No set counts for much more than
the others; one of them is the bundled handbook with `handbook.questions.jsonl`. The tables show, for the
coefficients in the package, how often passages of a given relevance were relevant.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.logistic import Numbers, fit_logistic
from benchmarks.retrieval.sets import LANGUAGES, NAMES, RetrievalSet, data_folder, handbook, load, options, workspace_of
from veracity.retrieval.hybrid import Candidates, HybridSearch, Match, Signals, relevance
from veracity.retrieval.sources import GraphSource

BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0001)
UNMARKED = ("rgb_zh",)
TOP = 10
UNRELATED = 20  # questions from each other set
MAX_ROWS = 400  # that a set counts for, so that large sets do not dominate


class Row(NamedTuple):
    set: str
    source: str
    signals: Signals
    is_relevant: bool
    weight: float


def rows_of(data: RetrievalSet, unrelated: Sequence[str], folder: Path) -> Iterator[Row]:
    """`unrelated` are questions that the documents do not answer."""
    engine, _ = workspace_of(data, folder)
    with engine:
        hybrid: HybridSearch = engine._parts.searcher._sources["knowledge"]  # type: ignore[assignment]
        graph: GraphSource = engine._parts.searcher._sources["graph"]  # type: ignore[assignment]
        for query in data.queries:
            relevant = data.relevant[query["_id"]]
            candidates = hybrid.find_candidates(query["text"])
            yield from _rows_of_question(data, hybrid, graph, candidates, relevant, 1.0)
            if data.name not in UNMARKED:
                yield from _rows_of_question(data, hybrid, graph, _without(candidates, relevant), relevant, 0.5)
        for text in unrelated:
            yield from _rows_of_question(data, hybrid, graph, hybrid.find_candidates(text), {}, 0.5)


def _rows_of_question(
    data: RetrievalSet,
    hybrid: HybridSearch,
    graph: GraphSource,
    candidates: Candidates,
    relevant: dict[str, float],
    weight: float,
) -> Iterator[Row]:
    question, matches = hybrid.score_candidates(candidates)
    hidden = weight < 1
    linked = graph.score(question, matches)
    lists = {
        "knowledge": matches,
        "graph": [match for match in linked if not (hidden and match.passage.document_id in relevant)],
    }
    for source, scored in lists.items():
        best = max((match.score for match in scored), default=0.0) or 1.0
        each_document: dict[str, Match] = {}
        for match in scored:
            each_document.setdefault(match.passage.document_id, match)
        for match in list(each_document.values())[:TOP]:
            signals = question.signals(match.hit, match.score / best)
            yield Row(data.name, source, signals, match.passage.document_id in relevant, weight)


def _without(candidates: Candidates, hidden: dict[str, float]) -> Candidates:
    return candidates._replace(
        by_words=[hit for hit in candidates.by_words if hit.passage.document_id not in hidden],
        by_vector=[hit for hit in candidates.by_vector if hit.passage.document_id not in hidden],
    )


def fit(rows: Sequence[Row], with_meaning: bool) -> Numbers:
    """Bias and coefficients of a logistic regression, by Newton's method."""
    columns = [
        [1.0, row.signals.words, row.signals.share, row.signals.meaning or 0.0][: 4 if with_meaning else 3]
        for row in rows
    ]
    table, wanted, weights = np.array(columns), np.array([row.is_relevant for row in rows], float), _weights(rows)
    return fit_logistic(table, wanted, weights, 1e-3)


def _weights(rows: Sequence[Row]) -> Numbers:
    total: dict[str, float] = {}
    for row in rows:
        total[row.set] = total.get(row.set, 0.0) + row.weight
    return np.array([row.weight * min(1.0, MAX_ROWS / total[row.set]) for row in rows])


def show_reliability(title: str, rows: Sequence[Row], language: str) -> None:
    predicted = np.array([relevance(row.signals, language) for row in rows])
    true, weights = np.array([row.is_relevant for row in rows], float), _weights(rows)
    cells = []
    for low, high in pairwise(BINS):
        here = (predicted >= low) & (predicted < high)
        share = f"{np.average(true[here], weights=weights[here]):.2f} ({here.sum()})" if here.any() else "–"
        cells.append(f"{share:>13}")
    print(f"  {title:26}", *cells)


def main() -> None:
    arguments = options(__doc__).parse_args()
    folder = data_folder(arguments.directory)
    with tempfile.TemporaryDirectory() as scratch:
        for language in ("en", "zh", "ja"):
            sets = [load(folder, name, arguments.queries) for name in NAMES if LANGUAGES.get(name, "en") == language]
            sets.append(handbook(language))
            rows: list[Row] = []
            for data in sets:
                others = [query["text"] for other in sets if other is not data for query in other.queries[:UNRELATED]]
                rows += rows_of(data, others, arguments.keep or Path(scratch))
            _print(rows, language)


def _print(rows: list[Row], language: str) -> None:
    known = [row for row in rows if row.source == "knowledge"]
    print(f"\n{language}: fitted bias, words, share: {np.round(fit(known, with_meaning=False), 2).tolist()}")
    print(f"    with meaning: {np.round(fit(known, with_meaning=True), 2).tolist()}")
    print(f"  {'relevance':26}", *(f"{f'{low:.1f} to {high:.1f}':>13}" for low, high in pairwise(BINS)))
    show_reliability("knowledge", known, language)
    show_reliability("graph", [row for row in rows if row.source == "graph"], language)
    for name in dict.fromkeys(row.set for row in rows):
        show_reliability(f"  {name}", [row for row in known if row.set == name], language)


if __name__ == "__main__":
    main()
