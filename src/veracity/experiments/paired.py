"""Compares two experiments case by case: is B better than A, worse, equivalent, or can nobody tell yet?

Pass and fail are compared by the exact McNemar test where cases are independent, everything else by paired differences
with cluster-robust errors, or by exact sign flips of whole clusters if there are fewer than ten. Equivalence needs two
one-sided tests (TOST): the difference lies within the margin on both sides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # loads scipy.special when that is first used
from pydantic import BaseModel, ConfigDict

from veracity.experiments.intervals import (
    CONFIDENCE,
    FEW_CLUSTERS,
    Floats,
    Interval,
    cluster_sums,
    clustered_error,
    mean_interval,
    normal_quantile,
)

ALPHA = 1 - CONFIDENCE
POWER_QUANTILE = 0.8416  # of 80 % power
MAX_CASES_NEEDED = 1_000_000
FLIPS = "exact sign flips"

Verdict = Literal["better", "worse", "equivalent", "cannot tell"]


class PairedTest(BaseModel):
    """B against A on one measure. `difference` is B - A. `p` is two-sided; `adjusted_p` also considers how many
    measures were tested (Holm). `more_cases` estimates how many are missing for a verdict."""

    model_config = ConfigDict(frozen=True)

    measure: str
    a: float
    b: float
    difference: Interval
    margin: float
    p: float
    adjusted_p: float
    method: str
    verdict: Verdict
    more_cases: int | None = None


@dataclass(frozen=True, slots=True)
class _Margin:
    """What decides about equivalence: the margin, the 90 % interval, and the variance of one case's difference.
    `span` is the largest possible difference."""

    margin: float
    narrow: Interval
    variance: float
    span: float

    @property
    def contains_interval(self) -> bool:
        return -self.margin < self.narrow.low and self.narrow.high < self.margin


def compare_passes(
    a: Sequence[float], b: Sequence[float], clusters: Sequence[str], margin: float, measure: str = "passed"
) -> PairedTest:
    """Compare shares of repeats that passed, from 0 to 1, one value per case."""
    is_plain = len(set(clusters)) == len(clusters) and set(a) | set(b) <= {0.0, 1.0}
    if not is_plain:
        return compare_means(a, b, clusters, margin, measure, 1.0)
    gained = sum(1 for before, after in zip(a, b, strict=True) if after > before)
    lost = sum(1 for before, after in zip(a, b, strict=True) if after < before)
    wide, narrow = (paired_rate_interval(gained, lost, len(a), level) for level in (CONFIDENCE, 1 - 2 * ALPHA))
    variance = (gained + lost) / len(a) - ((gained - lost) / len(a)) ** 2
    bounds = _Margin(margin, narrow, variance, 1.0)
    return _decide(measure, a, b, wide, mcnemar(gained, lost), "exact McNemar", bounds)


def compare_means(
    a: Sequence[float], b: Sequence[float], clusters: Sequence[str], margin: float, measure: str, span: float
) -> PairedTest:
    """Compare one value per case. `span` is the largest possible difference."""
    differences, limits = [after - before for before, after in zip(a, b, strict=True)], (-span, span)
    wide, narrow = (mean_interval(differences, clusters, limits, level) for level in (CONFIDENCE, 1 - 2 * ALPHA))
    sums, sizes = cluster_sums(differences, clusters)
    variance = clustered_error(sums, sizes) ** 2 * len(a) if len(sums) > 1 else span**2
    if len(sums) < FEW_CLUSTERS:  # a bootstrap of so few is too narrow to show equivalence
        bounds = _Margin(margin, narrow.model_copy(update={"high": span}), variance, span)
        return _decide(measure, a, b, wide, sign_flips(sums), FLIPS, bounds)
    bounds = _Margin(margin, narrow, variance, span)
    return _decide(measure, a, b, wide, _t_test(sums, sizes), f"paired {wide.method}", bounds)


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p-value: pairs that changed are as likely to gain as to lose."""
    changed = gained + lost
    return 1.0 if changed == 0 else min(1.0, 2 * float(scipy.special.bdtr(min(gained, lost), changed, 0.5)))


def sign_flips(sums: Floats) -> float:
    """The exact two-sided p-value of a randomization test that flips the sign of whole clusters."""
    observed, signs = abs(sums.sum()), np.array(list(itertools.product((1, -1), repeat=len(sums))))
    return float((np.abs(signs @ sums) >= observed * (1 - 1e-9)).mean())


def paired_rate_interval(gained: int, lost: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """The adjusted Wald interval of Bonett and Price (2012) for the difference of two paired rates. It is not empty if
    nothing changed."""
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    half = normal_quantile(confidence) * math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    low, high = max(-1.0, up - down - half), min(1.0, up - down + half)
    return Interval(
        value=(gained - lost) / n, low=low, high=high, n=n, clusters=n, confidence=confidence, method="Bonett–Price"
    )


def adjust(tests: Sequence[PairedTest]) -> list[PairedTest]:
    """Holm's correction over these tests: the chance that any of them is wrongly significant stays below 5 %."""
    ordered, highest, adjusted = sorted(range(len(tests)), key=lambda index: tests[index].p), 0.0, {}
    for rank, index in enumerate(ordered):
        highest = max(highest, min(1.0, (len(tests) - rank) * tests[index].p))
        adjusted[index] = highest
    return [_with_p(test, adjusted[index]) for index, test in enumerate(tests)]


def cases_needed(difference: float, variance: float, margin: float, span: float) -> int | None:
    """How many cases give a verdict with 80 % power, if difference and variance (of one case) are as measured: that
    there is a difference, or that it is within the margin. None if it takes more than a million."""
    if variance == 0:  # the rule of three
        needed = math.log(2 * ALPHA) / math.log1p(-margin / span)
    else:
        shown = _needed(ALPHA / 2, variance, abs(difference))
        excluded = _needed(ALPHA, variance, margin - abs(difference))
        needed = min(shown, excluded)
    return math.ceil(needed) if needed <= MAX_CASES_NEEDED else None


def _needed(tail: float, variance: float, distance: float) -> float:
    return math.inf if distance <= 0 else (normal_quantile(1 - 2 * tail) + POWER_QUANTILE) ** 2 * variance / distance**2


def _t_test(sums: Floats, sizes: Floats) -> float:
    error, mean = clustered_error(sums, sizes), sums.sum() / sizes.sum()
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * scipy.special.stdtr(len(sums) - 1, -abs(mean) / error))


def _decide(
    measure: str, a: Sequence[float], b: Sequence[float], interval: Interval, p: float, method: str, bounds: _Margin
) -> PairedTest:
    verdict = _verdict(interval.value, p, bounds)
    more = None
    if verdict == "cannot tell":
        total = cases_needed(interval.value, bounds.variance, bounds.margin, bounds.span)
        more = None if total is None else max(1, total - interval.n)
    return PairedTest(
        measure=measure,
        a=float(np.mean(a)),
        b=float(np.mean(b)),
        difference=interval,
        margin=bounds.margin,
        p=p,
        adjusted_p=p,
        method=method,
        verdict=verdict,
        more_cases=more,
    )


def _verdict(difference: float, p: float, bounds: _Margin) -> Verdict:
    if p < ALPHA:
        return "better" if difference > 0 else "worse"
    return "equivalent" if bounds.contains_interval else "cannot tell"


def _with_p(test: PairedTest, adjusted: float) -> PairedTest:
    """A test that is significant only on its own cannot tell."""
    is_lost = test.p < ALPHA <= adjusted
    return test.model_copy(update={"adjusted_p": adjusted, "verdict": "cannot tell" if is_lost else test.verdict})
