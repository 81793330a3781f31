"""`veracity init`."""

from __future__ import annotations

import shlex
from pathlib import Path

from veracity.cli.ui.console import console, plain
from veracity.engine import create_workspace


def init(directory: Path) -> None:
    for path, is_new in create_workspace(directory):
        console.print(plain(f"{'created' if is_new else 'kept':<8} {path}"))
    option = "" if directory == Path() else f" --workspace {shlex.quote(str(directory))}"
    console.print(plain(f"\nThe workspace is ready. Next: veracity ingest PATH{option}"))
