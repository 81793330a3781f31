"""Does relevance mean what it says? Fits the curves of `veracity.retrieval.relevance`, and prints reliability tables.

    python -m benchmarks.retrieval.calibration DIRECTORY [--keep DIR]

For every question the ten best documents are taken, of the knowledge source and of the graph source, each with its
best passage; that counts as relevant when the document is. Each question is asked a second time with its relevant
documents hidden, since a question that cannot be answered must score low; these count half. (Not for rgb_zh: what is
not marked as relevant there often is.) So do twenty questions of every other set of the language. No set of a language
counts for much more than the others; the handbook that
comes with Veracity, with the questions beside this file, is one of them. The tables show, for the coefficients in the
package, how often passages of a given relevance were relevant.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import logistic
from benchmarks.logistic import Numbers
from benchmarks.retrieval.sets import LANGUAGES, NAMES, RetrievalSet, data_folder, handbook, load, options, workspace_of
from veracity.models import Hit
from veracity.retrieval.hybrid import Candidates, HybridSearch, Signals, relevance
from veracity.retrieval.sources import GraphSource

BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0001)
UNMARKED = ("rgb_zh",)
TOP = 10
STRANGERS = 20  # questions of each other set
MOST = 400  # rows that a set counts for, so that large sets do not drown small ones


class Row(NamedTuple):
    set: str
    source: str
    signals: Signals
    is_relevant: bool
    weight: float


def rows_of(data: RetrievalSet, strangers: Sequence[str], folder: Path) -> Iterator[Row]:
    """`strangers` are questions that the documents do not answer."""
    engine, _ = workspace_of(data, folder)
    with engine:
        hybrid: HybridSearch = engine._searcher._sources["knowledge"]  # type: ignore[assignment]
        graph: GraphSource = engine._searcher._sources["graph"]  # type: ignore[assignment]
        for query in data.queries:
            relevant = data.relevant[query["_id"]]
            given = hybrid.candidates(query["text"])
            yield from _of_one(data, hybrid, graph, given, relevant, 1.0)
            if data.name not in UNMARKED:
                yield from _of_one(data, hybrid, graph, _without(given, relevant), relevant, 0.5)
        for text in strangers:
            yield from _of_one(data, hybrid, graph, hybrid.candidates(text), {}, 0.5)


def _of_one(
    data: RetrievalSet,
    hybrid: HybridSearch,
    graph: GraphSource,
    given: Candidates,
    relevant: dict[str, float],
    weight: float,
) -> Iterator[Row]:
    question, matches = hybrid.weigh(given)
    hidden = weight < 1
    lists = {"knowledge": [(match.hit, match.score) for match in matches]}
    lists["graph"] = [
        (hit, score)
        for hit, score in graph.scored(question, matches)
        if not (hidden and hit.passage.document_id in relevant)
    ]
    for source, scored in lists.items():
        best = max((score for _, score in scored), default=0.0) or 1.0
        each_document: dict[str, tuple[Hit, float]] = {}
        for hit, score in scored:
            each_document.setdefault(hit.passage.document_id, (hit, score))
        for hit, score in list(each_document.values())[:TOP]:
            signals = question.signals(hit, score / best)
            yield Row(data.name, source, signals, hit.passage.document_id in relevant, weight)


def _without(given: Candidates, hidden: dict[str, float]) -> Candidates:
    return given._replace(
        by_words=[hit for hit in given.by_words if hit.passage.document_id not in hidden],
        by_vector=[hit for hit in given.by_vector if hit.passage.document_id not in hidden],
    )


def fitted(rows: Sequence[Row], with_meaning: bool) -> Numbers:
    """Bias and coefficients of a logistic regression, by Newton's method."""
    columns = [
        [1.0, row.signals.words, row.signals.share, row.signals.meaning or 0.0][: 4 if with_meaning else 3]
        for row in rows
    ]
    table, wanted, weights = np.array(columns), np.array([row.is_relevant for row in rows], float), _weights(rows)
    return logistic.fitted(table, wanted, weights, 1e-3)


def _weights(rows: Sequence[Row]) -> Numbers:
    total: dict[str, float] = {}
    for row in rows:
        total[row.set] = total.get(row.set, 0.0) + row.weight
    return np.array([row.weight * min(1.0, MOST / total[row.set]) for row in rows])


def show_reliability(title: str, rows: Sequence[Row], language: str) -> None:
    said = np.array([relevance(row.signals, language) for row in rows])
    true, weights = np.array([row.is_relevant for row in rows], float), _weights(rows)
    cells = []
    for low, high in pairwise(BINS):
        here = (said >= low) & (said < high)
        share = f"{np.average(true[here], weights=weights[here]):.2f} ({here.sum()})" if here.any() else "–"
        cells.append(f"{share:>13}")
    print(f"  {title:26}", *cells)


def main() -> None:
    given = options(__doc__).parse_args()
    folder = data_folder(given.directory)
    with tempfile.TemporaryDirectory() as scratch:
        for language in ("en", "zh", "ja"):
            sets = [load(folder, name, given.queries) for name in NAMES if LANGUAGES.get(name, "en") == language]
            sets.append(handbook(language))
            rows: list[Row] = []
            for data in sets:
                others = [query["text"] for other in sets if other is not data for query in other.queries[:STRANGERS]]
                rows += rows_of(data, others, given.keep or Path(scratch))
            _tell(rows, language)


def _tell(rows: list[Row], language: str) -> None:
    known = [row for row in rows if row.source == "knowledge"]
    print(f"\n{language}: fitted bias, words, share: {np.round(fitted(known, with_meaning=False), 2).tolist()}")
    if language == "en":
        print(f"    with meaning: {np.round(fitted(known, with_meaning=True), 2).tolist()}")
    print(f"  {'relevance':26}", *(f"{f'{low:.1f} to {high:.1f}':>13}" for low, high in pairwise(BINS)))
    show_reliability("knowledge", known, language)
    show_reliability("graph", [row for row in rows if row.source == "graph"], language)
    for name in dict.fromkeys(row.set for row in rows):
        show_reliability(f"  {name}", [row for row in known if row.set == name], language)


if __name__ == "__main__":
    main()
