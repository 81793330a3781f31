"""Fits the probability that the evidence contains an answer, and measures it on held-out questions.

    python -m benchmarks.answers.calibration DIRECTORY [--others FOLDER] [--keep FOLDER]

FOLDER contains the sets of `benchmarks.answers.other_sources`. A logistic regression per language, in which answerable
and other questions of each set have the same weight, besides the weights below: those of the directory resemble what
the product is used for, and the few questions of the bundled handbook keep the curve from being as strict as the
hardest set requires. "held out" is the balanced accuracy over five folds, each measured with a fit on the other four.
The product's coefficients were set by hand close to the fitted ones; both are printed. The coefficient of the subject
mismatch is not fitted, because few questions have that signal. First the rules alone; then their log-odds in the
product with the score of the answer reader.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.answers.cases import CaseWithEvidence, load_cases_with_evidence
from benchmarks.answers.evidence import CachingEmbedder
from benchmarks.logistic import Numbers, fit_logistic
from benchmarks.retrieval.sets import data_folder, options
from veracity.agents.extract.answerability import (
    ANSWERABLE_THRESHOLD,
    MAX_RULES,
    Signals,
    answer_probability,
    compute_signals,
    rules_log_odds,
)
from veracity.agents.extract.candidates import rank_candidates
from veracity.answer_reader import UNREAD, make_answer_reader
from veracity.embedding import make_embedder
from veracity.language import Language

SETS: dict[Language, tuple[str, ...]] = {"en": ("clapnq", "mtrag_un"), "zh": ("rgb",), "ja": ("jsquad",)}
OTHER_SETS: dict[Language, tuple[str, ...]] = {
    "en": ("squad2", "xquad_en", "xquad_en_cut"),
    "zh": ("xquad_zh", "xquad_zh_cut", "cmrc", "cmrc_cut"),
    "ja": ("jaquad", "jaquad_cut"),
}
# The fitted signals: see the docstring.
FITTED: dict[Language, tuple[str, ...]] = {
    "en": ("fit", "relevance", "rank", "lead", "meaning"),
    "zh": ("fit", "agreement", "relevance", "topic_match", "rank", "lead"),
    "ja": ("fit", "relevance", "topic_match", "rank", "lead"),
}
WITH_READER = ("rules", "best_reading")
WEIGHTS = {"rgb": 8.0, "jsquad": 4.0, "clapnq": 2.0, "mtrag_un": 2.0}
HANDBOOK_WEIGHT = 0.3
FOLDS = 5
NO_CANDIDATES = Signals(0.0, meaning=0.0, best_reading=UNREAD, chosen_reading=UNREAD)
READER = make_answer_reader("bundled")
RIDGE = 1e-2


class Row(NamedTuple):
    set: str
    fold: int
    signals: Signals
    answerable: bool

    def value(self, name: str, language: Language) -> float:
        if name == "rules":
            return min(rules_log_odds(self.signals, language), MAX_RULES)
        return getattr(self.signals, name) or 0.0


def make_rows(name: str, cases: Sequence[CaseWithEvidence], embedder: CachingEmbedder) -> Iterator[Row]:
    for item, evidence in cases:
        keywords, ranked = rank_candidates(item.question, evidence, embedder, READER)
        fold = zlib.crc32(item.question.encode()) % FOLDS  # the same question is always in the same fold
        signals = compute_signals(keywords, ranked, evidence, embedder) if ranked else NO_CANDIDATES
        yield Row(name, fold, signals, item.answerable)


def make_table(rows: Sequence[Row], names: Sequence[str], language: Language) -> tuple[Numbers, Numbers, Numbers]:
    """Signals with a leading column of ones, labels, and weights."""
    signals = np.array([[1.0, *(row.value(name, language) for name in names)] for row in rows])
    labels = np.array([row.answerable for row in rows], float)
    sizes = {
        key: sum((row.set, row.answerable) == key for row in rows) for key in {(r.set, r.answerable) for r in rows}
    }
    weights = [
        200
        * (HANDBOOK_WEIGHT if row.set.startswith("handbook") else WEIGHTS.get(row.set, 1.0))
        / sizes[row.set, row.answerable]
        for row in rows
    ]
    return signals, labels, np.array(weights)


def print_fit(language: Language, rows: Sequence[Row], names: Sequence[str]) -> None:
    signals, labels, weights = make_table(rows, names, language)
    folds = np.array([row.fold for row in rows])
    held_out = np.zeros(len(rows))
    for fold in range(FOLDS):
        rest = folds != fold
        held_out[~rest] = signals[~rest] @ fit_logistic(signals[rest], labels[rest], weights[rest], RIDGE)
    curve = np.round(fit_logistic(signals, labels, weights, RIDGE), 2).tolist()
    print(f"\n{language}: fitted", dict(zip(("bias", *names), curve, strict=True)))
    product = np.array([answer_probability(row.signals, language) >= ANSWERABLE_THRESHOLD for row in rows])
    for name in dict.fromkeys(row.set for row in rows):
        of_set = np.array([row.set == name for row in rows])
        print(
            f"  {name:14} held out {balanced_accuracy(held_out[of_set] > 0, labels[of_set]):.3f}, "
            f"product {balanced_accuracy(product[of_set], labels[of_set]):.3f}"
        )


def balanced_accuracy(answered: NDArray[np.bool_], labels: Numbers) -> float:
    return float((answered[labels == 1].mean() + 1 - answered[labels == 0].mean()) / 2)


def load_rows(folder: Path, names: Sequence[str], embedder: CachingEmbedder) -> list[Row]:
    rows = [
        row for name in names for row in make_rows(name, load_cases_with_evidence(folder, name, embedder), embedder)
    ]
    embedder.save()
    return rows


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--others", type=Path)
    chosen = parser.parse_args()
    folder = data_folder(chosen.directory)
    keep: Path | None = chosen.keep
    embedder = CachingEmbedder(make_embedder("bundled"), keep / "vectors.pickle" if keep else None)
    for language, sets in SETS.items():
        rows = load_rows(folder, (*sets, f"handbook_{language}"), embedder)
        rows += load_rows(chosen.others, OTHER_SETS[language], embedder) if chosen.others else []
        alone = [row._replace(signals=row.signals._replace(best_reading=None)) for row in rows]
        print_fit(language, alone, FITTED[language])
        print_fit(language, rows, WITH_READER)


if __name__ == "__main__":
    main()
