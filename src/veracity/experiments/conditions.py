"""What an answer and its score depend on: models, metrics, and hashes of all of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from veracity.evaluator import Evaluator
from veracity.knowledge.store import Store
from veracity.settings import Settings
from veracity.workspace import Workspace, hash_parts


@dataclass(frozen=True, slots=True)
class Conditions:
    workspace: Workspace
    settings: Settings
    evaluator: Evaluator
    documents: Store

    def hashes(self) -> dict[str, str]:
        """One for each part: documents, settings, metrics, prompts, models, and the version."""
        own = {"documents": self.documents.content_hash(), "models": _hash(json.dumps(self.models(), sort_keys=True))}
        return {**hash_parts(self.workspace, self.settings), **own}

    def models(self) -> dict[str, str]:
        """The model of each role that has one, and of each metric that a model judges."""
        named = {role: str(model) for role, model in self.settings.models if model and role != "folder"}
        metrics = self.evaluator.describe().metrics
        judges = {f"judge of {metric.name}": metric.model for metric in metrics if metric.model}
        return {**named, **judges, "reranker": self.settings.reranker}

    def judge_hash(self) -> str:
        """Changes with the metrics in use, their instructions and models."""
        return _hash(
            hash_parts(self.workspace, self.settings)["metrics"] + json.dumps(sorted(self.metrics_in_use(), key=str))
        )

    def metrics_in_use(self) -> set[tuple[str, str | None]]:
        """The metrics that score answers, each with the model that judges it."""
        return {
            (metric.name, metric.model) for metric in self.evaluator.describe().metrics if metric.weight is not None
        }

    def require_metrics(self, names: Sequence[str]) -> None:
        """Raise `InputError` for a metric that does not exist or needs a judge model that is not set."""
        self.evaluator.choose(names)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
