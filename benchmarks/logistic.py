"""A logistic regression, small enough to need no library."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def fitted(signals: Numbers, true: Numbers, weights: Numbers, ridge: float) -> Numbers:
    """The coefficients, by Newton's method; a column of ones among the signals has the bias."""
    found = np.zeros(signals.shape[1])
    for _ in range(50):
        said = 1 / (1 + np.exp(-signals @ found))
        slope = signals.T @ (weights * (true - said)) - ridge * found
        curvature = (signals * (weights * said * (1 - said))[:, None]).T @ signals + ridge * np.eye(len(found))
        found += np.linalg.solve(curvature, slope)
    return found
