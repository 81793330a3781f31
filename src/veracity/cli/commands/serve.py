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

from veracity.cli.ui.console import console, plain, print_error
from veracity.engine import Veracity, require_existing_workspace
from veracity.errors import ConfigurationError, reason_of
from veracity.maintenance import export_spans
from veracity.server.listen import Listener, open_listener

REDIRECT = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}"><title>Veracity</title>'


def serve(workspace: Path | None, host: str | None, port: int | None, opens_browser: bool, works: bool) -> None:
    root = require_existing_workspace(workspace)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    export_spans()
    with Veracity(root) as engine, ExitStack() as cleanup:
        if not works and not engine.settings.store.ledger:
            raise ConfigurationError("--no-work leaves questions to workers, which need Postgres: set store.ledger.")
        given: dict[str, str | int | None] = {"host": host, "port": port}
        options = {name: value for name, value in given.items() if value is not None}
        listener = open_listener(engine.settings.server, engine.users.any, options)
        from veracity.server.serve import serve  # noqa: PLC0415 - loads the web framework

        def announce(listener: Listener) -> None:
            _announce(root, listener)
            if opens_browser:
                cleanup.enter_context(open_browser(_address(listener), engine.private_folder))

        serve(engine, listener, announce, works=works)


@contextmanager
def open_browser(address: str, folder: Path) -> Iterator[None]:
    """Open a local file that redirects, because other users could read the token in a command line. The file exists
    until the end: the browser may read it late."""
    if not _has_display():
        print_error("No display for a browser: open the address yourself.")
        yield
        return
    with ExitStack() as cleanup:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            private = cleanup.enter_context(
                TemporaryDirectory(dir=folder, prefix="open-")
            )  # readable by this user only
            file = Path(private) / "veracity.html"
            file.write_text(REDIRECT.format(html.escape(address)), encoding="utf-8")
        except OSError as error:
            print_error(f"The browser cannot be opened ({reason_of(error)}): open the address yourself.")
        else:  # in a thread: some browsers block their caller
            threading.Thread(target=webbrowser.open, args=(file.resolve().as_uri(),), daemon=True).start()
        yield


def _has_display() -> bool:
    """Whether there is a display. Without it, `webbrowser` starts a text browser in the server's terminal."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _announce(root: Path, listener: Listener) -> None:
    console.print(plain(f"Veracity serves {root.resolve()} at"), soft_wrap=True)
    console.print(plain(f"  {_address(listener)}", "bold"), soft_wrap=True)
    access = "Anyone with this address has full access" if listener.is_new_token else "Sign in with a token"
    console.print(plain(f"{access}. Press Ctrl-C to stop."))


def _address(listener: Listener) -> str:
    """Includes the token only if it was just generated."""
    return f"{listener.address}/{f'#token={listener.token}' if listener.is_new_token else ''}"
