"""`veracity doctor`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import typer

from veracity.cli.commands.evaluate import METRIC_SETS
from veracity.cli.ui.console import console, count, format_usage, plain, table
from veracity.doctor import Doctor, EmbedderFit, ModelCheck, SetupReport
from veracity.engine import Veracity, find_workspace
from veracity.errors import VeracityError
from veracity.models.calibration import Statement
from veracity.settings.states import SettingState


def doctor(workspace: Path | None, ask: bool, shows_all: bool) -> None:
    root = find_workspace(workspace)
    diagnosis = Doctor(root)
    report = diagnosis.report()
    checks = list(diagnosis.check_models(call_providers=ask))
    parts = {} if root is None else _check_parts(root)
    misfits = [] if root is None else _check_embedder(root, diagnosis, checks)
    statement = None if root is None else _read_calibration(root)
    if statement and statement.problem:
        misfits.append(statement.problem)
    failed = [
        *(f"{check.name} does not answer: {check.problem}" for check in checks if check.problem),
        *filter(None, parts.values()),
    ]
    _show_problems([*failed, *misfits, *report.warnings], ask)
    if root is None:
        console.print(plain("\nWorkspace: none (defaults and environment); create one with: veracity init"))
    else:
        console.print(plain(f"\nWorkspace: {root.resolve()}"))
        console.print(plain("  " + ", ".join(f"{name} {'failed' if parts[name] else 'ok'}" for name in parts)))
    for path, exists in report.files.items():
        console.print(plain(f"  {'valid' if exists else 'missing':<7} {path}"))
    _show_roles(report)
    _show_settings(report.settings, shows_all)
    console.print(plain(f"\nMetrics: {', '.join(report.metrics)} ({METRIC_SETS[report.metric_set]})"))
    if statement and not statement.withdrawn:
        console.print(plain(f"\nCalibration: {statement.sentence}"), soft_wrap=True)
    variables = ", ".join(report.provider_variables) or "none (such as OPENAI_API_KEY or ANTHROPIC_API_KEY)"
    console.print(plain(f"\nProvider variables present: {variables}"))
    if not report.models:
        console.print(plain("\nNo language model is configured."))
    for check in checks:
        if not check.problem:
            _show_check(check)
    raise typer.Exit(1 if failed else 0)


def _check_parts(root: Path) -> dict[str, str]:
    """The checks of the server's /readyz, by name: what is wrong, or nothing."""
    problems = {}
    with Veracity(root) as engine:
        for name, check in engine.maintenance.readiness_checks().items():
            try:
                check()
                problems[name] = ""
            except VeracityError as error:
                problems[name] = str(error)
    return problems


def _check_embedder(root: Path, diagnosis: Doctor, checks: list[ModelCheck]) -> list[str]:
    """Whether the embedder fits the documents. Nothing if it did not answer, or if the documents cannot be read."""
    fit = next((check.fit for check in checks if check.fit), None)
    if fit is None:
        return []
    try:
        with Veracity(root) as engine:
            languages = Counter(document.language for document in engine.documents())
            return diagnosis.index_warnings(fit, engine.maintenance.indexed_with(), languages)
    except VeracityError:  # reported as a failed part
        return []


def _read_calibration(root: Path) -> Statement | None:
    try:
        with Veracity(root) as engine:
            return engine.calibrator.statement()
    except VeracityError:  # a ledger that cannot be read is reported as a failed part
        return None


def _show_problems(problems: list[str], ask: bool) -> None:
    if not problems:
        console.print(plain("No problems found." if ask else "No problems found; no provider was called.", "green"))
        return
    console.print(plain(f"{count(len(problems), 'problem')}:", "bold red"))
    for problem in problems:
        console.print(plain(f"  • {problem}", "red"), soft_wrap=True)


def _show_roles(report: SetupReport) -> None:
    roles = table("Role", "Model")
    for role in report.roles:
        of_metrics = f" of {', '.join(role.metrics)}" if role.metrics else ""
        roles.add_row(role.role + of_metrics, plain(role.model or "none: local"))
    console.print()
    console.print(roles)
    if report.servers:
        servers = table("Server", "Address", "Key")
        for server in report.servers:
            state = "set" if server.has_key else "not set"
            servers.add_row(server.name, plain(server.url), f"{server.key_env} ({state})" if server.key_env else "none")
        console.print()
        console.print(servers)


def _show_settings(settings: list[SettingState], shows_all: bool) -> None:
    shown = [setting for setting in settings if shows_all or setting.is_changed]
    if not shown:
        console.print(plain("\nAll settings have their default values; --all lists them."))
        return
    rows = table("Setting" if shows_all else "Changed setting", "Value", "Environment variable")
    for setting in shown:
        value = "not set" if setting.value is None else setting.value
        rows.add_row(
            setting.name, plain(value), setting.variable + (" (set)" if setting.source == "environment" else "")
        )
    console.print()
    console.print(rows)
    if not shows_all:
        console.print(plain("The other settings have their default values; --all lists them.", "dim"))


def _show_check(check: ModelCheck) -> None:
    detail = f" ({format_usage(check.usage)})" if check.usage else ""
    detail += f" ({_describe_fit(check.fit)})" if check.fit else ""
    console.print(plain(f"\n{check.name} answers in {check.seconds:.1f} s{detail}", "green"), soft_wrap=True)
    if check.fit and check.fit.notice:
        console.print(plain(f"  {check.fit.notice}", "yellow"), soft_wrap=True)


def _describe_fit(fit: EmbedderFit) -> str:
    query, passage = fit.prefixes or ("", "")
    prefixes = f', prefixes "{query}" and "{passage}"' if query or passage else ""
    return f"{fit.dimensions} dimensions{prefixes}"
