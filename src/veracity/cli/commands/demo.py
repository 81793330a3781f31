"""`veracity demo`: what Veracity can do, on documents and answers that come with it."""

from __future__ import annotations

import json
import os
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from veracity.cli.commands.ask import show
from veracity.cli.commands.ingest import counted
from veracity.cli.ui.console import console, plain, score_text, table
from veracity.engine import Veracity
from veracity.evaluator import Evaluator
from veracity.evaluator.plan import DEFAULTS
from veracity.models import Answer, EvaluationConfig, EvaluationRequest, EvaluationResult, MetricConfig
from veracity.settings import Settings

LOCAL = EvaluationConfig(
    metrics=[MetricConfig(name=name, weight=weight) for name, weight in DEFAULTS["default-local"].items()]
)
# The handbook answers all but the last.
QUESTIONS = (
    "How many unused days of leave move into the next year in Dublin?",
    "How much is the first engineer paid for a week on call?",
    "去深圳出差，酒店每晚上限是多少？",
    "台風の朝、何時までに警報が解除されなければ終日休業となりますか。",
    "What does the company pay for a gym membership?",
)


def samples() -> list[dict[str, Any]]:
    text = (files("veracity") / "samples.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def run(workspace: Path | None, as_json: bool) -> None:
    answers = _ask(as_json)
    shipped = samples()
    config = LOCAL if workspace is None else None
    results = list(Evaluator(workspace).evaluate_many(_request(sample, config) for sample in shipped))
    if as_json:
        print(json.dumps(_as_data(answers, shipped, results), indent=2, ensure_ascii=False))
    else:
        _show_scores(shipped, results)


def _ask(quiet: bool) -> list[Answer]:
    """Bring in the shipped handbook, in a workspace that goes when it is done, and ask it."""
    shipped = files("veracity") / "handbook"
    with (
        as_file(shipped) as handbook,
        tempfile.TemporaryDirectory() as folder,
        Veracity(folder, settings=Settings()) as engine,
    ):
        report = engine.ingest(handbook)
        answers = [_shortened(engine.ask(question), handbook) for question in QUESTIONS]
    if not quiet:
        documents = counted(len(report.outcomes), "document")
        console.print(plain(f"A handbook of {documents} in three languages: {counted(report.passages, 'passage')}."))
        for answer in answers:
            console.print(plain(f"\n{answer.question}", "bold cyan"))
            show(answer)
    return answers


def _shortened(answer: Answer, handbook: Path) -> Answer:
    evidence = [
        item.model_copy(update={"location": os.path.relpath(item.location, handbook)}) for item in answer.evidence
    ]
    return answer.model_copy(update={"evidence": evidence})


def _as_data(answers: list[Answer], shipped: list[dict[str, Any]], results: list[EvaluationResult]) -> dict[str, Any]:
    return {
        "answers": [answer.model_dump(mode="json") for answer in answers],
        "evaluations": [
            {**sample, **result.model_dump(mode="json")} for sample, result in zip(shipped, results, strict=True)
        ],
    }


def _request(sample: dict[str, Any], config: EvaluationConfig | None) -> EvaluationRequest:
    fields = {key: sample[key] for key in ("user_query", "submission", "context")}
    return EvaluationRequest(team_id="demo", config=config, **fields)


def _show_scores(shipped: list[dict[str, Any]], results: list[EvaluationResult]) -> None:
    console.print(plain("\nAnswers to other questions, scored against their evidence", "bold"))
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
