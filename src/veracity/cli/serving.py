"""`veracity serve`."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from veracity import telemetry
from veracity.cli.console import console, plain
from veracity.engine import Veracity
from veracity.server.opening import Door, open_door
from veracity.workspace import open_workspace, workspace_or_here


def run(workspace: Path | None, host: str | None, port: int | None) -> None:
    root = workspace_or_here(workspace) or Path()
    open_workspace(root)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    telemetry.set_up()
    with Veracity(root, settings=_settings(root, host, port)) as engine:
        door = open_door(engine.settings.server, engine.users)
        from veracity.server.serving import serve  # noqa: PLC0415 - loads the web framework, and takes a while

        serve(engine, door, lambda door: _announce(root, door))


def _settings(root: Path, host: str | None, port: int | None) -> Any:
    settings = Veracity(root).settings
    given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
    return settings.model_copy(update={"server": settings.server.model_copy(update=given)})


def _announce(root: Path, door: Door) -> None:
    console.print(plain(f"Veracity serves {root.resolve()} at"), soft_wrap=True)
    console.print(plain(f"  {door.address}/{f'#token={door.token}' if door.is_new else ''}", "bold"), soft_wrap=True)
    told = "Whoever has this address may do everything here" if door.is_new else "Sign in with a token"
    console.print(plain(f"{told}. Ctrl-C stops it."))
