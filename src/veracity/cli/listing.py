"""`veracity metrics`."""

from __future__ import annotations

import json
from pathlib import Path

from veracity.cli.console import console, plain, table
from veracity.cli.evaluating import CHOSEN_BY
from veracity.evaluator import Evaluator
from veracity.evaluator.describing import EvaluatorDescription
from veracity.workspace import workspace_or_here


def run(workspace: Path | None, as_json: bool) -> None:
    described = Evaluator(workspace_or_here(workspace)).describe()
    if as_json:
        print(json.dumps([metric.model_dump() for metric in described.metrics], ensure_ascii=False, indent=2))
    else:
        _show(described)


def _show(described: EvaluatorDescription) -> None:
    rows = table("Metric", "From", "Judge", "Weight", "What it scores", right=("Weight",))
    for metric in described.metrics:
        weight = "" if metric.weight is None else f"{metric.weight:.2f}"
        judge = metric.model or metric.judge
        rows.add_row(plain(metric.name), plain(metric.origin), plain(judge), weight, plain(metric.summary))
    console.print(rows)
    console.print(plain(f"\nThose with a weight run: {CHOSEN_BY[described.metric_set]}."))
