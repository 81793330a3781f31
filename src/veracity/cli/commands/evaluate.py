"""`veracity evaluate`."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from rich.text import Text

from veracity.cli.ui.console import console, plain, score_text, table
from veracity.errors import InputError, reason_of
from veracity.evaluator import Evaluator
from veracity.evaluator.evaluator import EvaluatorDescription
from veracity.models import EvaluationRequest, EvaluationResult, MetricScore, Usage
from veracity.workspace import workspace_or_here

CHOSEN_BY = {
    "configured": "the configured metrics",
    "default-llm": "the default LLM metrics",
    "default-local": "the default local metrics, since no judge model is set up",
}


def run(query: str, submission: str, context: list[Path], workspace: Path | None, team: str, as_json: bool) -> None:
    request = EvaluationRequest(
        user_query=_argument("--query", query),
        submission=_read_standard_input() if submission == "-" else read_text(Path(submission)),
        team_id=_argument("--team", team),
        context=[_read_evidence(path) for path in context],
    )
    with contextlib.redirect_stdout(sys.stderr):  # what a metric prints must not mix with the result
        result = Evaluator(workspace_or_here(workspace)).evaluate(request)
    if as_json:
        print(result.model_dump_json(indent=2))
    else:
        show(result)


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: save it as UTF-8.") from None
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} cannot be read: {reason_of(problem)}.") from None


def _read_evidence(path: Path) -> str:
    """The numbers of citations depend on each file: one that holds nothing is a mistake."""
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path} is empty: leave it out, or name the file that holds the evidence.")
    return text


def _argument(option: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"What {option} was given is not UTF-8 text.") from None
    return text


def _read_standard_input() -> str:
    if sys.stdin is None:
        raise InputError("Standard input is closed: name the file of the submission instead.")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("What came in on standard input is not UTF-8 text.") from None


def show(result: EvaluationResult) -> None:
    rows = table("Metric", "Score", "Weight", "Comment", right=("Score", "Weight"))
    for metric in result.metrics:
        rows.add_row(
            plain(metric.metric_name), _scored(metric), f"{metric.weight or 0:.2f}", plain(metric.evaluator_comment)
        )
    console.print(rows)
    console.print()
    console.print(plain("Overall score  ", "bold") + score_text(result.overall_score))
    console.print(plain(f"Scored in {result.seconds:.1f} s by {CHOSEN_BY[result.metric_set]}."))
    if models := dict.fromkeys(metric.model for metric in result.metrics if metric.model):
        console.print(plain(f"Models: {', '.join(models)}; {spent(result.usage)}."))
    for warning in result.warnings:
        console.print(plain(f"Warning: {warning}", "yellow"))


def _scored(metric: MetricScore) -> Text:
    """The score and, where the judge was asked several times, from where to where its verdicts went."""
    score = score_text(metric.score)
    return score.append(f"\n{min(metric.samples):g}–{max(metric.samples):g}") if metric.spread is not None else score


def spent(usage: Usage) -> str:
    cost = "cost not known" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    calls = f"{usage.calls} call{'' if usage.calls == 1 else 's'}"
    return f"{calls}, {usage.input_tokens:,} + {usage.output_tokens:,} tokens, {cost}"


def run_listing(workspace: Path | None, as_json: bool) -> None:
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
