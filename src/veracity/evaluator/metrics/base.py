"""The base class of all metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from veracity.errors import LackingContextError
from veracity.models import EvaluationRequest, MetricScore


class BaseMetric(ABC):
    """Subclass it and implement `evaluate`. The class name is the metric's name, the docstring's first line is shown.

    One instance serves concurrent evaluations: keep no request data in `self`.
    """

    needs_context: ClassVar[bool] = False

    @abstractmethod
    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        """Score `request.submission`. If it raises, the evaluation fails and names this metric."""

    def score(self, score: float, comment: str) -> MetricScore:
        """The result under this metric's name. Raises `ValueError` unless `score` is from 0 to 100."""
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 100:
            raise ValueError(f"a score is a number from 0 to 100, not {score!r}")
        return MetricScore(metric_name=type(self).__name__, score=score, evaluator_comment=comment)

    def check(self, request: EvaluationRequest) -> None:
        """Raise `LackingContextError` if the metric needs evidence and the request has none."""
        if self.needs_context and not any(text.strip() for text in request.context):
            raise LackingContextError(
                f'The metric "{type(self).__name__}" needs the evidence of the answer: '
                "pass it as context (--context FILE on the command line)."
            )
