"""`veracity init`."""

from __future__ import annotations

import shlex
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from veracity.cli.ui.console import console, plain
from veracity.errors import InputError, reason_of


def run(directory: Path) -> None:
    template = files("veracity") / "templates"
    for path, source in _files_of(template):
        _place(directory / path, source)
    here = "" if directory == Path() else f" --workspace {shlex.quote(str(directory))}"
    console.print(plain(f"\nThe workspace is ready. Next: veracity ingest PATH{here}"))


def _files_of(folder: Traversable, below: Path = Path()) -> list[tuple[Path, Traversable]]:
    found: list[tuple[Path, Traversable]] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            found += [] if entry.name == "__pycache__" else _files_of(entry, below / entry.name)
        else:
            found.append((below / entry.name, entry))
    return found


def _place(path: Path, source: Traversable) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(source.read_bytes())
    except OSError as problem:
        if not path.is_file():
            raise InputError(f"{path} cannot be created ({reason_of(problem)}): choose another place.") from None
        console.print(plain(f"kept     {path}"))
    else:
        console.print(plain(f"created  {path}"))
