"""`veracity serve`."""

from __future__ import annotations

import html
import logging
import os
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from veracity import telemetry
from veracity.cli.commands.ingest import existing
from veracity.cli.ui.console import console, plain
from veracity.cli.ui.progress import complain
from veracity.engine import Veracity
from veracity.errors import reason_of
from veracity.server.listen import Door, open_door
from veracity.workspace import Workspace, open_workspace

LEADING = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}"><title>Veracity</title>'


@contextmanager
def browser_at(address: str, folder: Path) -> Iterator[None]:
    """The file is there until the end, since nobody knows when a browser has read it."""
    if not _has_screen():
        complain("There is no screen to open a browser on: open the address yourself.")
        yield
        return
    with ExitStack() as until_it_ends:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            place = until_it_ends.enter_context(TemporaryDirectory(dir=folder, prefix="open-"))  # nobody else looks in
            file = Path(place) / "veracity.html"
            file.write_text(LEADING.format(html.escape(address)), encoding="utf-8")
        except OSError as problem:
            complain(f"No browser can be opened ({reason_of(problem)}): open the address yourself.")
        else:  # on a thread: some browsers keep whoever started them waiting
            threading.Thread(target=webbrowser.open, args=(file.resolve().as_uri(),), daemon=True).start()
        yield


def _has_screen() -> bool:
    """Without one, a browser of the terminal would come up in the midst of the server."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def run(workspace: Path | None, host: str | None, port: int | None, opens: bool) -> None:
    root = existing(workspace)
    open_workspace(root)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    telemetry.set_up()
    with Veracity(root) as engine, ExitStack() as until_it_ends:
        given = {name: value for name, value in (("host", host), ("port", port)) if value is not None}
        door = open_door(engine.settings.server.model_copy(update=given), engine.users)
        from veracity.server.serve import serve  # noqa: PLC0415 - loads the web framework, and takes a while

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
