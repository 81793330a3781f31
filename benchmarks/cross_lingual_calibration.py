"""Fits the curves for questions in another language than the documents, on XQuAD.

    python -m benchmarks.cross_lingual_calibration CLONES [--keep FOLDER] [--questions 300]

Prints the coefficients of `ACROSS` in `veracity.retrieval.hybrid` (is a passage relevant?), and for
`veracity.agents.extract.other_languages` the relevance from which a passage answers: the balanced accuracy over
questions whose document is there and the same questions without it, by threshold.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from benchmarks.cross_lingual import Question, Task, xquad_tasks
from benchmarks.logistic import Numbers, fit_logistic
from veracity.agents.extract.other_languages import rank_other_languages
from veracity.engine import Veracity
from veracity.models import Evidence
from veracity.retrieval.hybrid import HybridSearch

TOP = 10
RIDGE = 1e-3
THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)


class Row(NamedTuple):
    signals: list[float]
    is_wanted: bool
    weight: float


def relevance_rows(engine: Veracity, questions: Sequence[Question]) -> Iterator[Row]:
    """For the ten best passages of each question: words, share and meaning, whether it is the wanted one, and a weight.

    Once more without the wanted one, with half the weight: a question that nothing answers must score low.
    """
    hybrid: HybridSearch = engine._parts.searcher._sources["knowledge"]  # type: ignore[assignment]
    for question in questions:
        asked, matches = hybrid.match(question.text, TOP + 5)
        # A passage has a document_id, like the evidence that is made of it.
        wanted = [question.is_found(cast("Evidence", match.passage)) for match in matches]
        others = [match for match, is_wanted in zip(matches, wanted, strict=True) if not is_wanted]
        for found, flags, weight in ((matches, wanted, 1.0), (others, [False] * len(others), 0.5)):
            for match, is_wanted in list(zip(found, flags, strict=True))[:TOP]:
                signals = asked.signals(match.hit, match.score / found[0].score)
                yield Row([1.0, signals.words, signals.share, signals.meaning or 0.0], is_wanted, weight)


def answer_rows(engine: Veracity, questions: Sequence[Question]) -> Iterator[tuple[float, bool]]:
    """The relevance of the passage that is quoted, with the wanted document and without it."""
    embedder = engine._parts.embedder
    for question in questions:
        evidence = engine._parts.searcher.search(question.text, TOP)
        without = [item for item in evidence if not question.is_found(item)]
        for given, answers in ((evidence[:5], len(without) < len(evidence)), (without[:5], False)):
            if ranked := rank_other_languages(question.text, given, embedder):
                yield ranked[0].relevance, answers


def balanced(rows: Sequence[tuple[float, bool]], threshold: float) -> float:
    found = [relevance >= threshold for relevance, answers in rows if answers]
    refused = [relevance < threshold for relevance, answers in rows if not answers]
    return float(np.mean(found) + np.mean(refused)) / 2


def read_task(task: Task, folder: Path, count: int) -> tuple[list[Row], list[tuple[float, bool]]]:
    questions = random.Random(1).sample(task.questions, count)
    with Veracity(folder / re.sub(r"\W+", "_", task.name)) as engine:
        if not (folder / re.sub(r"\W+", "_", task.name) / "complete").exists():
            engine.add(task.documents)
        return list(relevance_rows(engine, questions)), list(answer_rows(engine, questions))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("--keep", type=Path, help="the workspaces that `benchmarks.cross_lingual` kept")
    parser.add_argument("--questions", type=int, default=300, help="of each task, at most")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        read = [read_task(task, folder, arguments.questions) for task in xquad_tasks(arguments.clones)]
    relevant = [row for rows, _ in read for row in rows]
    print("ACROSS: bias, words, share, meaning", np.round(fit(relevant), 2).tolist())
    print("\n| relevance of at least | XQuAD zh → en | XQuAD en → zh |\n|---|---|---|")
    for threshold in THRESHOLDS:
        cells = " | ".join(f"{balanced(rows, threshold):.3f}" for _, rows in read)
        print(f"| {threshold:.2f} | {cells} |")


def fit(rows: Sequence[Row]) -> Numbers:
    table, wanted, weights = zip(*rows, strict=True)
    return fit_logistic(np.array(table), np.array(wanted, float), np.array(weights), RIDGE)


if __name__ == "__main__":
    main()
