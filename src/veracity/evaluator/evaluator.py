"""The evaluator: loads a workspace's metrics, reloads them when files change, and scores requests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar, overload

from pydantic import BaseModel, ConfigDict, Field

from veracity import telemetry
from veracity.batches import map_in_order
from veracity.deadlines import NEVER, Deadline, Stop
from veracity.errors import ConfigurationError, InputError, VeracityError
from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.metrics.llm_metric import LLMMetric
from veracity.evaluator.plan import (
    Loaded,
    Plan,
    Sources,
    Terms,
    load,
    read_sources,
    read_stable_sources,
)
from veracity.evaluator.registry import Entry, registered
from veracity.evaluator.scoring import Scoring, weighted_mean
from veracity.llm import LLM, Budget
from veracity.models import (
    NOTHING_USED,
    EvaluationConfig,
    EvaluationRequest,
    EvaluationResult,
    MetricConfig,
    MetricSet,
)
from veracity.secrets import presentable
from veracity.settings import Settings
from veracity.settings.toml import alternatives
from veracity.workspace import open_workspace

log = logging.getLogger("veracity.evaluator")

A = TypeVar("A")
B = TypeVar("B")


class MetricDescription(BaseModel):
    """One metric. Only metrics in use have a weight."""

    model_config = ConfigDict(frozen=True)

    name: str
    summary: str
    origin: str = Field(description="built-in, registered from Python, or its file")
    judge: Literal["model", "local"]
    weight: float | None = None
    model: str | None = Field(default=None, description="the judge model of a metric in use")


class EvaluatorDescription(BaseModel):
    """`warnings` report a changed configuration that is invalid; the last valid one is in use."""

    model_config = ConfigDict(frozen=True)

    metric_set: MetricSet
    metrics: list[MetricDescription]
    warnings: list[str] = []


class Evaluator:
    """Scores submissions. Without a workspace it uses the default metrics and settings from the environment.

    `metrics` are additional classes that a configuration may name. `llm` replaces the model client (see
    `veracity.testing`), `settings` those of the workspace. A changed file takes effect with the next evaluation. A file
    that became invalid raises; with `keep_last_good`, for servers, the last valid configuration stays in use, with a
    log line and a warning in the result. With `only_named_judges`, no default judge model is called, even if its key is
    set.
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
        self._registered = [registered(metric) for metric in metrics]
        self._keep_last_good = keep_last_good
        self._reloads = True
        self._lock = threading.Lock()
        self._loaded = load(self._workspace, read_sources(self._workspace), self._registered, self._terms)
        self._refused: tuple[Sources, str] | None = None
        self._custom_llm = llm
        self._llm = llm or _make_llm(self._loaded.settings)

    def register(self, metric: type[BaseMetric]) -> type[BaseMetric]:
        """Add a metric class, so that a configuration may name it. Registering again replaces it."""
        entry = registered(metric)
        with self._lock:
            entries = [*(other for other in self._registered if other.name != entry.name), entry]
            self._use(load(self._workspace, self._loaded.sources, entries, self._terms))
            self._registered, self._refused = entries, None
        return metric

    def evaluate(
        self,
        request: EvaluationRequest,
        *,
        budget: Budget | None = None,
        deadline: Deadline | None = None,
        batch: bool = False,
        stop: Stop = NEVER,
    ) -> EvaluationResult:
        """Score with every metric, or raise: there are no partial results. `budget` and `deadline` default to the
        settings'.

        With `batch`, metrics with the same judge are asked in one call, with excerpts of long evidence (SPEC B12).
        `stop` ends it from another thread, instead of the signal of the `deadline`: then it raises `Stopped`.
        """
        return self._evaluate(request, self._current(), budget, deadline, batch, stop)

    def _evaluate(
        self,
        request: EvaluationRequest,
        current: tuple[Loaded, LLM, list[str]],
        budget: Budget | None = None,
        deadline: Deadline | None = None,
        batch: bool = False,
        stop: Stop = NEVER,
    ) -> EvaluationResult:
        if not isinstance(request, EvaluationRequest):
            raise InputError(f"evaluate() takes an EvaluationRequest, not {type(request).__name__}.")
        started = time.perf_counter()
        loaded, llm, warnings = current
        plan = loaded.plan(request.config)
        budget = budget or Budget(loaded.settings.budget.tokens, loaded.settings.budget.cost_usd)
        if deadline is None:
            deadline = Deadline.within(loaded.settings.evaluator.deadline, stop, "evaluator.deadline")
        elif stop is not NEVER:
            deadline = replace(deadline, stop=stop)
        scoring = Scoring(request, plan, llm, budget, deadline, batch)
        scoring.check()
        scores = scoring.scores()
        for score in scores:
            telemetry.evaluation_result(score.metric_name, score.score)
        return EvaluationResult(
            metrics=scores,
            overall_score=weighted_mean(scores, [planned.weight for planned in plan.metrics]),
            metric_set=plan.metric_set,
            usage=sum((score.usage for score in scores), NOTHING_USED),
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
        """Results in the order of the requests, evaluated concurrently. Requests are consumed lazily.

        All are scored with the configuration at the time of the call. The first error is raised; with `return_errors`
        errors are yielded in place of results. Evaluations under way stop when the iteration ends early: by an error,
        Ctrl-C or the caller.
        """
        if not isinstance(concurrency, int) or concurrency < 1:
            raise InputError(f"concurrency is {concurrency!r}: it must be a whole number, at least 1.")

        stop, current = Stop(), self._current()

        def evaluate(request: EvaluationRequest) -> EvaluationResult | VeracityError:
            try:
                return self._evaluate(request, current, stop=stop)
            except VeracityError as problem:
                if return_errors:
                    return problem
                raise

        return map_in_order(evaluate, requests, concurrency, stop.set)

    def plan(self, config: EvaluationConfig | None = None) -> Plan:
        """The metrics that would run now, with their weights and models."""
        return self._current()[0].plan(config)

    def choose(self, names: Sequence[str]) -> EvaluationConfig:
        """A configuration for a request: these metrics as configured here, equally weighted."""
        return _choose(names, self._current()[0])

    def describe(self) -> EvaluatorDescription:
        """All known metrics, the weights and models of those in use, and warnings."""
        loaded, _, warnings = self._current()
        return _describe(loaded, warnings)

    @property
    def metrics(self) -> list[Entry]:
        """All known metrics with their origin."""
        return list(self._current()[0].registry)

    @property
    def settings(self) -> Settings:
        return self._current()[0].settings

    @property
    def llm(self) -> LLM:
        return self._current()[1]

    def stop_reloading(self) -> None:
        """Keep the current configuration from now on, even if its files change."""
        self._current()
        self._reloads = False

    def close(self) -> None:
        """Stop the model threads. Optional: they end with the evaluator. A given model client is not closed."""
        if self._custom_llm is None:
            self._llm.close()

    def _current(self) -> tuple[Loaded, LLM, list[str]]:
        """The current configuration, the model client, and warnings."""
        with self._lock:
            try:
                if self._reloads:
                    self._refresh()
            except ConfigurationError as problem:
                if not self._keep_last_good:
                    raise
                return self._loaded, self._llm, [f"The last valid configuration is in use, because: {problem}"]
            return self._loaded, self._llm, []

    def _refresh(self) -> None:
        sources = read_sources(self._workspace)
        if sources == self._loaded.sources:
            return
        if self._refused and self._refused[0] == sources:
            raise ConfigurationError(self._refused[1])  # already logged
        try:
            stable = read_stable_sources(self._workspace, self._loaded.sources)
            self._use(load(self._workspace, stable, self._registered, self._terms))
        except ConfigurationError as problem:
            self._refused = (sources, str(problem))
            log.warning("The changed configuration is invalid: %s", problem)
            raise

    def _use(self, loaded: Loaded) -> None:
        was, now = self._loaded.settings, loaded.settings
        is_same = (was.llm, was.max_tokens, was.servers) == (now.llm, now.max_tokens, now.servers)
        if self._custom_llm is None and not is_same:
            self._llm = _make_llm(now)
        self._loaded = loaded


def _make_llm(settings: Settings) -> LLM:
    return LLM(settings.llm, max_tokens=settings.max_tokens, servers=settings.servers)


def _choose(names: Sequence[str], loaded: Loaded) -> EvaluationConfig:
    """Keep the workspace's models and instructions. The names are user input."""
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
    named = metric.model or loaded.config.llm_default.named_model or loaded.settings.models.judge
    if not named and loaded.terms.only_named_judges:
        raise InputError(
            f'The metric "{metric.name}" needs a judge model, and none is set: set models.judge, or choose another.'
        )


def _describe(loaded: Loaded, warnings: list[str]) -> EvaluatorDescription:
    plan = loaded.plan()
    metrics = [_describe_metric(entry, plan) for entry in loaded.registry]
    return EvaluatorDescription(metric_set=plan.metric_set, metrics=metrics, warnings=warnings)


def _describe_metric(entry: Entry, plan: Plan) -> MetricDescription:
    planned = next((metric for metric in plan.metrics if metric.name == entry.name), None)
    return MetricDescription(
        name=entry.name,
        summary=entry.summary,
        origin=entry.origin,
        judge="model" if isinstance(entry.metric, LLMMetric) else "local",
        weight=planned.weight if planned else None,
        model=planned.judge.model if planned and planned.judge else None,
    )
