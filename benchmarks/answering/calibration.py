"""Fits the curves by which the chance of an answer is told, and shows how they do on questions they were not fitted on.

    python -m benchmarks.answering.calibration DIRECTORY [--keep FOLDER]

A logistic regression for each language, in which both kinds of questions of each set weigh the same. The handbook that
comes with Veracity weighs three tenths: its few questions keep a curve from asking for as much as the hardest set does.
"others" is the balanced accuracy over five folds, each measured with what was fitted on the other four. What the
product uses was set by hand near to these, and the two are shown side by side. The coefficients of a lack, and of the
distance in Chinese, are not fitted, since few questions show any. In Chinese and Japanese the setting counts for less
than fitted here: no set asks what a document leaves out that is about the question otherwise.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.answering.__main__ import Case, cases
from benchmarks.answering.evidence import RememberingEmbedder
from benchmarks.logistic import Numbers, fitted
from benchmarks.retrieval.sets import data_folder, options
from veracity.agents.extract.answerability import ANSWERABLE, Signals, chance, signals_of
from veracity.agents.extract.candidates import ranked_candidates
from veracity.embedding import make_embedder
from veracity.language import Language

SETS: dict[Language, tuple[str, ...]] = {"en": ("clapnq", "mtrag_un"), "zh": ("rgb",), "ja": ("jsquad",)}
# What is fitted: see the remark beside the curves.
FITTED: dict[Language, tuple[str, ...]] = {
    "en": ("fit", "distance", "relevance", "meaning"),
    "zh": ("fit", "agreement", "setting"),
    "ja": ("fit", "distance", "relevance", "setting"),
}
HANDBOOK_WEIGHT = 0.3
FOLDS = 5
NOTHING_FOUND = Signals(0.0, meaning=0.0)

RIDGE = 1e-2


class Row(NamedTuple):
    set: str
    fold: int
    signals: Signals
    answerable: bool


def rows_of(name: str, given: Sequence[Case], embedder: RememberingEmbedder) -> Iterator[Row]:
    for item, evidence in given:
        wanted, ranked = ranked_candidates(item.question, evidence, embedder)
        fold = zlib.crc32(item.question.encode()) % FOLDS  # a question that is asked twice is in one fold
        signals = signals_of(wanted, ranked, evidence, embedder) if ranked else NOTHING_FOUND
        yield Row(name, fold, signals, item.answerable)


def table(rows: Sequence[Row], names: Sequence[str]) -> tuple[Numbers, Numbers, Numbers]:
    """Signals with a one before them, what is true, and what each row weighs."""
    signals = np.array([[1.0, *(getattr(row.signals, name) or 0.0 for name in names)] for row in rows])
    true = np.array([row.answerable for row in rows], float)
    sizes = {
        key: sum((row.set, row.answerable) == key for row in rows) for key in {(r.set, r.answerable) for r in rows}
    }
    weights = [
        200 * (HANDBOOK_WEIGHT if row.set.startswith("handbook") else 1.0) / sizes[row.set, row.answerable]
        for row in rows
    ]
    return signals, true, np.array(weights)


def tell(language: Language, rows: Sequence[Row], names: Sequence[str]) -> None:
    signals, true, weights = table(rows, names)
    folds = np.array([row.fold for row in rows])
    others = np.zeros(len(rows))
    for fold in range(FOLDS):
        kept = folds != fold
        others[~kept] = signals[~kept] @ fitted(signals[kept], true[kept], weights[kept], RIDGE)
    curve = np.round(fitted(signals, true, weights, RIDGE), 2).tolist()
    print(f"\n{language}: fitted", dict(zip(("bias", *names), curve, strict=True)))
    without = "meaning" not in names
    shown = [row.signals._replace(meaning=None) if without else row.signals for row in rows]
    product = np.array([chance(one, language) >= ANSWERABLE for one in shown])
    for name in dict.fromkeys(row.set for row in rows):
        here = np.array([row.set == name for row in rows])
        print(
            f"  {name:14} others {balanced(others[here] > 0, true[here]):.3f}, "
            f"the product's curve {balanced(product[here], true[here]):.3f}"
        )


def balanced(answered: NDArray[np.bool_], true: Numbers) -> float:
    return float((answered[true == 1].mean() + 1 - answered[true == 0].mean()) / 2)


def main() -> None:
    given = options(__doc__).parse_args()
    folder = data_folder(given.directory)
    keep: Path | None = given.keep
    embedder = RememberingEmbedder(make_embedder("bundled"), keep / "vectors.pickle" if keep else None)
    for language, sets in SETS.items():
        names = (*sets, f"handbook_{language}")
        rows = [row for name in names for row in rows_of(name, cases(folder, name, embedder), embedder)]
        embedder.save()
        tell(language, rows, FITTED[language])
        if language == "en":
            tell(language, rows, FITTED[language][:-1])


if __name__ == "__main__":
    main()
