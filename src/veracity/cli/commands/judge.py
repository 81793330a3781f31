"""`veracity judge`: how far the judge can be trusted."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from veracity.cli.commands.demo import load_samples
from veracity.cli.ui.console import console, error_console, plain, print_json, table
from veracity.engine import Veracity, require_existing_workspace
from veracity.experiments.intervals import Interval
from veracity.experiments.judge_agreement import Agreement, LabelledAnswer, measure_agreement, read_labels
from veracity.experiments.judge_probes import Judge, OnProgress, Probe, ProbeReport, probe_judge
from veracity.experiments.suite import Case, find_suite, open_suite

STYLES = {"may gate": "green", "may advise": "yellow", "do not use": "red"}
NOT_FIT = 1  # exit code of a judge that should not be used


def probe(suite: str | None, concurrency: int, workspace: Path | None, as_json: bool) -> None:
    root = require_existing_workspace(workspace)
    cases = _sample_cases() if suite is None else list(open_suite(find_suite(suite, root)).cases())
    with Veracity(root) as engine, _progress_bar() as on_progress, contextlib.redirect_stdout(sys.stderr):
        report = probe_judge(
            cases,
            _judge(engine),
            engine.settings.approval.threshold,
            engine.conditions.judge_hash(),
            concurrency=concurrency,
            on_progress=on_progress,
        )
    if as_json:
        print_json(report)
    else:
        _show_probes(report)
    raise typer.Exit(NOT_FIT if report.trust == "do not use" else 0)


def agree(labels: Path, workspace: Path | None, as_json: bool) -> None:
    root = require_existing_workspace(workspace)
    answers = list(read_labels(labels))
    with Veracity(root) as engine, contextlib.redirect_stdout(sys.stderr):
        judge = _judge(engine)

        def score(answer: LabelledAnswer) -> float:
            return judge(answer.question, answer.submission, answer.context)

        measured = measure_agreement(answers, score, engine.settings.approval.threshold)
        found = measured.model_copy(update={"judge": engine.conditions.judge_hash()})
    if as_json:
        print_json(found)
    else:
        _show_agreement(found)
    raise typer.Exit(NOT_FIT if found.trust == "do not use" else 0)


@contextlib.contextmanager
def _progress_bar() -> Iterator[OnProgress]:
    """On a terminal only. A judge of language models takes minutes."""
    if not error_console.is_terminal:
        yield lambda done, total: None
        return
    columns = (TextColumn("Judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=error_console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _judge(engine: Veracity) -> Judge:
    """The metrics of the workspace as one score from 0 to 1."""

    def judge(question: str, submission: str, context: Sequence[str]) -> float:
        return engine.evaluate(question, submission, context).overall_score / 100

    return judge


def _sample_cases() -> list[Case]:
    """The bundled good answers, in three languages."""
    return [
        Case(
            id=row["id"],
            question=row["user_query"],
            submission=row["submission"],
            context=row["context"],
            rephrased=row["rephrased"],
        )
        for row in load_samples()
        if row["good"]
    ]


def _show_probes(report: ProbeReport) -> None:
    rows = table("Probe", "Kind", "Missed", "95 % interval", "n", "Mean change", right=("Missed", "n", "Mean change"))
    for probe in report.probes:
        missed = probe.missed
        cells = (_percent(missed), _range(missed), str(missed.n) if missed else "0", _change(probe))
        rows.add_row(plain(probe.name), probe.kind, *cells)
    console.print(rows)
    if report.failed:
        failures = f"Judgements that failed, and count as missed: {report.failed}. The last one: {report.problem}"
        console.print(plain(failures, "yellow"), soft_wrap=True)
    console.print(plain(f"\n{report.sentence}", STYLES[report.trust]), soft_wrap=True)
    console.print(plain(f"Judge and rubric: {report.judge}.", "dim"))


def _show_agreement(found: Agreement) -> None:
    rows = table("Measure", "Value", "95 % interval", "n", "Method", right=("Value", "n"))
    measures = {
        "agreement": found.agreed,
        "good answers that pass": found.true_positive,
        "bad answers that fail": found.true_negative,
        "true pass rate": found.pass_rate,
    }
    for name, interval in measures.items():
        method, n = (interval.method, str(interval.n)) if interval else ("", "0")
        rows.add_row(name, _percent(interval), _range(interval), n, method)
    kappa = found.kappa
    rows.add_row("kappa", f"{kappa.value:.2f}", f"{kappa.low:.2f} to {kappa.high:.2f}", str(kappa.n), kappa.method)
    console.print(rows)
    prevalence = f"People pass {100 * found.prevalence:.0f} % of the labelled answers, the judge {{:.0f}} % of all."
    console.print(plain(prevalence.format(100 * found.judged_pass_rate)), soft_wrap=True)
    console.print(plain(f"\n{found.sentence}", STYLES[found.trust]), soft_wrap=True)
    console.print(plain(f"Judge and rubric: {found.judge}.", "dim"))


def _change(probe: Probe) -> str:
    return f"{100 * probe.mean_change:+.1f}" if probe.missed else ""


def _percent(interval: Interval | None) -> str:
    return "–" if interval is None else f"{100 * interval.value:.1f}"


def _range(interval: Interval | None) -> str:
    return "" if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"
