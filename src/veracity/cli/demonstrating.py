"""`veracity demo`."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from veracity.cli.console import console, plain, score_text, table
from veracity.evaluator import Evaluator
from veracity.evaluator.planning import DEFAULTS
from veracity.models import EvaluationConfig, EvaluationRequest, EvaluationResult

LOCAL = EvaluationConfig(enabled_metrics=list(DEFAULTS["default-local"]))


def samples() -> list[dict[str, Any]]:
    text = (files("veracity") / "samples.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def run(workspace: Path | None, as_json: bool) -> None:
    config = LOCAL if workspace is None else None
    evaluator = Evaluator(workspace)
    shipped = samples()
    results = list(evaluator.evaluate_many(_request(sample, config) for sample in shipped))
    if as_json:
        scored = zip(shipped, results, strict=True)
        print(
            json.dumps(
                [{**sample, **result.model_dump(mode="json")} for sample, result in scored],
                indent=2,
                ensure_ascii=False,
            )
        )
    else:
        _show(shipped, results)


def _request(sample: dict[str, Any], config: EvaluationConfig | None) -> EvaluationRequest:
    fields = {key: sample[key] for key in ("user_query", "submission", "context")}
    return EvaluationRequest(team_id="demo", config=config, **fields)


def _show(shipped: list[dict[str, Any]], results: list[EvaluationResult]) -> None:
    names = [metric.metric_name for metric in results[0].metrics]
    rows = table("Sample", *names, "Overall", right=(*names, "Overall"))
    for sample, result in zip(shipped, results, strict=True):
        scores = [score_text(metric.score) for metric in result.metrics]
        rows.add_row(plain(sample["id"]), *scores, score_text(result.overall_score))
    console.print(rows)
    console.print(plain("\nWhat was wrong with the bad answers", "bold"))
    for sample, result in zip(shipped, results, strict=True):
        if not sample["good"]:
            _show_fault(sample, result)


def _show_fault(sample: dict[str, Any], result: EvaluationResult) -> None:
    worst = min(result.metrics, key=lambda metric: metric.score)
    console.print(plain(f"\n{sample['id']}", "bold"))
    console.print(plain(f"  Question  {sample['user_query']}"))
    console.print(plain(f"  Answer    {sample['submission']}"))
    console.print(plain(f"  {worst.metric_name}: {worst.evaluator_comment}", "red"))
