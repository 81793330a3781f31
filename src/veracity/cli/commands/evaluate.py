"""`veracity evaluate` and `veracity metrics`."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import typer
from rich.text import Text

from veracity.cli.ui.console import console, format_usage, plain, print_error, print_json, score_text, table
from veracity.engine import find_workspace
from veracity.errors import InputError, reason_of
from veracity.evaluator import Evaluator
from veracity.models import EvaluationRequest, EvaluationResult, MetricScore, MetricSet
from veracity.models.evaluation import round_below

METRIC_SETS: dict[MetricSet, str] = {
    "configured": "the configured metrics",
    "default-llm": "the default LLM metrics",
    "default-local": "the default local metrics, since no judge model is configured",
}


def evaluate(
    query: str,
    submission: str,
    context: list[Path],
    workspace: Path | None,
    team: str,
    fail_under: float | None,
    as_json: bool,
) -> None:
    if fail_under is not None and not 0 <= fail_under <= 100:
        raise InputError(f"--fail-under is a score between 0 and 100, not {fail_under:g}.")
    request = EvaluationRequest(
        user_query=_check_argument("--query", query),
        submission=read_input(submission, "submission"),
        team_id=_check_argument("--team", team),
        context=[_read_evidence(path) for path in context],
    )
    with contextlib.redirect_stdout(sys.stderr):  # a metric may print
        result = Evaluator(find_workspace(workspace)).evaluate(request)
    if as_json:
        print_json(result)
    else:
        _show(result)
    if fail_under is not None and result.overall_score < fail_under:
        score = round_below(result.overall_score, fail_under)
        print_error(f"The overall score {score:g} is below {fail_under:g} (--fail-under).")
        raise typer.Exit(1)


def list_metrics(workspace: Path | None, as_json: bool) -> None:
    description = Evaluator(find_workspace(workspace)).describe()
    if as_json:
        print_json(description.metrics)
        return
    rows = table("Metric", "From", "Judge", "Weight", "What it scores", right=("Weight",))
    for metric in description.metrics:
        weight = "" if metric.weight is None else f"{metric.weight:.2f}"
        judge = metric.model or metric.judge
        rows.add_row(plain(metric.name), plain(metric.origin), plain(judge), weight, plain(metric.summary))
    console.print(rows)
    console.print(plain(f"\nMetrics with a weight run: {METRIC_SETS[description.metric_set]}."))


def read_input(name: str, content: str) -> str:
    """The text of a file, or of standard input for "-". `content` names it in errors."""
    return _read_standard_input(content) if name == "-" else _read_text(Path(name))


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text: save it as UTF-8.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {reason_of(error)}.") from None


def _read_standard_input(content: str) -> str:
    if sys.stdin is None:
        raise InputError(f"Standard input is closed: name the file of the {content} instead.")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("The text on standard input is not UTF-8.") from None


def _read_evidence(path: Path) -> str:
    """Empty files are refused, because citation numbers count the files."""
    text = _read_text(path)
    if not text.strip():
        raise InputError(f"{path} is empty: leave it out, or name the file with the evidence.")
    return text


def _check_argument(option: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"The value of {option} is not UTF-8 text.") from None
    return text


def _show(result: EvaluationResult) -> None:
    rows = table("Metric", "Score", "Weight", "Comment", right=("Score", "Weight"))
    for metric in result.metrics:
        rows.add_row(
            plain(metric.metric_name), _score(metric), f"{metric.weight or 0:.2f}", plain(metric.evaluator_comment)
        )
    console.print(rows)
    console.print()
    console.print(plain("Overall score  ", "bold") + score_text(result.overall_score))
    console.print(plain(f"Scored in {result.seconds:.1f} s by {METRIC_SETS[result.metric_set]}."))
    if models := dict.fromkeys(metric.model for metric in result.metrics if metric.model):
        console.print(plain(f"Models: {', '.join(models)}; {format_usage(result.usage)}."))
    for warning in result.warnings:
        console.print(plain(f"Warning: {warning}", "yellow"))


def _score(metric: MetricScore) -> Text:
    """The score and, if the judge was asked repeatedly, the range of its verdicts."""
    score = score_text(metric.score)
    return score.append(f"\n{min(metric.samples):g}–{max(metric.samples):g}") if metric.spread is not None else score
