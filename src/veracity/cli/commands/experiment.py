"""`veracity experiment`: run suites of cases, compare experiments and write reports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from veracity.cli.ui.console import (
    console,
    count,
    error_console,
    format_usage,
    one_line,
    plain,
    print_json,
    reader_language,
    table,
)
from veracity.engine import Veracity, require_existing_workspace
from veracity.errors import InputError, NotFoundError, VeracityError
from veracity.experiments.comparison import Comparison, percent, points
from veracity.experiments.comparison import compare as compare_records
from veracity.experiments.gate import EXIT_CODES, GateVerdict, check_gate
from veracity.experiments.paired import PairedTest
from veracity.experiments.proposals import cases_from_approvals, cases_from_feedback, write_cases
from veracity.experiments.records import LAST, Records, experiment_folder, list_experiments
from veracity.experiments.report import Report, describe, make_report, measures, write_report
from veracity.experiments.running import Forecast, OnProgress, Options, Plan, plan, require_documents, run
from veracity.experiments.running import Progress as CaseProgress
from veracity.experiments.suite import FOLDER as SUITES
from veracity.experiments.suite import Case, Gate, find_suite, open_suite
from veracity.experiments.summary import Summary, summarize
from veracity.locales import LANGUAGES
from veracity.models import Receipt
from veracity.secrets import presentable

SOURCES = ("approvals", "feedback")
MAX_PROPOSED = 10_000
MAX_LISTED = 20  # cases
STYLES = {"passed": "green", "better": "green", "equivalent": "green", "failed": "red", "worse": "red"}


def check_suite(name: str, workspace: Path | None) -> None:
    root = require_existing_workspace(workspace)
    suite = open_suite(find_suite(name, root))
    with Veracity(root) as engine:
        require_documents(engine, suite)
        if suite.settings.metrics:
            engine.conditions.require_metrics(suite.settings.metrics)
    console.print(plain(f"{suite.file}: {count(len(suite.ids), 'case')}, valid."), soft_wrap=True)


def run_experiment(
    suite: str, options: Options, gate: bool, language: str | None, workspace: Path | None, as_json: bool
) -> None:
    root, written_in = require_existing_workspace(workspace), _choose_language(language)
    with Veracity(root) as engine, engine.variant(options.overrides) as variant:
        work = plan(variant, root, suite, options)
        if gate:
            _require_gate(work.records)
        baseline = _baseline(root, work.records, "")
        error_console.print(plain(format_forecast(work)), soft_wrap=True)
        problem = _run(variant, work)
        report = _report(work.records, baseline, judge_gate=gate)
        files = write_report(work.records.folder, report, lambda run_id: _receipt(engine, run_id), written_in)
    if as_json:
        print_json(report)
    else:
        _show_report(report)
        console.print(plain(f"\nThe report is in {files[-1]}.", "dim"), soft_wrap=True)
    if problem:
        raise problem
    if gate and report.gate:
        raise typer.Exit(EXIT_CODES[report.gate.outcome])
    if report.summary.failed:
        raise typer.Exit(1)


def list_all(workspace: Path | None, as_json: bool) -> None:
    found = list_experiments(require_existing_workspace(workspace))
    if as_json:
        print_json([records.manifest for records in found])
        return
    if not found:
        console.print(plain("No experiments yet: veracity experiment run SUITE."))
        return
    rows = table("Experiment", "Suite", "Started", "Finished", "Passed", right=("Finished", "Passed"))
    for records in found:
        summary = summarize(records)
        passed = percent(summary.passed.value) if summary.passed else ""
        finished = f"{summary.finished}/{records.manifest.total}"
        started = f"{records.manifest.created:%Y-%m-%d %H:%M}"
        rows.add_row(plain(records.manifest.name), plain(records.manifest.suite), started, finished, passed)
    console.print(rows)


def show(name: str, workspace: Path | None, as_json: bool) -> None:
    summary = summarize(_find(require_existing_workspace(workspace), name))
    if as_json:
        print_json(summary)
        return
    console.print(plain(describe(summary)), soft_wrap=True)
    _show_summary(summary)
    _show_missed(summary)


def compare(a: str, b: str, gate: bool, workspace: Path | None, as_json: bool) -> None:
    root = require_existing_workspace(workspace)
    comparison = compare_records(_find(root, a), _find(root, b))
    if as_json:
        print_json(comparison)
    else:
        console.print(plain(comparison.sentence, STYLES.get(comparison.verdict, "yellow")), soft_wrap=True)
        _show_comparison(comparison)
    if gate:
        raise typer.Exit({"worse": 1, "cannot tell": 6}.get(comparison.verdict, 0))


def write_reports(
    name: str, against: str, output: Path | None, gate: bool, language: str | None, workspace: Path | None
) -> None:
    root, written_in = require_existing_workspace(workspace), _choose_language(language)
    records = _find(root, name)
    if gate and not against:
        _require_gate(records)
    report = _report(records, _baseline(root, records, against), judge_gate=gate)
    folder = output or records.folder
    folder.mkdir(parents=True, exist_ok=True)
    with Veracity(root) as engine:
        files = write_report(folder, report, lambda run_id: _receipt(engine, run_id), written_in)
    console.print(plain(report.verdict), soft_wrap=True)
    for file in files:
        console.print(plain(file), soft_wrap=True)
    if gate and report.gate:
        raise typer.Exit(EXIT_CODES[report.gate.outcome])


def _choose_language(given: str | None) -> str:
    """The language of the page: the given one, or that of the terminal. Raises `InputError` for one without texts."""
    if given is not None and given not in LANGUAGES:
        raise InputError(
            f"--language must be {', '.join(LANGUAGES[:-1])} or {LANGUAGES[-1]}, not {presentable(given)}."
        )
    return given or reader_language() or "en"


def propose_cases(source: str, output: Path | None, force: bool, workspace: Path | None) -> None:
    root = require_existing_workspace(workspace)
    if source not in SOURCES:
        raise InputError(f"--from is {' or '.join(SOURCES)}, not {source!r}.")
    path = output or root / SUITES / "proposed.jsonl"
    with Veracity(root) as engine:
        cases = list(_propose(engine, source))
    if not cases:
        console.print(plain(f"No cases: there are no {'decisions' if source == 'approvals' else 'ratings'} yet."))
        return
    written = write_cases(path, cases, force=force)
    text = f"{count(written, 'case')} in {path}: check them, and move those you want into a suite."
    console.print(plain(text), soft_wrap=True)


def _propose(engine: Veracity, source: str) -> Iterator[Case]:
    if source == "approvals":
        return cases_from_approvals(engine.approvals(limit=MAX_PROPOSED, state="any"))
    rated = ((rating, _receipt(engine, rating.run_id)) for rating in engine.latest_feedback(MAX_PROPOSED))
    return cases_from_feedback((rating, receipt) for rating, receipt in rated if receipt)


def format_forecast(work: Plan) -> str:
    forecast, manifest = work.forecast, work.records.manifest
    cases = f"{count(manifest.cases, 'case')}{f' × {manifest.repeats}' if manifest.repeats > 1 else ''}"
    known = [(forecast.finished, "finished"), (forecast.reused, "reused"), (forecast.left, "to run")]
    states = ", ".join(f"{number:,} {state}" for number, state in known if number)
    return f"{manifest.name}: {cases}; {states}.{_estimate(forecast)}"


def _estimate(forecast: Forecast) -> str:
    if not forecast.left:
        return ""
    if forecast.calls is None:
        return " Cost and time are not known before the first cases."
    cost = "cost unknown" if forecast.cost_usd is None else f"${forecast.cost_usd:.2f}"
    minutes = (forecast.seconds or 0) / 60
    return f" About {forecast.calls:,} model calls, {cost}, {minutes:.1f} minutes of runs (as in {forecast.basis})."


def _run(engine: Veracity, work: Plan) -> VeracityError | None:
    """What stopped the experiment early, if anything did: the results so far are reported first."""
    try:
        with _progress_bar(work.forecast) as on_progress:
            run(engine, work, on_progress)
    except KeyboardInterrupt:
        done = sum(1 for _ in work.records.finished())
        text = f"Interrupted: {done} of {work.forecast.total} are finished. The same command goes on with the rest."
        error_console.print(plain(text, "yellow"), soft_wrap=True)
        raise
    except VeracityError as problem:
        return problem
    return None


@contextmanager
def _progress_bar(forecast: Forecast) -> Iterator[OnProgress]:
    """On a terminal only."""
    if not error_console.is_terminal:
        yield lambda progress: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"), TimeRemainingColumn())
    with Progress(*columns, console=error_console, transient=True) as bar:
        task = bar.add_task("", total=forecast.total, completed=forecast.finished, note="")

        def on_progress(progress: CaseProgress) -> None:
            cost = "" if not progress.usage.calls else f"{format_usage(progress.usage)}"
            failed = f"{progress.failed} failed" if progress.failed else ""
            bar.update(task, completed=progress.finished, note="  ".join(filter(None, (failed, cost))))

        yield on_progress


def _find(root: Path, name: str, before: Records | None = None) -> Records:
    """The experiment with this name, or the latest; with `before`, the latest other one."""
    if name != LAST:
        return Records.load(experiment_folder(root, name))
    if found := [records for records in list_experiments(root) if before is None or records.folder != before.folder]:
        return found[0]
    raise NotFoundError("There is no experiment yet: veracity experiment run SUITE.")


def _baseline(root: Path, records: Records, against: str) -> Records | None:
    """The experiment to compare with: the named one, or the baseline of the suite's gate."""
    name = against or records.manifest.settings.gate.baseline
    return _find(root, name, records) if name and name != records.manifest.name else None


def _require_gate(records: Records) -> None:
    """A gate that requires nothing would pass whatever the answers are."""
    if records.manifest.settings.gate == Gate():
        suite = records.manifest.suite
        raise InputError(f'--gate has nothing to check: the suite "{suite}" has no [gate] in the .toml file beside it.')


def _report(records: Records, baseline: Records | None, *, judge_gate: bool) -> Report:
    summary, comparison = summarize(records), None
    if baseline and summary.finished:
        try:
            comparison = compare_records(baseline, records)
        except InputError as problem:  # no case in common: the gate cannot tell
            error_console.print(plain(problem, "yellow"), soft_wrap=True)
    gate = check_gate(records.manifest.settings.gate, summary, comparison) if judge_gate else None
    return make_report(summary, comparison, gate)


def _receipt(engine: Veracity, run_id: str) -> Receipt | None:
    try:
        return engine.receipt(run_id)
    except NotFoundError:  # removed by retention
        return None


def _show_report(report: Report) -> None:
    verdict = report.comparison.verdict if report.comparison else ""
    console.print(plain(report.verdict, STYLES.get(verdict, "")), soft_wrap=True)
    _show_summary(report.summary)
    if report.comparison:
        _show_comparison(report.comparison)
    else:
        _show_missed(report.summary)
    if report.gate:
        _show_gate(report.gate)


def _show_summary(summary: Summary) -> None:
    rows = table("Measure", "Value", "95 % interval", "n", "Method", right=("Value", "95 % interval", "n"))
    for name, interval, scale in measures(summary):
        low, high = f"{scale * interval.low:.1f}", f"{scale * interval.high:.1f}"
        rows.add_row(plain(name), f"{scale * interval.value:.1f}", f"{low} to {high}", str(interval.n), interval.method)
    if rows.row_count:
        console.print(rows)
    if summary.flaky:
        console.print(plain(f"Flaky: {', '.join(summary.flaky[:MAX_LISTED])}", "yellow"), soft_wrap=True)
    if summary.usage.calls:
        console.print(plain(f"{format_usage(summary.usage)}.", "dim"), soft_wrap=True)


def _show_missed(summary: Summary) -> None:
    if summary.missed:
        rows = table("Did not pass", "Why", "Run", whole=("Run",))
        for case in summary.missed[:MAX_LISTED]:
            run_id = case.run_ids[-1] if case.run_ids else ""
            rows.add_row(plain(one_line(case.case)), plain(one_line("; ".join(case.faults))), plain(run_id))
        _print_some(rows, summary.missed_count)
    for failed in summary.failed[:MAX_LISTED]:
        console.print(plain(f"{failed.case} failed: {one_line(failed.problem)}", "red"), soft_wrap=True)


def _show_comparison(comparison: Comparison) -> None:
    rows = table(
        "Measure", "A", "B", "Difference", "95 % interval", "p", "Verdict", right=("A", "B", "Difference", "p")
    )
    for test in (comparison.passed, *comparison.slices, *comparison.metrics):
        rows.add_row(*_test_cells(test))
    console.print(rows)
    if comparison.regressions:
        regressions = table("Regression", "Why", "Before", "Now", whole=("Before", "Now"))
        for pair in comparison.regressions[:MAX_LISTED]:
            why = one_line("; ".join(pair.b_faults))
            regressions.add_row(plain(one_line(pair.case)), plain(why), plain(pair.a_run), plain(pair.b_run))
        _print_some(regressions, comparison.regression_count)
    notes = [f"{comparison.improvement_count} improved", f"{comparison.left_out} in one of them only"]
    differs = f"What differs: {', '.join(comparison.differs)}" if comparison.differs else "Nothing recorded differs"
    console.print(plain(f"{'; '.join(notes)}. {differs}.", "dim"), soft_wrap=True)


def _test_cells(test: PairedTest) -> list[str]:
    scale = 1.0 if test.margin < 1 else 0.01
    interval = test.difference
    low, high = points(scale * interval.low), points(scale * interval.high)
    values = [f"{100 * scale * value:.1f}" for value in (test.a, test.b)]
    return [
        test.measure,
        *values,
        points(scale * interval.value),
        f"{low} to {high}",
        f"{test.adjusted_p:.3f}",
        test.verdict,
    ]


def _show_gate(gate: GateVerdict) -> None:
    console.print(plain(f"Gate: {gate.outcome}", STYLES.get(gate.outcome, "yellow")))
    for requirement in gate.requirements:
        console.print(plain(f"  {requirement.outcome}: {requirement.sentence}"), soft_wrap=True)


def _print_some(rows: Table, total: int) -> None:
    console.print(rows)
    if total > MAX_LISTED:
        console.print(plain(f"{MAX_LISTED} of {total} are shown.", "dim"))
