"""`veracity doctor`."""

from __future__ import annotations

from pathlib import Path

import typer

from veracity.cli.commands.evaluate import METRIC_SETS
from veracity.cli.ui.console import console, format_usage, plain, table
from veracity.doctor import Doctor, ModelCheck, SettingState
from veracity.engine import find_workspace


def doctor(workspace: Path | None, ask: bool) -> None:
    root = find_workspace(workspace)
    diagnosis = Doctor(root)
    report = diagnosis.report()
    if root is None:
        console.print(plain("Workspace: none (defaults and environment); create one with: veracity init"))
    else:
        console.print(plain(f"Workspace: {root.resolve()}"))
    for path, exists in report.files.items():
        console.print(plain(f"  {'valid' if exists else 'missing':<7} {path}"))
    _show_settings(report.settings)
    console.print(plain(f"\nMetrics: {', '.join(report.metrics)} ({METRIC_SETS[report.metric_set]})"))
    variables = ", ".join(report.provider_variables) or "none (such as OPENAI_API_KEY or ANTHROPIC_API_KEY)"
    console.print(plain(f"\nProvider variables present: {variables}"))
    for warning in report.warnings:
        console.print(plain(f"\nWarning: {warning}", "yellow"))
    if not report.models:
        console.print(plain("\nNo language model is configured."))
    has_failed = False
    for check in diagnosis.check_models(call_providers=ask):
        _show_check(check)
        has_failed |= bool(check.problem)
    raise typer.Exit(1 if has_failed else 0)


def _show_settings(settings: list[SettingState]) -> None:
    rows = table("Setting", "Value", "Environment variable")
    for setting in settings:
        value = "not set" if setting.value is None else setting.value
        rows.add_row(setting.name, plain(value), setting.variable + (" (set)" if setting.is_overridden else ""))
    console.print()
    console.print(rows)


def _show_check(check: ModelCheck) -> None:
    if check.problem:
        console.print(plain(f"\n{check.name} does not answer: {check.problem}", "red"))
        return
    detail = f" ({format_usage(check.usage)})" if check.usage else ""
    detail += f" ({check.dimensions} dimensions)" if check.dimensions else ""
    console.print(plain(f"\n{check.name} answers in {check.seconds:.1f} s{detail}", "green"))
