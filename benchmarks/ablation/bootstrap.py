"""The 95 % interval of a mean paired difference, by resampling the items with a fixed seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SAMPLES = 2000
CHUNK = 200  # samples drawn at once, which bounds the memory
SEED = 1


class Difference(NamedTuple):
    """`before` with the rule, `after` without it; `mean` is their difference: positive if the rule gains."""

    before: float
    after: float
    low: float
    high: float
    items: int
    changed: int

    @property
    def mean(self) -> float:
        return self.before - self.after

    @property
    def verdict(self) -> str:
        if self.low > 0:
            return "gains"
        return "harms" if self.high < 0 else "nothing"


def equal_weights(kinds: Sequence[str]) -> list[float]:
    """A weight for each item, with which every kind counts the same. Their mean is 1."""
    sizes = Counter(kinds)
    return [len(kinds) / len(sizes) / sizes[kind] for kind in kinds]


def compare(before: Sequence[float], after: Sequence[float], kinds: Sequence[str]) -> Difference:
    """Items are resampled within their kind."""
    weights, differences = np.array(equal_weights(kinds)), np.array(before) - np.array(after)
    low, high = _interval(differences, kinds) if differences.any() else (0.0, 0.0)
    with_rule, without = (float(np.mean(weights * np.array(scores))) for scores in (before, after))
    return Difference(with_rule, without, low, high, len(kinds), int(np.count_nonzero(differences)))


def _interval(differences: np.ndarray, kinds: Sequence[str]) -> tuple[float, float]:
    generator = np.random.default_rng(SEED)
    groups = [differences[np.array([kind == name for kind in kinds])] for name in sorted(set(kinds))]
    means = [
        np.mean([generator.choice(group, (CHUNK, len(group))).mean(axis=1) for group in groups], axis=0)
        for _ in range(SAMPLES // CHUNK)
    ]
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return float(low), float(high)
