"""One good reading of a workspace: its settings, its configuration and its metrics, checked together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from veracity.evaluator.configuration import load_configuration
from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.planning import Plan, make_plan
from veracity.evaluator.registry import Registry, built_in, from_files
from veracity.models import EvaluationConfig
from veracity.settings import Settings, load_settings
from veracity.workspace import Workspace

NOWHERE = Workspace(Path())


@dataclass(frozen=True, slots=True)
class Loaded:
    """An evaluation uses one of these from beginning to end."""

    contents: dict[Path, bytes]
    settings: Settings
    config: EvaluationConfig
    registry: Registry
    where: str

    def plan(self, config: EvaluationConfig | None = None) -> Plan:
        """The metrics that run: those of the workspace, or those a request brings."""
        if config is None:
            return make_plan(self.config, self.registry, self.settings, self.where)
        registry = self.registry.with_registered((config.custom_metrics or {}).values())
        return make_plan(config, registry, self.settings, "request.config")


def read_contents(workspace: Workspace | None) -> dict[Path, bytes]:
    return {} if workspace is None else workspace.contents()


def load(workspace: Workspace | None, contents: dict[Path, bytes], registered: Iterable[type[BaseMetric]]) -> Loaded:
    """What the files say, with the metrics that were handed in from Python. Raises where they do not fit together."""
    files = workspace or NOWHERE
    metric_files = [path for path in contents if path.suffix == ".py"]
    loaded = Loaded(
        contents=contents,
        settings=load_settings(contents.get(files.settings_file), files.settings_file),
        config=load_configuration(contents.get(files.evaluator_file), files.evaluator_file),
        registry=Registry([*built_in(), *from_files(metric_files, contents)]).with_registered(registered),
        where=str(files.evaluator_file),
    )
    loaded.plan()  # what cannot be planned is not loaded
    return loaded
