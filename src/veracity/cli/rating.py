"""`veracity rate`."""

from __future__ import annotations

from pathlib import Path

from veracity.cli.console import console, plain
from veracity.cli.ingesting import existing
from veracity.cli.offering import login_name
from veracity.engine import Veracity
from veracity.models import Thumb

FOLLOWS = {
    "up": "Thanks.",
    "down": "The question is a weak point from now on, and the answer is not used again.",
}


def run(name: str, thumb: Thumb, why: str, by: str | None, workspace: Path | None, as_json: bool) -> None:
    with Veracity(existing(workspace)) as engine:
        given = engine.rate(name, thumb, why, by or login_name())
    if as_json:
        print(given.model_dump_json(indent=2))
        return
    console.print(
        plain(f"Thumb {given.thumb} for the answer of run {given.run_id}. {FOLLOWS[given.thumb]}"), soft_wrap=True
    )
