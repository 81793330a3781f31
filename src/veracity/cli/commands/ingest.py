"""`veracity ingest` and `veracity reindex`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from veracity.cli.ui.console import console, count, plain, shown_path
from veracity.engine import Veracity, require_workspace
from veracity.models import IngestReport, Outcome
from veracity.models.documents import Status

EXIT_FAILED, EXIT_INTERRUPTED = 1, 130
STYLES = {"added": "green", "updated": "green", "removed": "yellow", "skipped": "yellow", "failed": "red"}
STATUSES: tuple[Status, ...] = ("added", "updated", "unchanged", "removed", "skipped", "failed")

ProgressCallback = Callable[[Outcome, int | None], None]


def ingest(
    paths: Sequence[str],
    include: Sequence[str],
    exclude: Sequence[str],
    workspace: Path | None,
    prune: bool,
    as_json: bool,
) -> None:
    with Veracity(require_workspace(workspace)) as engine:

        def work(progress: ProgressCallback) -> IngestReport:
            return engine.ingest(paths, include=include, exclude=exclude, prune=prune, progress=progress)

        report = _show_progress("Ingesting", as_json, work)
    _finish(report, as_json)


def reindex(workspace: Path | None, as_json: bool) -> None:
    with Veracity(require_workspace(workspace)) as engine:
        report = _show_progress("Indexing", as_json, lambda progress: engine.reindex(progress=progress))
    _finish(report, as_json)


def _show_progress(title: str, as_json: bool, work: Callable[[ProgressCallback], IngestReport]) -> IngestReport:
    """Print each file when it is done, except unchanged ones, and a progress bar at a terminal."""
    screen = Console(stderr=True) if as_json else console
    with _progress_bar(screen) as bar:
        task = bar.add_task(title, total=None, rate="")
        done = passages = 0

        def progress(outcome: Outcome, remaining: int | None) -> None:
            nonlocal done, passages
            done, passages = done + 1, passages + outcome.passages
            rate = passages / max(bar.tasks[0].elapsed or 0, 0.1)
            total = None if remaining is None else done + remaining
            bar.update(task, completed=done, total=total, rate=f"{rate:,.0f} passages/s")
            if not as_json and outcome.status != "unchanged":
                screen.print(_line(outcome), soft_wrap=True)

        try:
            return work(progress)
        except KeyboardInterrupt:
            print(
                "veracity: Interrupted. The files reported so far are stored; run it again to continue.",
                file=sys.stderr,
            )
            raise typer.Exit(EXIT_INTERRUPTED) from None


def _progress_bar(screen: Console) -> Progress:
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
    detail = count(outcome.passages, "passage") if outcome.passages else outcome.reason
    status = plain(f"{outcome.status:9}", STYLES.get(outcome.status, ""))
    return status.append_text(plain(f" {shown_path(outcome.name)}" + (f"  ({detail})" if detail else "")))


def _finish(report: IngestReport, as_json: bool) -> None:
    counts = {status: report.count(status) for status in STATUSES}
    if as_json:
        data = {"counts": counts, "passages": report.passages, **report.model_dump(mode="json")}
        print(json.dumps(data, ensure_ascii=False, indent=2))
    else:
        files = ", ".join(f"{number} {status}" for status, number in counts.items() if number) or "no files"
        rate = f", {report.passages / report.seconds:,.0f} a second" if report.passages else ""
        summary = f"{files}: {count(report.passages, 'passage')} in {report.seconds:.1f} seconds{rate}"
        console.print(plain(summary, "bold"))
        if report.left_out:
            reasons = ", ".join(f"{reason} ({number:,})" for reason, number in report.left_out.items())
            console.print(plain(f"Left out: {reasons}", "dim"), soft_wrap=True)
    if counts["failed"]:
        raise typer.Exit(EXIT_FAILED)
