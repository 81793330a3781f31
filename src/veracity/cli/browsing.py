"""Opens an address in the browser of whoever sits there. Knows nothing about what is shown.

Other users of a machine see the commands that run on it, so the address, which holds a token, is no part of one: the
browser is given a file that leads there, and that only its owner can read.
"""

from __future__ import annotations

import html
import os
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from veracity.cli.watching import complain
from veracity.errors import reason_of

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
