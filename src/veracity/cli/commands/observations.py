"""`veracity observations export`."""

from __future__ import annotations

from pathlib import Path

from veracity.engine import Veracity, require_existing_workspace
from veracity.printable import json_line


def export(workspace: Path | None, as_json: bool) -> None:
    """Prints record by record: the file may be larger than the memory."""
    with Veracity(require_existing_workspace(workspace)) as engine:
        lines = (json_line(record) for record in engine.observations())
        if not as_json:
            for line in lines:
                print(line)
            return
        print("[", end="")
        for number, line in enumerate(lines):
            print(",\n" if number else "\n", line, sep="", end="")
        print("\n]")
