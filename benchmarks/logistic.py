"""Logistic regression with NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def fit_logistic(signals: Numbers, labels: Numbers, weights: Numbers, ridge: float) -> Numbers:
    """Returns the coefficients, by Newton's method. The bias is the coefficient of a column of ones in `signals`."""
    coefficients = np.zeros(signals.shape[1])
    for _ in range(50):
        predicted = 1 / (1 + np.exp(-signals @ coefficients))
        slope = signals.T @ (weights * (labels - predicted)) - ridge * coefficients
        curvature = (signals * (weights * predicted * (1 - predicted))[:, None]).T @ signals
        coefficients += np.linalg.solve(curvature + ridge * np.eye(len(coefficients)), slope)
    return coefficients
