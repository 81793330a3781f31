"""The evaluator: holds a workspace's configuration, keeps it fresh, and scores requests with it."""

from __future__ import annotations

import contextlib
import copy
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import islice
from pathlib import Path
from typing import Literal, TypeVar, overload

from pydantic import BaseModel, ConfigDict, Field

from veracity.deadlines import Deadline
from veracity.errors import ConfigurationError, EvaluationError, InputError, LackingContextError, VeracityError
from veracity.evaluator.judge import ROLE, Judge
from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.metrics.llm_metric import LLMMetric
from veracity.evaluator.plan import (
    Loaded,
    Plan,
    PlannedMetric,
    Sources,
    Terms,
    load,
    read_settled_sources,
    read_sources,
)
from veracity.evaluator.registry import Entry, registered
from veracity.llm import LLM, Budget
from veracity.models import (
    EvaluationConfig,
    EvaluationRequest,
    EvaluationResult,
    MetricConfig,
    MetricScore,
    MetricSet,
    Usage,
)
from veracity.secrets import presentable
from veracity.settings import Settings
from veracity.settings.toml import alternatives
from veracity.workers import Workers
from veracity.workspace import open_workspace


def chosen(names: Sequence[str], loaded: Loaded) -> EvaluationConfig:
    """Models and instructions are those of the workspace. Names come from anywhere."""
    known = {entry.name: entry for entry in loaded.registry}
    for name in names:
        if name not in known:
            raise InputError(f'There is no metric "{presentable(name)}"{alternatives(name, sorted(known))}.')
    configured = {metric.name: metric for metric in loaded.config.metrics}
    metrics = [configured.get(name, MetricConfig(name=name)) for name in dict.fromkeys(names)]
    for metric in metrics:
        if isinstance(known[metric.name].metric, LLMMetric):
            _require_judge(metric, loaded)
    equal = [metric.model_copy(update={"weight": None, "enabled": True}) for metric in metrics]
    return EvaluationConfig(metrics=equal, llm_default=loaded.config.llm_default)


def _require_judge(metric: MetricConfig, loaded: Loaded) -> None:
    named = metric.model or loaded.config.llm_default.model or loaded.settings.models.judge
    if not named and loaded.terms.only_named_judges:
        raise InputError(
            f'The metric "{metric.name}" needs a judge model, and none is set: set models.judge, or choose another.'
        )


class MetricDescription(BaseModel):
    """One metric. Those with a weight are in force."""

    model_config = ConfigDict(frozen=True)

    name: str
    summary: str
    origin: str = Field(description="built-in, registered from Python, or the file it stands in")
    judge: Literal["model", "local"]
    weight: float | None = None
    model: str | None = Field(default=None, description="the model that judges, where it is in force and has one")


class EvaluatorDescription(BaseModel):
    """`warnings` tell of a changed configuration that could not be taken: the last good one is in use then."""

    model_config = ConfigDict(frozen=True)

    metric_set: MetricSet
    metrics: list[MetricDescription]
    warnings: list[str] = []


def describe(loaded: Loaded, warnings: list[str]) -> EvaluatorDescription:
    plan = loaded.plan()
    told = [_described(entry, plan) for entry in loaded.registry]
    return EvaluatorDescription(metric_set=plan.metric_set, metrics=told, warnings=warnings)


def _described(entry: Entry, plan: Plan) -> MetricDescription:
    planned = next((one for one in plan.metrics if one.name == entry.name), None)
    return MetricDescription(
        name=entry.name,
        summary=entry.summary,
        origin=entry.origin,
        judge="model" if isinstance(entry.metric, LLMMetric) else "local",
        weight=planned.weight if planned else None,
        model=planned.judge.model if planned and planned.judge else None,
    )


A = TypeVar("A")
B = TypeVar("B")


def in_order(function: Callable[[A], B], items: Iterable[A], concurrency: int) -> Iterator[B]:
    """Items are drawn only as results are taken, so the input may be endless.

    Twice as many are under way or waiting as can run, so that one slow item does not leave the others idle.
    """
    source = iter(items)
    workers = Workers(concurrency, "veracity-batch")
    waiting: deque[Future[B]] = deque()

    def begin(item: A) -> Future[B]:
        return workers.submit(lambda _: function(item))

    failure: Exception | None = None

    def draw(count: int) -> None:
        """A source that fails is told after the results of what it gave before."""
        nonlocal failure
        try:
            for item in islice(source, count if failure is None else 0):
                waiting.append(begin(item))
        except Exception as problem:  # noqa: BLE001 - raised below
            failure = problem

    try:
        draw(2 * concurrency)
        while waiting:
            yield waiting.popleft().result()
            draw(1)
        if failure is not None:
            raise failure
    finally:
        for future in waiting:
            future.cancel()
        workers.close()


log = logging.getLogger("veracity.evaluator")


class Evaluator:
    """Scores submissions. Without a workspace: the default metrics, and settings from the environment alone.

    `metrics` are classes the configuration may name besides those it finds; `llm` replaces the door to the models
    (see `veracity.testing`). A changed file takes effect with the next evaluation. A file that became invalid raises;
    with `keep_last_good`, for servers, it is logged, told in `EvaluationResult.warnings`, and the last good one stays.
    `settings` stand in for those of the workspace. With `only_named_judges`, no model is asked that is not named
    somewhere, even if there is a key for the default one.
    """

    def __init__(
        self,
        workspace: Path | str | None = None,
        *,
        metrics: Sequence[type[BaseMetric]] = (),
        llm: LLM | None = None,
        keep_last_good: bool = False,
        settings: Settings | None = None,
        only_named_judges: bool = False,
    ) -> None:
        self._terms = Terms(settings, only_named_judges)
        self._workspace = None if workspace is None else open_workspace(workspace)
        self._handed_in = [registered(metric) for metric in metrics]
        self._keep_last_good = keep_last_good
        self._lock = threading.Lock()
        self._loaded = load(self._workspace, read_sources(self._workspace), self._handed_in, self._terms)
        self._refused: tuple[Sources, str] | None = None
        self._given_llm = llm
        self._llm = llm or LLM(self._loaded.settings.llm)

    def register(self, metric: type[BaseMetric]) -> type[BaseMetric]:
        """Make a metric known, so that a configuration may name it. Registering again replaces it."""
        entry = registered(metric)
        with self._lock:
            known = [*(other for other in self._handed_in if other.name != entry.name), entry]
            self._use(load(self._workspace, self._loaded.sources, known, self._terms))
            self._handed_in, self._refused = known, None
        return metric

    def evaluate(
        self, request: EvaluationRequest, *, budget: Budget | None = None, deadline: Deadline | None = None
    ) -> EvaluationResult:
        """Every metric's score, or an error: never a part of the result. Without a `budget`, that of the settings."""
        if not isinstance(request, EvaluationRequest):
            raise InputError(f"evaluate() takes an EvaluationRequest, not {type(request).__name__}.")
        started = time.perf_counter()
        loaded, llm, warnings = self._fresh()
        plan = loaded.plan(request.config)
        _check(request, plan, llm)
        ceiling = budget or Budget(loaded.settings.budget.tokens, loaded.settings.budget.cost_usd)
        scores = [_score(planned, request, llm, ceiling, deadline) for planned in plan.metrics]
        overall = math.fsum(score.score * planned.weight for score, planned in zip(scores, plan.metrics, strict=True))
        return EvaluationResult(
            metrics=scores,
            overall_score=round(overall, 6),  # thirds of 100 make 100
            metric_set=plan.metric_set,
            usage=sum((score.usage for score in scores), Usage()),
            seconds=time.perf_counter() - started,
            warnings=warnings,
        )

    @overload
    def evaluate_many(
        self, requests: Iterable[EvaluationRequest], *, concurrency: int = 4, return_errors: Literal[False] = False
    ) -> Iterator[EvaluationResult]: ...

    @overload
    def evaluate_many(
        self, requests: Iterable[EvaluationRequest], *, concurrency: int = 4, return_errors: Literal[True]
    ) -> Iterator[EvaluationResult | VeracityError]: ...

    def evaluate_many(
        self, requests: Iterable[EvaluationRequest], *, concurrency: int = 4, return_errors: bool = False
    ) -> Iterator[EvaluationResult] | Iterator[EvaluationResult | VeracityError]:
        """Results in the order of the requests, `concurrency` of them in work at once; requests are drawn as needed.

        The first error ends it, unless `return_errors`: then an error stands in its request's place.
        """
        if not isinstance(concurrency, int) or concurrency < 1:
            raise InputError(f"concurrency is {concurrency!r}: it must be a whole number, at least 1.")

        def evaluate(request: EvaluationRequest) -> EvaluationResult | VeracityError:
            try:
                return self.evaluate(request)
            except VeracityError as problem:
                if return_errors:
                    return problem
                raise

        return in_order(evaluate, requests, concurrency)

    def plan(self, config: EvaluationConfig | None = None) -> Plan:
        """The metrics that would run now, with their weights and models."""
        return self._fresh()[0].plan(config)

    def choose(self, names: Sequence[str]) -> EvaluationConfig:
        """A configuration for a request: these metrics, each as it is configured here, in equal parts."""
        return chosen(names, self._fresh()[0])

    def describe(self) -> EvaluatorDescription:
        """Every metric there is, those that would run now with their weights and models, and what to warn of."""
        loaded, _, warnings = self._fresh()
        return describe(loaded, warnings)

    @property
    def metrics(self) -> list[Entry]:
        """Every metric there is, with its origin."""
        return list(self._fresh()[0].registry)

    @property
    def settings(self) -> Settings:
        return self._fresh()[0].settings

    @property
    def llm(self) -> LLM:
        return self._fresh()[1]

    def close(self) -> None:
        """End the threads that talk to models. Optional: they end with the evaluator."""
        self._llm.close()

    def _fresh(self) -> tuple[Loaded, LLM, list[str]]:
        """The configuration as the files say it now, the models it is used with, and what to warn of."""
        with self._lock:
            try:
                self._refresh()
            except ConfigurationError as problem:
                if not self._keep_last_good:
                    raise
                return self._loaded, self._llm, [f"The last good configuration is in use, because: {problem}"]
            return self._loaded, self._llm, []

    def _refresh(self) -> None:
        sources = read_sources(self._workspace)
        if sources == self._loaded.sources:
            return
        if self._refused and self._refused[0] == sources:
            raise ConfigurationError(self._refused[1])  # once is enough to find out why, and to log it
        try:
            settled = read_settled_sources(self._workspace, self._loaded.sources)
            self._use(load(self._workspace, settled, self._handed_in, self._terms))
        except ConfigurationError as problem:
            self._refused = (sources, str(problem))
            log.warning("A change of the configuration was refused: %s", problem)
            raise

    def _use(self, loaded: Loaded) -> None:
        if self._given_llm is None and loaded.settings.llm != self._loaded.settings.llm:
            self._llm = LLM(loaded.settings.llm)
        self._loaded = loaded


def _check(request: EvaluationRequest, plan: Plan, llm: LLM) -> None:
    """All that can be known to fail before the first call is paid for."""
    if not request.submission.strip():
        raise InputError("The submission is empty: there is nothing to evaluate.")
    for planned in plan.metrics:
        with _naming(planned.name):
            planned.metric.check(request)
    for model in plan.models:
        llm.require(model, ROLE)


def _score(
    planned: PlannedMetric, request: EvaluationRequest, llm: LLM, budget: Budget, deadline: Deadline | None
) -> MetricScore:
    started = time.perf_counter()
    metric = planned.metric
    if planned.judge and isinstance(metric, LLMMetric):
        metric = copy.copy(metric)
        metric.judge = Judge(llm, planned.judge, budget, deadline)
    with _naming(planned.name):
        found = metric.evaluate(request)
        if not isinstance(found, MetricScore):
            raise TypeError(f"evaluate() returned {type(found).__name__}, not a MetricScore")
    known = {"metric_name": planned.name, "weight": planned.weight, "seconds": time.perf_counter() - started}
    return found.model_copy(update=known)


@contextlib.contextmanager
def _naming(metric_name: str) -> Iterator[None]:
    """Whatever a metric raises becomes an error that names it; that it lacks evidence names it already."""
    try:
        yield
    except LackingContextError:
        raise
    except VeracityError as problem:
        raise EvaluationError(metric_name, problem) from None
    except (Exception, SystemExit) as problem:
        raise EvaluationError(metric_name, problem) from problem
