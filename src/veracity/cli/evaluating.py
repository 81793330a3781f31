"""`veracity evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path

from veracity.cli.console import console, plain, score_text, table
from veracity.cli.workspaces import workspace_or_here
from veracity.errors import InputError
from veracity.evaluator import Evaluator
from veracity.models import EvaluationRequest, EvaluationResult, Usage

CHOSEN_BY = {
    "configured": "the configured metrics",
    "default-llm": "the default LLM metrics",
    "default-local": "the default local metrics: no judge model is set up",
}


def run(query: str, submission: str, context: list[Path], workspace: Path | None, team: str, as_json: bool) -> None:
    request = EvaluationRequest(
        user_query=query,
        submission=_read_standard_input() if submission == "-" else read_text(Path(submission)),
        team_id=team,
        context=[read_text(path) for path in context],
    )
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
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror or type(problem).__name__}.") from None


def _read_standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("What came in on standard input is not UTF-8 text.") from None


def show(result: EvaluationResult) -> None:
    rows = table("Metric", "Score", "Weight", "Comment", right=("Score", "Weight"))
    for metric in result.metrics:
        spread = f"\n± {metric.spread:g}" if metric.spread is not None else ""
        score = score_text(metric.score).append(spread)
        rows.add_row(plain(metric.metric_name), score, f"{metric.weight or 0:.2f}", plain(metric.evaluator_comment))
    console.print(rows)
    console.print()
    console.print(plain("Overall score  ", "bold") + score_text(result.overall_score))
    console.print(plain(f"Scored by {CHOSEN_BY[result.metric_set]} in {result.seconds:.1f} s"))
    if models := dict.fromkeys(metric.model for metric in result.metrics if metric.model):
        console.print(plain(f"Models: {', '.join(models)}; {spent(result.usage)}"))
    for warning in result.warnings:
        console.print(plain(f"Warning: {warning}", "yellow"))


def spent(usage: Usage) -> str:
    cost = "cost not known" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return f"{usage.calls} calls, {usage.input_tokens:,} + {usage.output_tokens:,} tokens, {cost}"
