"""Finds a threshold of the gate with a promise: at most so many of the answers that are released unseen are wrong.

Learn-then-Test (Angelopoulos et al. 2021) with fixed sequences: thresholds are tested from a starting point downwards,
each with an exact binomial (Clopper–Pearson) bound, until one fails. The starting points depend on the scores and the
number of labels, never on the labels themselves; several of them share the error probability.

Labels come from people. Released answers are audited at random, held ones are all decided: held ones are thinned to the
rate of the audit, so that the labels are a fair sample of all answers with a score.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from veracity.experiments.intervals import upper_bound
from veracity.models.calibration import Certificate

STEP = 0.01  # between two thresholds
MANY_LABELS = 200  # from which on higher thresholds than the one in force are tried, too
STARTS = (1.0, 0.5, 0.25)  # shares of the labels above the starting points
SEED = 20211003


@dataclass(frozen=True, slots=True)
class Label:
    """A person's decision on an answer. `inclusion` is the probability with which somebody was asked at all."""

    score: float
    wrong: bool
    inclusion: float = 1.0
    language: str = ""


class Calibration(BaseModel):
    """`certificate` is None if the risk cannot be certified: `smallest_risk` can, at a starting point. `labels`
    counts those above it, `needed` how many would do if none was wrong."""

    model_config = ConfigDict(frozen=True)

    certificate: Certificate | None
    smallest_risk: float
    labels: int
    needed: int


def calibrate(
    labels: Sequence[Label], in_force: float, risk: float, confidence: float, seed: int = SEED
) -> Calibration:
    """Raises nothing: too few labels are a result, too."""
    fair = thin(labels, seed)
    starts = _starting_points(fair, in_force)
    level = 1 - (1 - confidence) / len(starts)
    return Calibration(
        certificate=_certify(fair, starts, risk, confidence, level),
        smallest_risk=min(_bound(fair, start, level) for start in starts),
        labels=sum(label.score >= in_force for label in fair),
        needed=least_labels(risk, confidence),
    )


def calibrate_languages(
    labels: Sequence[Label], in_force: float, risk: float, confidence: float, seed: int = SEED
) -> dict[str, Calibration]:
    """Calibrates every language with enough labels by itself, and all others together, under the name "".

    The groups share the error probability. So all their promises hold at once, and with them the promise about all
    answers. Which language is a group depends on the number of its labels, never on the labels themselves.
    """
    counts = Counter(label.language for label in labels if label.score >= in_force)
    level = 1 - (1 - confidence) / max(1, len({label.language for label in labels}))
    needed = least_labels(risk, level)
    groups: dict[str, list[Label]] = {}
    for label in labels:
        groups.setdefault(label.language if counts[label.language] >= needed else "", []).append(label)
    return {name: calibrate(group, in_force, risk, level, seed) for name, group in sorted(groups.items())}


def thin(labels: Sequence[Label], seed: int = SEED) -> list[Label]:
    """A sample of the labels in which every answer had the same chance to be."""
    lowest = min((label.inclusion for label in labels), default=1.0)
    generator = random.Random(seed)
    return [label for label in labels if generator.random() < lowest / label.inclusion]


def least_labels(risk: float, confidence: float) -> int:
    """The number of labels that certify the risk if none of them is wrong: 59 for 5 % and 95 %."""
    return math.ceil(math.log(1 - confidence) / math.log1p(-risk))


def _bound(labels: list[Label], threshold: float, level: float) -> float:
    above = [label for label in labels if label.score >= threshold]
    return upper_bound(sum(label.wrong for label in above), len(above), level) if above else 1.0


def _certify(
    labels: list[Label], starts: list[float], risk: float, confidence: float, level: float
) -> Certificate | None:
    """The lowest threshold that a sequence reaches."""
    reached = [found for start in starts if (found := _descend(labels, start, risk, level)) is not None]
    if not reached:
        return None
    lowest = min(reached)
    above = [label for label in labels if label.score >= lowest]
    wrong = sum(label.wrong for label in above)
    return Certificate(threshold=lowest, risk=risk, confidence=confidence, labels=len(above), wrong=wrong)


def _starting_points(labels: list[Label], in_force: float) -> list[float]:
    """The threshold in force and, with many labels, two above it."""
    scores = sorted((label.score for label in labels if label.score >= in_force), reverse=True)
    if len(scores) < MANY_LABELS:
        return [in_force]
    higher = [_floor(scores[int(share * len(scores)) - 1]) for share in STARTS[1:]]
    return list(dict.fromkeys([in_force, *(point for point in higher if point > in_force)]))


def _descend(labels: list[Label], start: float, risk: float, level: float) -> float | None:
    """The last threshold whose bound holds. Ends at the lowest score that was labelled: nothing is known below."""
    lowest = min((label.score for label in labels), default=1.0)
    ordered = sorted(labels, key=lambda label: -label.score)
    reached, threshold, index, wrong = None, start, 0, 0
    while threshold >= 0:
        while index < len(ordered) and ordered[index].score >= threshold:
            wrong += ordered[index].wrong
            index += 1
        if upper_bound(wrong, index, level) > risk:
            break
        reached = threshold
        if threshold <= lowest:
            break
        threshold = _floor(threshold - STEP / 2)
    return reached


def _floor(score: float) -> float:
    """The next lower threshold."""
    return round(math.floor(score / STEP + 1e-9) * STEP, 2)
