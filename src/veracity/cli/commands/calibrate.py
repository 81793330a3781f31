"""`veracity calibrate`: a threshold of the gate with a promise."""

from __future__ import annotations

from pathlib import Path

import typer

from veracity.cli.ui.console import console, count, plain, print_json
from veracity.engine import Veracity, require_existing_workspace
from veracity.experiments.decisions import CalibrationReport

CANNOT_TELL = 6


def calibrate(
    risk: float, confidence: float, separate: bool, dry_run: bool, workspace: Path | None, as_json: bool
) -> None:
    with Veracity(require_existing_workspace(workspace)) as engine:
        in_use = engine.settings.approval.calibrated
        report = engine.calibrator.calibrate(risk=risk, confidence=confidence, separate=separate, write=not dry_run)
    if as_json:
        print_json(report)
    else:
        _show(report, in_use=in_use, written=not dry_run)
    if report.statement is None:
        raise typer.Exit(CANNOT_TELL)


def _show(report: CalibrationReport, *, in_use: bool, written: bool) -> None:
    console.print(plain(report.sentence, "green" if report.statement else "yellow"), soft_wrap=True)
    if report.undecided:
        waiting = f"{count(report.undecided, 'answer')} not decided yet, which counts as wrong."
        console.print(plain(waiting, "yellow"), soft_wrap=True)
    if report.statement is None:
        return
    shown = {} if report.statement.separate else report.statement.languages
    for language, own in shown.items():
        console.print(plain(f"  {language}: {own.threshold:g} ({own.labels} decisions)"))
    if written:
        hint = "It is in force." if in_use else 'To use it, set approval.threshold = "calibrated" in veracity.toml.'
        console.print(plain(f"Written to calibration.json. {hint}", "dim"), soft_wrap=True)
