"""Scores one request with the planned metrics, in their order (SPEC B12).

With `batch`, LLM metrics that share model, temperature, `max_tokens`, `max_retries` and `samples` are judged in one
call. A metric that overrides `LLMMetric.evaluate` is always judged alone.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from veracity.deadlines import Deadline, under
from veracity.errors import EvaluationError, InputError, LackingContextError, VeracityError
from veracity.evaluator.judge import ROLE, Judge
from veracity.evaluator.metrics.llm_metric import LLMMetric, batch_instructions, batch_prompt
from veracity.evaluator.plan import Plan, PlannedMetric
from veracity.llm import LLM, Budget
from veracity.models import EvaluationRequest, MetricScore

LOCAL_SECONDS = 5.0  # for a local metric, even if judges used up the time: a run that is late is scored all the same


@dataclass(frozen=True, slots=True)
class Scoring:
    request: EvaluationRequest
    plan: Plan
    llm: LLM
    budget: Budget
    deadline: Deadline | None = None
    batch: bool = False

    def check(self) -> None:
        """Raise for everything that is known to fail before the first paid call."""
        if not self.request.submission.strip():
            raise InputError("The submission is empty: pass the answer to score.", "empty")
        for planned in self.plan.metrics:
            with _naming(planned.name):
                planned.metric.check(self.request)
        for model in self.plan.models:
            self.llm.require(model, ROLE)

    def scores(self) -> list[MetricScore]:
        """One per metric. Raises `EvaluationError` with the name of the first metric that fails."""
        scores: dict[str, MetricScore] = {}
        for planned in self.plan.metrics:
            if planned.name in scores:
                continue
            (self.deadline or Deadline()).stop.check()
            together = [other for other in self.plan.metrics if self.batch and _share_call(planned, other)]
            scores |= self._score_together(together) if len(together) > 1 else self._score_alone(planned)
        return [scores[planned.name] for planned in self.plan.metrics]

    def _score_alone(self, planned: PlannedMetric) -> dict[str, MetricScore]:
        started = time.perf_counter()
        metric = planned.metric
        if planned.judge and isinstance(metric, LLMMetric):
            metric = copy.copy(metric)
            metric.judge = Judge(self.llm, planned.judge, self.budget, self.deadline)
        with _naming(planned.name), under(self._local_deadline()):
            score = metric.evaluate(self.request)
            if not isinstance(score, MetricScore):
                raise TypeError(f"evaluate() returned {type(score).__name__}, not a MetricScore")
        return {planned.name: _with_details(score, planned, time.perf_counter() - started)}

    def _local_deadline(self) -> Deadline:
        """The deadline of what a metric computes itself. `check_time` raises once it has passed."""
        given = self.deadline or Deadline()
        least = Deadline.within(LOCAL_SECONDS, given.stop, given.name)
        return max(given, least, key=lambda deadline: deadline.end)

    def _score_together(self, metrics: Sequence[PlannedMetric]) -> dict[str, MetricScore]:
        """Usage and time of the call are those of the first metric."""
        started = time.perf_counter()
        options = metrics[0].judge
        assert options is not None  # _share_call
        judge = Judge(self.llm, replace(options, system_instruction=None), self.budget, self.deadline)
        instructions = batch_instructions({planned.name: _instruction(planned) for planned in metrics})
        with _naming(", ".join(planned.name for planned in metrics)):
            judgements = judge.ask_together(
                [planned.name for planned in metrics], instructions, batch_prompt(self.request)
            )
        seconds = time.perf_counter() - started
        scores = {}
        for planned, judgement in zip(metrics, judgements, strict=True):
            scores[planned.name] = _with_details(planned.metric.judged(judgement, options.model), planned, seconds)  # type: ignore[attr-defined]
            seconds = 0.0
        return scores


def weighted_mean(scores: Sequence[MetricScore], weights: Sequence[float]) -> float:
    """Exact for the decimals that people write: three thirds of 75 are 75, and nothing below is rounded up to it."""
    if len(scores) == 1:
        return scores[0].score
    exact = [_as_written(weight) for weight in weights]
    total = sum(_as_written(score.score) * weight for score, weight in zip(scores, exact, strict=True))
    return float(total / sum(exact))


@lru_cache(maxsize=1024)
def _as_written(number: float) -> Fraction:
    return Fraction(str(number))


def _share_call(first: PlannedMetric, second: PlannedMetric) -> bool:
    if not (first.judge and second.judge and _may_share(first) and _may_share(second)):
        return False
    return replace(first.judge, system_instruction=None) == replace(second.judge, system_instruction=None)


def _may_share(planned: PlannedMetric) -> bool:
    return isinstance(planned.metric, LLMMetric) and type(planned.metric).evaluate is LLMMetric.evaluate


def _instruction(planned: PlannedMetric) -> str:
    own = planned.metric.system_instruction  # type: ignore[attr-defined]
    return (planned.judge and planned.judge.system_instruction) or own


def _with_details(score: MetricScore, planned: PlannedMetric, seconds: float) -> MetricScore:
    return score.model_copy(update={"metric_name": planned.name, "weight": planned.weight, "seconds": seconds})


@contextlib.contextmanager
def _naming(metric_name: str) -> Iterator[None]:
    """Turn whatever a metric raises into an error that names the metric."""
    try:
        yield
    except LackingContextError:
        raise
    except VeracityError as problem:
        raise EvaluationError(metric_name, problem) from None
    except (Exception, SystemExit) as problem:
        raise EvaluationError(metric_name, problem) from problem
