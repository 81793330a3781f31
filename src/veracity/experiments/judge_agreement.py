"""How far a judge agrees with people: kappa, both error rates, and the true pass rate that its verdicts imply."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from veracity.errors import InputError
from veracity.experiments.intervals import Interval, normal_quantile, rate_interval
from veracity.experiments.row_files import read_jsonl, validate_row
from veracity.experiments.suite import Label as Name
from veracity.experiments.suite import Text
from veracity.secrets import presentable

BOOTSTRAP_SAMPLES = 2000
CELLS = ((True, True), (True, False), (False, True), (False, False))
SEED = 1960
GATE_KAPPA, GATE_RATE = 0.4, 0.8  # the least lower bounds of kappa and of the share of bad answers that fail
ADVICE_KAPPA = 0.2

Trust = Literal["may gate", "may advise", "do not use"]


class LabelledAnswer(BaseModel):
    """A line of the labels. Without `label`, a person has not seen it: only the true pass rate uses it. Without
    `score`, the judge is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    id: Name
    question: Text
    submission: Text
    context: list[Text] = []
    label: Literal["pass", "fail"] | None = None
    score: float | None = Field(default=None, ge=0, le=1, allow_inf_nan=False)


class Agreement(BaseModel):
    """`prevalence` is the share of answers that people pass. `pass_rate` is that of all answers, labelled or not: the
    judge's, corrected by where it errs (prediction-powered)."""

    model_config = ConfigDict(frozen=True)

    labels: int
    unlabelled: int
    prevalence: float
    agreed: Interval
    kappa: Interval
    true_positive: Interval | None
    true_negative: Interval | None
    pass_rate: Interval
    judged_pass_rate: float
    trust: Trust
    sentence: str
    judge: str = ""


def read_labels(path: Path) -> Iterator[LabelledAnswer]:
    """Raises `InputError` with the place of a fault."""
    seen = set[str]()
    for place, row in read_jsonl(path):
        found = validate_row(LabelledAnswer, place, row)
        if found.id in seen:
            raise InputError(f'{place}: the id "{presentable(found.id)}" occurs twice: rename one.')
        seen.add(found.id)
        yield found


def measure_agreement(
    answers: list[LabelledAnswer], judge: Callable[[LabelledAnswer], float], threshold: float
) -> Agreement:
    """`judge` returns a score from 0 to 1. Raises `InputError` without labels, before anything is judged."""
    if all(answer.label is None for answer in answers):
        raise InputError('No answer has a label: add "label": "pass" or "fail" to some of them.')
    verdicts = [
        (answer.label, (judge(answer) if answer.score is None else answer.score) >= threshold) for answer in answers
    ]
    pairs = [(label == "pass", passed) for label, passed in verdicts if label is not None]
    unlabelled = [passed for label, passed in verdicts if label is None]
    good, bad = (
        [passed for is_good, passed in pairs if is_good],
        [not passed for is_good, passed in pairs if not is_good],
    )
    kappa = kappa_interval(pairs)
    positive, negative = (rate_interval(sum(some), len(some)) if some else None for some in (good, bad))
    trust = decide_trust(kappa, negative)
    return Agreement(
        labels=len(pairs),
        unlabelled=len(unlabelled),
        prevalence=len(good) / len(pairs),
        agreed=rate_interval(sum(is_good == passed for is_good, passed in pairs), len(pairs)),
        kappa=kappa,
        true_positive=positive,
        true_negative=negative,
        pass_rate=corrected_rate(pairs, unlabelled),
        judged_pass_rate=sum(passed for _, passed in verdicts) / len(verdicts),
        trust=trust,
        sentence=_sentence(trust, kappa, negative, len(pairs)),
    )


def kappa_of(pairs: list[tuple[bool, bool]]) -> float:
    """Cohen's kappa: 0 is chance, 1 agreement. 0 if one of them never varies, because then nothing is shown."""
    return _kappa([pairs.count(cell) for cell in CELLS])


def _kappa(counts: list[int]) -> float:
    both, only_first, only_second, neither = (count / sum(counts) for count in counts)
    first, second, agreed = both + only_first, both + only_second, both + neither
    chance = first * second + (1 - first) * (1 - second)
    return 0.0 if chance > 1 - 1e-12 else (agreed - chance) / (1 - chance)


def kappa_interval(pairs: list[tuple[bool, bool]]) -> Interval:
    """A bootstrap of the answers, with a fixed seed."""
    n, counts = len(pairs), [pairs.count(cell) for cell in CELLS]
    drawn = np.random.default_rng(SEED).multinomial(n, [count / n for count in counts], BOOTSTRAP_SAMPLES)
    low, high = np.quantile([_kappa(cells) for cells in drawn.tolist()], [0.025, 0.975])
    return Interval(value=_kappa(counts), low=float(low), high=float(high), n=n, clusters=n, method="bootstrap")


def corrected_rate(pairs: list[tuple[bool, bool]], unlabelled: list[bool]) -> Interval:
    """The prediction-powered interval (Angelopoulos et al. 2023): the judge's rate on what nobody has labelled, plus
    the mean error of the judge on what people have. Without unlabelled answers, the rate of the labels."""
    labels = np.array([float(is_good) for is_good, _ in pairs])
    if not unlabelled:
        return rate_interval(int(labels.sum()), len(labels))
    judged = np.array([float(passed) for _, passed in pairs])
    others, errors = np.array(unlabelled, dtype=float), labels - judged
    value = float(others.mean() + errors.mean())
    # One pseudo-observation each, so that a sample without variance does not make the judge infallible.
    variance = (errors.var() + 1 / len(errors)) / len(errors) + others.var() / len(others)
    half = normal_quantile(0.95) * math.sqrt(variance)
    low, high = max(0.0, value - half), min(1.0, value + half)
    n = len(pairs) + len(unlabelled)
    return Interval(value=min(1.0, max(0.0, value)), low=low, high=high, n=n, clusters=n, method="prediction-powered")


def decide_trust(kappa: Interval, negative: Interval | None) -> Trust:
    """By the lower bounds: a few labels are no reason to trust."""
    if kappa.low >= GATE_KAPPA and negative is not None and negative.low >= GATE_RATE:
        return "may gate"
    return "may advise" if kappa.low >= ADVICE_KAPPA else "do not use"


def _sentence(trust: Trust, kappa: Interval, negative: Interval | None, labels: int) -> str:
    verb = "should not be used" if trust == "do not use" else trust
    found = "no bad answer was labelled"
    if negative:
        least = f"at least {100 * negative.low:.0f} %, 95 % sure"
        found = f"it fails {100 * negative.value:.0f} % of the bad answers ({least})"
    return f"This judge {verb}: kappa {kappa.value:.2f} (at least {kappa.low:.2f}), {found}, {labels} labels."
