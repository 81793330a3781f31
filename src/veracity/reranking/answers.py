"""The scores in what a service answers: all of them, or none.

Knows the forms `{"results": […]}` (Cohere, Jina and those who follow them), `{"data": […]}` (Voyage) and the bare list
of Text Embeddings Inference. Knows nothing about how the answer came.
"""

from __future__ import annotations

import json
import math
from typing import Any


def read_scores(content: bytes, count: int) -> list[float] | None:
    """One score per passage, in the order the passages were sent; None where the answer does not hold exactly that."""
    try:
        entries = _entries(json.loads(content))
        scores = dict(_scored(entry) for entry in entries)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    whole = len(entries) == count and scores.keys() == set(range(count))
    return [scores[place] for place in range(count)] if whole else None


def _entries(document: Any) -> list[Any]:
    if isinstance(document, dict):
        document = document["results"] if "results" in document else document["data"]
    if not isinstance(document, list):
        raise TypeError
    return document


def _scored(entry: Any) -> tuple[int, float]:
    place, score = entry["index"], entry["relevance_score"] if "relevance_score" in entry else entry["score"]
    if type(place) is not int or type(score) not in (int, float) or not math.isfinite(score):
        raise ValueError
    return place, float(score)
