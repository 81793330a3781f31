"""What every metric is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from veracity.errors import LackingContextError
from veracity.models import EvaluationRequest, MetricScore


class BaseMetric(ABC):
    """Subclass it and write `evaluate`. The class name is the metric's name; the docstring's first line its summary.

    One instance serves many evaluations, also at the same time: keep nothing of a request in `self`.
    """

    needs_context: ClassVar[bool] = False

    @abstractmethod
    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        """Judge `request.submission`. Raise what you like: the evaluation then fails, naming this metric."""

    def score(self, score: float, comment: str) -> MetricScore:
        """The result, named after this metric."""
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 100:
            raise ValueError(f"a score is a number from 0 to 100, not {score!r}")
        return MetricScore(metric_name=type(self).__name__, score=score, evaluator_comment=comment)

    def check(self, request: EvaluationRequest) -> None:
        """Raise where the request lacks what this metric looks at: nothing is scored for want of something to check."""
        if self.needs_context and not any(text.strip() for text in request.context):
            raise LackingContextError(
                f'The metric "{type(self).__name__}" needs the evidence the answer was given: '
                "pass it as context (--context FILE on the command line)."
            )
