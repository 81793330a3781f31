"""`veracity backup` and `veracity restore`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from veracity.cli.ui.console import console, count, plain, print_json
from veracity.transfer.archive import Counts
from veracity.transfer.backup import back_up
from veracity.transfer.reforget import Reforgotten
from veracity.transfer.restore import restore_workspace


def make_backup(file: Path, force: bool, workspace: Path | None, as_json: bool) -> None:
    backup = back_up(workspace, file, force=force)
    if as_json:
        print_json(backup)
        return
    console.print(plain(f"{backup.file}: {_describe(backup.counts)}."), soft_wrap=True)
    sizes = f"{_size(backup.size)}, {_size(backup.content_size)} uncompressed"
    console.print(plain(f"{sizes}; written, read back and compared."), soft_wrap=True)


def restore_backup(file: Path, workspace: Path, replace: bool, forgotten: Sequence[Path], as_json: bool) -> None:
    restored = restore_workspace(file, workspace, replace=replace, journals=forgotten)
    if as_json:
        print_json(restored.model_copy(update={"manifest": restored.manifest.model_copy(update={"files": []})}))
        return
    manifest = restored.manifest
    held = f"{_describe(manifest.counts)}, as of {manifest.created:%Y-%m-%d %H:%M} UTC"
    console.print(plain(f"Restored {restored.workspace}: {held}."), soft_wrap=True)
    print_forgotten(restored.forgotten)
    if restored.replaced is not None:
        console.print(
            plain(f"The workspace before is in {restored.replaced}: delete it if you do not need it."), soft_wrap=True
        )
    if manifest.counts.users:
        console.print(plain("Roles of users are those of the backup: veracity users lists them."), soft_wrap=True)


def print_forgotten(forgotten: Reforgotten) -> None:
    if forgotten.is_empty:
        console.print(plain("Nothing that it brought back was forgotten later."), soft_wrap=True)
        return
    numbers = {
        "document": forgotten.documents,
        "conversation": forgotten.conversations,
        "user": len(forgotten.users),
        "token": len(forgotten.tokens),
    }
    parts = [count(number, noun) for noun, number in numbers.items() if number]
    console.print(plain(f"Forgot again: {', '.join(parts)}."), soft_wrap=True)
    for name in forgotten.tokens:
        console.print(plain(f"The token of {name} had been replaced: give a new one with veracity users renew {name}."))


def _describe(counts: Counts) -> str:
    return ", ".join(
        [
            f"{count(counts.documents, 'document')} ({count(counts.passages, 'passage')})",
            count(counts.uploads, "upload"),
            f"{count(counts.runs, 'run')} ({counts.pending:,} pending)",
            count(counts.users, "user"),
        ]
    )


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"
