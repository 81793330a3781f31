"""`veracity demo`: asks the bundled handbook and scores bundled samples."""

from __future__ import annotations

import json
import os
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from veracity.cli.ui.answers import show_answer
from veracity.cli.ui.console import console, count, plain, score_text, table
from veracity.engine import Veracity
from veracity.evaluator import Evaluator
from veracity.evaluator.plan import DEFAULTS
from veracity.models import Answer, EvaluationConfig, EvaluationRequest, EvaluationResult, MetricConfig
from veracity.settings import Settings

# The handbook contains the answers to all but the last.
QUESTIONS = (
    "How many unused days of leave move into the next year in Dublin?",
    "How much is the first engineer paid for a week on call?",
    "去深圳出差，住宿每晚上限是多少？",
    "台風の朝、何時までに警報が解除されなければ終日休業となりますか。",
    "What does the company pay for a gym membership?",
)

Sample = dict[str, Any]


def demo(workspace: Path | None, as_json: bool) -> None:
    answers = _ask_handbook(is_quiet=as_json)
    samples = load_samples()
    config = _local_metrics() if workspace is None else None
    results = list(Evaluator(workspace).evaluate_many(_request(sample, config) for sample in samples))
    scored = list(zip(samples, results, strict=True))
    if as_json:
        data = {
            "answers": [answer.model_dump(mode="json") for answer in answers],
            "evaluations": [{**sample, **result.model_dump(mode="json")} for sample, result in scored],
        }
        print(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        _show_scores(scored)


def load_samples() -> list[Sample]:
    text = (files("veracity") / "samples.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _ask_handbook(is_quiet: bool) -> list[Answer]:
    """Ingest the handbook into a temporary workspace and ask it."""
    with (
        as_file(files("veracity") / "handbook") as handbook,
        tempfile.TemporaryDirectory() as folder,
        Veracity(folder, settings=Settings()) as engine,
    ):
        report = engine.ingest(handbook)
        answers = [_with_relative_paths(engine.ask(question), handbook) for question in QUESTIONS]
        scales = engine.settings.scales
    if not is_quiet:
        documents = count(len(report.outcomes), "document")
        console.print(plain(f"A handbook of {documents} in three languages: {count(report.passages, 'passage')}."))
        for answer in answers:
            console.print(plain(f"\n{answer.question}", "bold cyan"))
            show_answer(answer, scales)
    return answers


def _with_relative_paths(answer: Answer, handbook: Path) -> Answer:
    evidence = [
        item.model_copy(update={"location": os.path.relpath(item.location, handbook)}) for item in answer.evidence
    ]
    return answer.model_copy(update={"evidence": evidence})


def _local_metrics() -> EvaluationConfig:
    weights = DEFAULTS["default-local"].items()
    return EvaluationConfig(metrics=[MetricConfig(name=name, weight=weight) for name, weight in weights])


def _request(sample: Sample, config: EvaluationConfig | None) -> EvaluationRequest:
    fields = {key: sample[key] for key in ("user_query", "submission", "context")}
    return EvaluationRequest(team_id="demo", config=config, **fields)


def _show_scores(scored: list[tuple[Sample, EvaluationResult]]) -> None:
    console.print(plain("\nAnswers to other questions, scored against their evidence", "bold"))
    names = [metric.metric_name for metric in scored[0][1].metrics]
    rows = table("Sample", *names, "Overall", right=(*names, "Overall"))
    for sample, result in scored:
        scores = [score_text(metric.score) for metric in result.metrics]
        rows.add_row(plain(sample["id"]), *scores, score_text(result.overall_score))
    console.print(rows)
    console.print(plain("\nWhat is wrong with the bad answers", "bold"))
    for sample, result in scored:
        if not sample["good"]:
            worst = min(result.metrics, key=lambda metric: metric.score)
            console.print(plain(f"\n{sample['id']}", "bold"))
            console.print(plain(f"  Question  {sample['user_query']}"))
            console.print(plain(f"  Answer    {sample['submission']}"))
            console.print(plain(f"  {worst.metric_name}: {worst.evaluator_comment}", "red"))
