"""From a configuration to the metrics that will run, each with its weight and settled LLM parameters."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from veracity.errors import ConfigurationError
from veracity.evaluator.config import listed_metrics, load_configuration, shares
from veracity.evaluator.judge import JudgeOptions
from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.metrics.llm_metric import LLMMetric
from veracity.evaluator.registry import Entry, Registry, built_in, from_files, registered
from veracity.models import EvaluationConfig, LLMParameters, MetricConfig, MetricSet
from veracity.providers.keys import has_key, refuse_typing_errors
from veracity.settings import Settings, load_settings, origin, own_variables
from veracity.workspace import Workspace

DEFAULT_JUDGE = "anthropic:claude-sonnet-4-5-20250929"
# The metrics of each set, with their weights. An answer that only repeats the evidence has all of the local ones but
# QuestionCoverage for free: that one counts more, or nothing that is beside the point would stay below 75.
DEFAULTS: dict[MetricSet, dict[str, float | None]] = {
    "default-llm": {"ClarityCoherence": None, "Coverage": None, "Relevance": None},
    "default-local": {"Groundedness": 0.3, "QuestionCoverage": 0.4, "CitationAccuracy": 0.3},
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedMetric:
    """`judge` is None for a metric that asks no model: LLM parameters given for it are ignored (SPEC B18)."""

    name: str
    metric: BaseMetric
    weight: float
    judge: JudgeOptions | None


@dataclass(frozen=True, slots=True)
class Plan:
    metrics: list[PlannedMetric]
    metric_set: MetricSet

    @property
    def models(self) -> list[str]:
        return list(dict.fromkeys(planned.judge.model for planned in self.metrics if planned.judge))


def make_plan(
    config: EvaluationConfig, registry: Registry, settings: Settings, where: str, only_named_judges: bool = False
) -> Plan:
    listed = listed_metrics(config, where)
    metric_set = "configured" if listed else _default_set(config, settings, only_named_judges)
    metrics = listed or [MetricConfig(name=name, weight=weight) for name, weight in DEFAULTS[metric_set].items()]
    found = {metric.name: registry.find(metric.name, where) for metric in metrics}
    judged = {metric.name: metric for metric in metrics if isinstance(found[metric.name], LLMMetric)}
    refuse_typing_errors(_named_models(judged.values(), config, settings, where))
    options = {name: _judge_options(metric, config.llm_default, settings) for name, metric in judged.items()}
    weights = shares(metrics, where)
    return Plan(
        [PlannedMetric(name, found[name], weight, options.get(name)) for name, weight in weights.items()], metric_set
    )


def _default_set(config: EvaluationConfig, settings: Settings, only_named: bool) -> MetricSet:
    judge_named = config.llm_default.model or settings.models.judge
    return "default-llm" if judge_named or (not only_named and has_key(DEFAULT_JUDGE)) else "default-local"


def _named_models(
    judged: Iterable[MetricConfig], config: EvaluationConfig, settings: Settings, where: str
) -> Iterator[tuple[str, str]]:
    """Every model that is named, also where another one comes first, with its place."""
    if settings.models.judge:
        yield settings.models.judge, origin("models", "judge")
    if config.llm_default.model:
        yield config.llm_default.model, f"{where}, the default model"
    for metric in judged:
        if metric.model:
            yield metric.model, f'{where}, the model of "{metric.name}"'


def _judge_options(metric: LLMParameters, default: LLMParameters, settings: Settings) -> JudgeOptions:
    """Metric → [llm_default] → models.judge → hard-coded (SPEC B3)."""
    return JudgeOptions(
        model=metric.model or default.model or settings.models.judge or DEFAULT_JUDGE,
        system_instruction=metric.system_instruction or default.system_instruction,
        temperature=_first_set(metric.temperature, default.temperature, 0.0),
        max_tokens=metric.max_tokens or default.max_tokens,
        max_retries=_first_set(metric.max_retries, default.max_retries, 3),
        samples=metric.samples or default.samples or 1,
    )


def _first_set(own: T | None, default: T | None, otherwise: T) -> T:
    """Zero is a value."""
    if own is not None:
        return own
    return otherwise if default is None else default


NOWHERE = Workspace(Path())
BETWEEN_READINGS = 0.03  # seconds
MOST_READINGS = 20


@dataclass(frozen=True, slots=True)
class Sources:
    """All that a configuration comes from: the files as they are, and our variables of the environment."""

    contents: dict[Path, bytes]
    variables: dict[str, str]


@dataclass(frozen=True, slots=True)
class Terms:
    """What whoever made the evaluator laid down: settings in place of the workspace's, and whether a model may judge
    that nobody named."""

    settings: Settings | None = None
    only_named_judges: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """An evaluation uses one of these from beginning to end."""

    terms: Terms
    sources: Sources
    settings: Settings
    config: EvaluationConfig
    registry: Registry
    where: str

    def plan(self, config: EvaluationConfig | None = None) -> Plan:
        """The metrics that run: those of the workspace, or those a request brings."""
        only_named = self.terms.only_named_judges
        if config is None:
            return make_plan(self.config, self.registry, self.settings, self.where, only_named)
        registry = self.registry.with_entries(registered(metric) for metric in (config.custom_metrics or {}).values())
        return make_plan(config, registry, self.settings, "request.config", only_named)


def read_sources(workspace: Workspace | None) -> Sources:
    return Sources({} if workspace is None else workspace.contents(), own_variables())


def read_settled_sources(workspace: Workspace | None, before: Sources) -> Sources:
    """For files that are being changed: read until two readings agree, since an editor empties a file to write it.

    A configuration that was there and is gone or empty is no choice of the defaults: it is refused.
    """
    sources = read_sources(workspace)
    for _ in range(MOST_READINGS):
        time.sleep(BETWEEN_READINGS)
        again = read_sources(workspace)
        if again == sources:
            break
        sources = again
    for path, content in before.contents.items():
        if path.suffix == ".toml" and content.strip() and not sources.contents.get(path, b"").strip():
            raise ConfigurationError(
                f"{path} held the configuration and is gone or empty now: put it back, "
                "or make a new Evaluator to go on without it."
            )
    return sources


def load(
    workspace: Workspace | None, sources: Sources, handed_in: Iterable[Entry], terms: Terms | None = None
) -> Loaded:
    """What the files say, with the metrics that were handed in from Python. Raises where they do not fit together."""
    contents = sources.contents
    files = workspace or NOWHERE
    metric_files = [path for path in contents if path.suffix == ".py"]
    given = terms or Terms()
    loaded = Loaded(
        terms=given,
        sources=sources,
        settings=given.settings or load_settings(contents.get(files.settings_file), files.settings_file),
        config=load_configuration(contents.get(files.evaluator_file), files.evaluator_file),
        registry=Registry([*built_in(), *from_files(metric_files, contents)]).with_entries(handed_in),
        where=str(files.evaluator_file),
    )
    loaded.plan()  # what cannot be planned is not loaded
    return loaded
