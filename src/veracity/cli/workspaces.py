"""Which workspace a command works in."""

from __future__ import annotations

from pathlib import Path

from veracity.workspace import workspace_here


def workspace_or_here(named: Path | None) -> Path | None:
    """The one that was named, else the current directory if it is one, else none."""
    if named is not None:
        return named
    here = workspace_here()
    return here.root if here else None
