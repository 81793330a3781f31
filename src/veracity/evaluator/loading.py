"""One good reading of a workspace: its settings, its configuration and its metrics, checked together."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from veracity.errors import ConfigurationError
from veracity.evaluator.configuration import load_configuration
from veracity.evaluator.planning import Plan, make_plan
from veracity.evaluator.registry import Entry, Registry, built_in, from_files, registered
from veracity.models import EvaluationConfig
from veracity.settings import Settings, load_settings, own_variables
from veracity.workspace import Workspace

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
