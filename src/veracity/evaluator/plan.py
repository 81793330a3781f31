"""Loads a workspace's evaluator configuration and plans the metrics to run, with weights and LLM parameters."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from veracity.errors import ConfigurationError
from veracity.evaluator.config import listed_metrics, load_configuration, shares
from veracity.evaluator.judge import JudgeOptions
from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.metrics.llm_metric import LLMMetric
from veracity.evaluator.registry import Entry, Registry, built_in, from_files, registered
from veracity.models import (
    DEFAULT_JUDGE,
    EvaluationConfig,
    LLMDefaultConfig,
    LLMParameters,
    MetricConfig,
    MetricSet,
)
from veracity.providers.keys import check_provider_names, has_key
from veracity.settings import Settings, load_settings, origin, own_variables, with_pace
from veracity.workspace import Workspace

# The metrics of each default set, with their weights. An answer that only repeats the evidence scores full marks on
# the other local metrics, so QuestionCoverage weighs more: otherwise an irrelevant answer would reach 75.
DEFAULTS: dict[MetricSet, dict[str, float | None]] = {
    "default-llm": {"ClarityCoherence": None, "Coverage": None, "Relevance": None},
    "default-local": {"Groundedness": 0.3, "QuestionCoverage": 0.4, "CitationAccuracy": 0.3},
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PlannedMetric:
    """`judge` is None for a metric without a model: its LLM parameters are ignored (SPEC B18)."""

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
    check_provider_names(_named_models(judged.values(), config, settings, where), settings.servers)
    options = {name: _judge_options(metric, config.llm_default, settings) for name, metric in judged.items()}
    weights = shares(metrics, where)
    return Plan(
        [PlannedMetric(name, found[name], weight, options.get(name)) for name, weight in weights.items()], metric_set
    )


def _default_set(config: EvaluationConfig, settings: Settings, only_named: bool) -> MetricSet:
    judge_named = config.llm_default.named_model or settings.models.judge
    return "default-llm" if judge_named or (not only_named and has_key(DEFAULT_JUDGE)) else "default-local"


def _named_models(
    judged: Iterable[MetricConfig], config: EvaluationConfig, settings: Settings, where: str
) -> Iterator[tuple[str, str]]:
    """Every configured model with its place, including those that another setting overrides."""
    if settings.models.judge:
        yield settings.models.judge, origin("models", "judge")
    if named := config.llm_default.named_model:
        yield named, f"{where}, the default model"
    for metric in judged:
        if metric.model:
            yield metric.model, f'{where}, the model of "{metric.name}"'


def _judge_options(metric: LLMParameters, default: LLMDefaultConfig, settings: Settings) -> JudgeOptions:
    """Precedence: metric, [llm_default], models.judge, built-in default (SPEC B3)."""
    return JudgeOptions(
        model=metric.model or default.named_model or settings.models.judge or DEFAULT_JUDGE,
        system_instruction=metric.system_instruction or default.system_instruction,
        temperature=_first_set(metric.temperature, default.temperature, 0.0),
        max_tokens=metric.max_tokens or default.max_tokens,
        max_retries=_first_set(metric.max_retries, default.max_retries, 3),
        samples=metric.samples or default.samples or 1,
    )


def _first_set(own: T | None, default: T | None, otherwise: T) -> T:
    """Zero is a valid value."""
    if own is not None:
        return own
    return otherwise if default is None else default


NO_WORKSPACE = Workspace(Path())
REREAD_SECONDS = 0.03
MAX_REREADS = 20


@dataclass(frozen=True, slots=True)
class Sources:
    """The inputs of a configuration: file contents and VERACITY_… variables."""

    contents: dict[Path, bytes]
    variables: dict[str, str]


@dataclass(frozen=True, slots=True)
class Terms:
    """Options of the evaluator: settings that replace the workspace's, and whether the default judge may be used."""

    settings: Settings | None = None
    only_named_judges: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """One consistent configuration. An evaluation uses the same one from start to end."""

    terms: Terms
    sources: Sources
    settings: Settings
    config: EvaluationConfig
    registry: Registry
    where: str
    _plans: dict[bool, Plan] = field(default_factory=dict, compare=False, repr=False)

    def plan(self, config: EvaluationConfig | None = None) -> Plan:
        """The metrics to run: those of the workspace, or those of a request."""
        only_named = self.terms.only_named_judges
        if config is None:
            default_has_key = has_key(DEFAULT_JUDGE)  # the only input that is not part of `sources`
            if default_has_key not in self._plans:
                self._plans[default_has_key] = make_plan(
                    self.config, self.registry, self.settings, self.where, only_named
                )
            return self._plans[default_has_key]
        registry = self.registry.with_entries(registered(metric) for metric in (config.custom_metrics or {}).values())
        return make_plan(config, registry, self.settings, "request.config", only_named)


def read_sources(workspace: Workspace | None) -> Sources:
    return Sources({} if workspace is None else workspace.contents(), own_variables())


def read_stable_sources(workspace: Workspace | None, before: Sources) -> Sources:
    """Read until two readings agree, because an editor truncates a file before it writes.

    Raises `ConfigurationError` if a configuration file has disappeared or is now empty.
    """
    sources = read_sources(workspace)
    for _ in range(MAX_REREADS):
        time.sleep(REREAD_SECONDS)
        again = read_sources(workspace)
        if again == sources:
            break
        sources = again
    for path, content in before.contents.items():
        if path.suffix == ".toml" and content.strip() and not sources.contents.get(path, b"").strip():
            raise ConfigurationError(
                f"{path} held the configuration and is missing or empty now: restore it, "
                "or create a new Evaluator to continue without it."
            )
    return sources


def load(workspace: Workspace | None, sources: Sources, extra: Iterable[Entry], terms: Terms | None = None) -> Loaded:
    """Validate the files together with the metrics registered from Python. Raises `ConfigurationError`."""
    contents = sources.contents
    files = workspace or NO_WORKSPACE
    metric_files = [path for path in contents if path.suffix == ".py"]
    terms = terms or Terms()
    loaded = Loaded(
        terms=terms,
        sources=sources,
        settings=with_pace(terms.settings)
        if terms.settings
        else load_settings(contents.get(files.settings_file), files.settings_file),
        config=load_configuration(contents.get(files.evaluator_file), files.evaluator_file),
        registry=Registry([*built_in(), *from_files(metric_files, contents)]).with_entries(extra),
        where=str(files.evaluator_file),
    )
    loaded.plan()  # raises for a configuration that cannot run
    return loaded
