"""Fits the probability that a single sentence answers a question, from the bundled reader's score of it.

    python -m benchmarks.answers.sentences DATA

For the metric AnswersQuestion, which reads sentences without their document. Over the written questions of held-out
documents (`training/README.md` says how DATA is made): the unit that answers against another unit of its window, both
as likely. Prints bias, factor and AUC.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from training.corpus import STATEMENTS, read_windows
from training.sources import LANGUAGES
from training.written import read_written

from benchmarks.local_metrics import auc
from benchmarks.logistic import Numbers, fit_logistic
from veracity.answer_reader import Passage, make_answer_reader

SEED = 1
RIDGE = 1e-6


class Scored(NamedTuple):
    language: str
    answers: bool
    score: float


def score_units(data: Path) -> Iterator[Scored]:
    windows, chance = read_windows(data), random.Random(SEED)
    reader = make_answer_reader("bundled")
    assert reader is not None
    for question in read_written(windows):
        window = windows[question.window]
        if window.use != "held":
            continue
        kinds = enumerate(unit.kind for unit in window.units)
        others = [number for number, kind in kinds if kind in STATEMENTS and number not in question.units]
        drawn = [(number, True) for number in question.units[:1]]
        drawn += [(chance.choice(others), False)] if others else []
        for number, answers in drawn:
            [[score]] = reader.read(question.text, [Passage("", [("prose", window.units[number].text)])])
            yield Scored(window.language, answers, score)


def fit(scored: list[Scored]) -> Numbers:
    """Bias and factor. Both classes weigh the same."""
    labels = np.array([one.answers for one in scored], float)
    signals = np.array([[1.0, one.score] for one in scored])
    weights = np.where(labels == 1, 0.5 / labels.sum(), 0.5 / (1 - labels).sum())
    return fit_logistic(signals, labels, weights * len(scored), RIDGE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="with windows.jsonl.xz")
    scored = list(score_units(parser.parse_args().data))
    for name in (*LANGUAGES, "all"):
        mine = [one for one in scored if name in (one.language, "all")]
        bias, factor = fit(mine)
        right, wrong = ([one.score for one in mine if one.answers == answers] for answers in (True, False))
        print(f"{name:4}{len(mine):5}  bias {bias:.2f}  factor {factor:.2f}  AUC {auc(right, wrong):.3f}")


if __name__ == "__main__":
    main()
