"""`veracity prune`: removes what is older than the settings `retention` allow."""

from __future__ import annotations

from pathlib import Path

import typer

from veracity.cli.ui.console import console, count, is_interactive, plain, print_json
from veracity.engine import Veracity, require_existing_workspace
from veracity.errors import InputError
from veracity.models import Pruned

NOTHING_SET = (
    "No retention is set, so everything is kept: set runs_days, receipts_days or conversations_days in [retention] of "
    "veracity.toml."
)


def prune(workspace: Path | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    if dry_run and yes:
        raise InputError("--dry-run and --yes exclude each other: use one of them.")
    with Veracity(require_existing_workspace(workspace)) as engine:
        if not any(engine.settings.retention.model_dump().values()):
            raise InputError(NOTHING_SET)
        pruned = engine.prune(dry_run=not yes)
        if not as_json:
            _print_report(pruned)
        if pruned.dry_run and not dry_run and not pruned.is_empty and not as_json:
            if not is_interactive():
                console.print(plain("Nothing was removed: use --yes to remove it."))
            elif typer.confirm("Remove it?"):
                pruned = engine.prune(dry_run=False)
                _print_report(pruned)
        if as_json:
            print_json(pruned)


def _print_report(pruned: Pruned) -> None:
    if pruned.oldest is None or pruned.newest is None:
        console.print(plain("Nothing has expired."))
        return
    parts = []
    if pruned.runs:
        complete = f" ({count(pruned.conversations, 'whole conversation')})" if pruned.conversations else ""
        parts.append(f"{count(pruned.runs, 'question')} with answers{complete}")
    if pruned.receipts:
        parts.append(f"the details of {count(pruned.receipts, 'receipt')}")
    begin = "Would remove" if pruned.dry_run else "Removed"
    asked = f"asked from {pruned.oldest:%Y-%m-%d} to {pruned.newest:%Y-%m-%d}"
    console.print(plain(f"{begin} {' and '.join(parts)}, {asked}."), soft_wrap=True)
