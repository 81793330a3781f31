"""`veracity move-to`."""

from __future__ import annotations

from pathlib import Path

from veracity.cli.ui.console import console, count, error_console, plain, print_json
from veracity.errors import InputError
from veracity.transfer.move import move_store


def move_to(
    ledger: str | None,
    knowledge: str | None,
    uploads: str | None,
    s3_endpoint: str | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    if all(place is None for place in (ledger, knowledge, uploads, s3_endpoint)):
        raise InputError(
            "Name what to move: --ledger, --knowledge or --uploads with a URL, or with the word workspace."
        )
    moved = move_store(
        workspace,
        ledger=ledger,
        knowledge=knowledge,
        uploads=uploads,
        s3_endpoint=s3_endpoint,
        progress=lambda step: error_console.print(plain(step, "dim"), soft_wrap=True),
    )
    if as_json:
        print_json(moved)
        return
    parts = [f"{count(number, 'file')} of {setting}" for setting, number in moved.files.items()]
    if moved.rows:
        parts.append(f"{count(sum(moved.rows.values()), 'row')} of the ledger")
        parts.append(f"the progress of {count(moved.checkpoints, 'run')}")
    console.print(plain(f"Moved and compared: {', '.join(parts) or 'nothing was left to copy'}."), soft_wrap=True)
    if moved.wrote_settings:
        console.print(plain("veracity.toml is changed. On other machines, it must say the same:"), soft_wrap=True)
    else:
        console.print(
            plain("Change [store], in veracity.toml or in the environment, on all machines to:"), soft_wrap=True
        )
    console.print(plain(moved.lines or "# no [store]: everything is in the workspace"), soft_wrap=True)
    console.print(
        plain("The old place is marked as moved, and not deleted. It holds all texts: delete it when all works.")
    )
    for place in moved.left:
        console.print(plain(f"  {place}"), soft_wrap=True)
