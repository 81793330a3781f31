"""`veracity models list` and `veracity models pull`."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from veracity.cli.ui.console import console, error_console, is_interactive, plain, print_json, table
from veracity.doctor import Doctor
from veracity.engine import find_workspace
from veracity.errors import InputError
from veracity.local_models.listing import ListedModel
from veracity.local_models.listing import list_models as listed_models
from veracity.local_models.models_folder import ModelsFolder
from veracity.local_models.pull import Puller, PullPlan

PROGRESS_SECONDS = 1.0


def list_models(workspace: Path | None, as_json: bool) -> None:
    doctor = Doctor(find_workspace(workspace))
    models = listed_models(doctor.settings, doctor.bundled_bytes())
    if as_json:
        print_json(models)
        return
    rows = table("Setting", "Role", "State", "Languages", "Size", "Licence", "Used by", right=("Size",))
    for model in models:
        rows.add_row(*map(plain, _cells(model)))
    console.print(rows)
    folder = ModelsFolder(doctor.settings.models.folder).path
    console.print(
        plain(f"\nPulled models are in {folder}. veracity models pull NAME fetches one that is known.", "dim")
    )


def pull_model(
    name: str, source: str | None, revision: str, file: str, yes: bool, workspace: Path | None, as_json: bool
) -> None:
    settings = Doctor(find_workspace(workspace)).settings
    puller = Puller(ModelsFolder(settings.models.folder), source)
    plan = puller.plan(name, revision, file)
    if not as_json:
        _show_plan(plan)
    if plan.is_pulled and not revision:
        _finish(plan, as_json, f"It is here already, and its files are intact: {plan.folder}")
        return
    if not yes:
        if as_json or not is_interactive():
            raise InputError("Nothing was fetched: add --yes to fetch it.")
        if not typer.confirm("Fetch it?"):
            raise typer.Exit(1)
    puller.pull(plan, _Progress().show)
    _finish(plan, as_json, f"Pulled to {plan.folder}. Its files are recorded in lock.json, and must stay the same.")


def _cells(model: ListedModel) -> tuple[str, ...]:
    size = f"{'~' if model.state == 'known' else ''}{_megabytes(model.size)}"
    languages = ", ".join(model.languages) or "unknown"
    return model.setting, model.role, model.state, languages, size, model.licence, ", ".join(model.used_by)


def _show_plan(plan: PullPlan) -> None:
    warning = ": NOT FOR COMMERCIAL USE" if plan.is_non_commercial else ""
    lines = {
        "Model": plan.repository,
        "Licence": f"{plan.licence or 'not stated: look at the model card'}{warning}",
        "Size": f"{_megabytes(plan.size)} in {len(plan.files)} files",
        "From": f"{plan.origin}{f', revision {plan.revision}' if plan.revision else ''}",
        "To": str(plan.folder),
    }
    for name, value in lines.items():
        console.print(plain(f"{name:<8} {value}"), soft_wrap=True)


def _finish(plan: PullPlan, as_json: bool, sentence: str) -> None:
    if as_json:
        print_json(plan)
        return
    console.print(plain(sentence, "green"), soft_wrap=True)
    console.print(plain(f'Use it: models.embedder = "{plan.kind}:{plan.name}", or models.reranker for a reranker.'))


class _Progress:
    """A line per file on standard error, and for large ones a line now and then."""

    def __init__(self) -> None:
        self._shown = 0.0

    def show(self, name: str, arrived: int, size: int) -> None:
        now = time.monotonic()
        if arrived < size and now - self._shown < PROGRESS_SECONDS:
            return
        self._shown = now
        error_console.print(plain(f"{name} {_megabytes(arrived)} of {_megabytes(size)}", "dim"), soft_wrap=True)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f} MB" if size < 10_000_000 else f"{size / 1_000_000:,.0f} MB"
