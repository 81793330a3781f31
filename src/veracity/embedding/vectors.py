"""Checks what a model returns, and makes unit vectors of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from veracity.embedding.base import Vectors


def unit_vectors(rows: Any) -> Vectors | None:
    """None unless it is a table of finite numbers without rows of zeros."""
    try:
        vectors = np.asarray(rows, np.float64)
    except (TypeError, ValueError):  # not numbers, or rows of different length
        return None
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        return None
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    if not largest.all():
        return None
    vectors = vectors / largest  # or the squares of huge numbers would be infinite
    unit: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit
