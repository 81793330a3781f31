"""`veracity metrics`."""

from __future__ import annotations

import json
from pathlib import Path

from veracity.cli.console import console, plain, table
from veracity.cli.evaluating import CHOSEN_BY
from veracity.evaluator import Evaluator, LLMMetric
from veracity.evaluator.planning import Plan
from veracity.evaluator.registry import Entry
from veracity.workspace import workspace_or_here


def run(workspace: Path | None, as_json: bool) -> None:
    evaluator = Evaluator(workspace_or_here(workspace))
    entries, plan = evaluator.metrics, evaluator.plan()
    if as_json:
        print(json.dumps([_described(entry, plan) for entry in entries], ensure_ascii=False, indent=2))
    else:
        _show(entries, plan)


def _described(entry: Entry, plan: Plan) -> dict[str, object]:
    planned = next((one for one in plan.metrics if one.name == entry.name), None)
    return {
        "name": entry.name,
        "summary": entry.summary,
        "origin": entry.origin,
        "judge": "model" if isinstance(entry.metric, LLMMetric) else "local",
        "weight": planned.weight if planned else None,
        "model": planned.judge.model if planned and planned.judge else None,
    }


def _show(entries: list[Entry], plan: Plan) -> None:
    rows = table("Metric", "From", "Judge", "Weight", "What it scores", right=("Weight",))
    for entry in entries:
        told = _described(entry, plan)
        weight = "" if told["weight"] is None else f"{told['weight']:.2f}"
        judge = told["model"] or told["judge"]
        rows.add_row(plain(entry.name), plain(entry.origin), plain(judge), weight, plain(entry.summary))
    console.print(rows)
    console.print(plain(f"\nThose with a weight run: {CHOSEN_BY[plan.metric_set]}."))
