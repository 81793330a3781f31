"""`veracity ingest` and `veracity reindex`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from veracity.cli.ui.console import console, plain
from veracity.engine import Veracity
from veracity.errors import ConfigurationError
from veracity.models import IngestReport, Outcome
from veracity.models.documents import Status
from veracity.workspace import Workspace, workspace_or_here

STYLES = {"added": "green", "updated": "green", "removed": "yellow", "skipped": "yellow", "failed": "red"}
SHOWN: tuple[Status, ...] = ("added", "updated", "unchanged", "removed", "skipped", "failed")
FAILED, STOPPED = 1, 130

Watch = Callable[[Outcome, int | None], None]


def run(paths: Sequence[str], workspace: Path | None, prune: bool, as_json: bool) -> int:
    with Veracity(chosen(workspace)) as engine:
        report = _watched("Ingesting", as_json, lambda watch: engine.ingest(paths, prune=prune, progress=watch))
    return _tell(report, as_json)


def reindex(workspace: Path | None, as_json: bool) -> int:
    with Veracity(chosen(workspace)) as engine:
        report = _watched("Indexing", as_json, lambda watch: engine.reindex(progress=watch))
    return _tell(report, as_json)


def chosen(workspace: Path | None) -> Path:
    """The workspace that was named, or this directory, if it is one."""
    found = workspace_or_here(workspace)
    if found is None:
        raise ConfigurationError(
            'This directory is not a workspace: create one with "veracity init", or name one with --workspace DIR.'
        )
    return found


def existing(workspace: Path | None) -> Path:
    """The same, but one that is there: a folder that is none yet is not taken for an empty one."""
    found = Workspace(chosen(workspace))
    marks = (found.settings_file, found.evaluator_file, found.knowledge_folder, found.ledger_folder)
    if found.root.is_dir() and not any(path.exists() for path in marks):
        raise ConfigurationError(f'{found.root} is not a workspace: create one there with "veracity init".')
    return found.root


def _watched(doing: str, as_json: bool, work: Callable[[Watch], IngestReport]) -> IngestReport:
    """Each file on a line of its own as soon as its fate is certain; unchanged ones are only counted."""
    screen = Console(stderr=True) if as_json else console
    with _bar(screen) as bar:
        task = bar.add_task(doing, total=None, rate="")
        done = passages = 0

        def watch(outcome: Outcome, to_come: int | None) -> None:
            nonlocal done, passages
            done, passages = done + 1, passages + outcome.passages
            rate = passages / max(bar.tasks[0].elapsed or 0, 0.1)
            total = None if to_come is None else done + to_come
            bar.update(task, completed=done, total=total, rate=f"{rate:,.0f} passages/s")
            if not as_json and outcome.status != "unchanged":
                screen.print(_line(outcome), soft_wrap=True)

        try:
            return work(watch)
        except KeyboardInterrupt:
            print("veracity: Stopped. What was reported until then is stored; run it again to go on.", file=sys.stderr)
            raise typer.Exit(STOPPED) from None


def _bar(screen: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )


def _line(outcome: Outcome) -> Text:
    told = f"{counted(outcome.passages, 'passage')}" if outcome.passages else outcome.reason
    line = plain(f"{outcome.status:9}", STYLES.get(outcome.status, ""))
    return line.append_text(plain(f" {shown_path(outcome.name)}" + (f"  ({told})" if told else "")))


def _tell(report: IngestReport, as_json: bool) -> int:
    if as_json:
        print(json.dumps(_as_data(report), ensure_ascii=False, indent=2))
    else:
        parts = [f"{report.count(status)} {status}" for status in SHOWN if report.count(status)]
        rate = f", {report.passages / report.seconds:,.0f} a second" if report.passages else ""
        console.print(
            plain(
                f"{', '.join(parts) or 'no files'}: {counted(report.passages, 'passage')} "
                f"in {report.seconds:.1f} seconds{rate}",
                "bold",
            )
        )
    return FAILED if report.count("failed") else 0


def _as_data(report: IngestReport) -> dict[str, object]:
    counts = {status: report.count(status) for status in SHOWN}
    return {"counts": counts, "passages": report.passages, **report.model_dump(mode="json")}


def counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def shown_path(path: str) -> str:
    """On one line, and shorter where it stands below this directory."""
    here = f"{Path.cwd()}{os.sep}"
    return path.removeprefix(here).replace("\n", "�").replace("\t", "�")
