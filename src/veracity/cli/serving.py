"""`veracity serve`."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack
from pathlib import Path

from veracity import telemetry
from veracity.cli.browsing import browser_at
from veracity.cli.console import console, plain
from veracity.cli.ingesting import existing
from veracity.engine import Veracity
from veracity.server.opening import Door, open_door
from veracity.workspace import Workspace, open_workspace


def run(workspace: Path | None, host: str | None, port: int | None, opens: bool) -> None:
    root = existing(workspace)
    open_workspace(root)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    telemetry.set_up()
    with Veracity(root) as engine, ExitStack() as until_it_ends:
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        door = open_door(engine.settings.server.model_copy(update=given), engine.users)
        from veracity.server.serving import serve  # noqa: PLC0415 - loads the web framework, and takes a while

        def announce(door: Door) -> None:
            _announce(root, door)
            if opens:
                until_it_ends.enter_context(browser_at(_address(door), Workspace(root).ledger_folder))

        serve(engine, door, announce)


def _announce(root: Path, door: Door) -> None:
    console.print(plain(f"Veracity serves {root.resolve()} at"), soft_wrap=True)
    console.print(plain(f"  {_address(door)}", "bold"), soft_wrap=True)
    told = "Whoever has this address may do everything here" if door.is_new else "Sign in with a token"
    console.print(plain(f"{told}. Ctrl-C stops it."))


def _address(door: Door) -> str:
    """With the token only where nobody knows it yet."""
    return f"{door.address}/{f'#token={door.token}' if door.is_new else ''}"
