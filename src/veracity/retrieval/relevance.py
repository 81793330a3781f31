"""Relevance: the chance that a passage bears on a question, from how the two match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veracity.models import Hit

if TYPE_CHECKING:
    from veracity.retrieval.hybrid import Question


def relevance(question: Question, hit: Hit, words_score: float) -> float:
    return 0.5
