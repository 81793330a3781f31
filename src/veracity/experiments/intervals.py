"""Intervals for rates and means of cases. Every interval states its number of cases and its method.

Cases of one cluster (questions about one document, repeats of one case) are not independent. Means use cluster-robust
standard errors (Miller 2024, "Adding Error Bars to Evals"); below ten clusters, a bootstrap of whole clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy  # loads scipy.special when that is first used
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

CONFIDENCE = 0.95
FEW_CLUSTERS = 10  # below this number, standard errors of clusters are too small
BOOTSTRAP_SAMPLES = 4000
SEED = 20240826

Floats = NDArray[np.float64]
Bounds = tuple[float, float]


class Interval(BaseModel):
    """`value` lies between `low` and `high` with the stated confidence. `n` counts cases, `clusters` independent groups
    of them."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float
    high: float
    n: int
    clusters: int
    confidence: float = CONFIDENCE
    method: str


def rate_interval(successes: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """The Wilson interval of a rate of independent cases, of which there is at least one."""
    if successes in (0, n):
        return _alike(successes / n, n, n, (0.0, 1.0), confidence)
    z, share = normal_quantile(confidence), successes / n
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(
        value=share, low=center - half, high=center + half, n=n, clusters=n, confidence=confidence, method="Wilson"
    )


def mean_interval(
    values: Sequence[float], clusters: Sequence[str], bounds: Bounds, confidence: float = CONFIDENCE
) -> Interval:
    """The interval of the mean of at least one value. `clusters` names the cluster of each, `bounds` are the lowest and
    the highest possible value: with one cluster, nothing more is known."""
    data, sums, sizes = _by_cluster(values, clusters)
    mean, groups = float(data.mean()), len(sums)
    if groups > 1 and np.ptp(data) == 0:
        return _alike(mean, len(data), groups, bounds, confidence)
    if groups == 1:
        (low, high), method = bounds, "one cluster"
    elif groups < FEW_CLUSTERS:
        (low, high), method = _bootstrap(sums, sizes, confidence), "bootstrap"
    else:
        half = float(scipy.special.stdtrit(groups - 1, (1 + confidence) / 2)) * clustered_error(sums, sizes)
        low, high, method = mean - half, mean + half, "t"
    method = f"cluster-robust {method}" if 1 < groups < len(data) else method
    low, high = max(bounds[0], low), min(bounds[1], high)
    return Interval(value=mean, low=low, high=high, n=len(data), clusters=groups, confidence=confidence, method=method)


def share_interval(passed: Sequence[float], clusters: Sequence[str], confidence: float = CONFIDENCE) -> Interval:
    """The interval of a rate: Wilson's for independent cases that passed or failed, else that of the mean."""
    if len(set(clusters)) == len(passed) and all(value in (0.0, 1.0) for value in passed):
        return rate_interval(round(sum(passed)), len(passed), confidence)
    return mean_interval(passed, clusters, (0.0, 1.0), confidence)


def _alike(value: float, n: int, clusters: int, bounds: Bounds, confidence: float) -> Interval:
    """The rule of three in its exact form: if none of n cases differs, at most 1 - α^(1/n) of all cases do."""
    share = 1 - (1 - confidence) ** (1 / clusters)
    low, high = value - share * (value - bounds[0]), value + share * (bounds[1] - value)
    return Interval(
        value=value, low=low, high=high, n=n, clusters=clusters, confidence=confidence, method="rule of three"
    )


def upper_bound(failures: int, n: int, confidence: float) -> float:
    """The exact (Clopper–Pearson) upper bound of a failure rate, one-sided."""
    return 1.0 if failures >= n else float(scipy.special.betaincinv(failures + 1, n - failures, confidence))


def lower_bound(failures: int, n: int, confidence: float) -> float:
    """The exact (Clopper–Pearson) lower bound of a failure rate, one-sided."""
    return 0.0 if failures == 0 else float(scipy.special.betaincinv(failures, n - failures + 1, 1 - confidence))


def normal_quantile(confidence: float) -> float:
    """The two-sided quantile of the normal distribution."""
    return float(scipy.special.ndtri((1 + confidence) / 2))


def cluster_sums(values: Sequence[float], clusters: Sequence[str]) -> tuple[Floats, Floats]:
    """The sum and the size of each cluster."""
    _, sums, sizes = _by_cluster(values, clusters)
    return sums, sizes


def clustered_error(sums: Floats, sizes: Floats) -> float:
    """The cluster-robust standard error of the mean, with the correction for a finite number of clusters."""
    groups, mean = len(sums), sums.sum() / sizes.sum()
    residuals = sums - sizes * mean
    return float(np.sqrt((residuals**2).sum() * groups / (groups - 1)) / sizes.sum()) if groups > 1 else math.inf


def _by_cluster(values: Sequence[float], clusters: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    data = np.asarray(values, dtype=np.float64)
    _, group = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    return data, np.bincount(group, weights=data).astype(np.float64), np.bincount(group).astype(np.float64)


def _bootstrap(sums: Floats, sizes: Floats, confidence: float) -> Bounds:
    """Percentiles of the means of clusters drawn with replacement."""
    drawn = np.random.default_rng(SEED).integers(0, len(sums), (BOOTSTRAP_SAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
