"""Reads what somebody types at a terminal: line editing, history, wide characters, messages of several lines.

Loads prompt_toolkit. Knows nothing about what is typed.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application.current import get_app_session
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from veracity.ledger import forget
from veracity.printable import encodable

CONTINUED = "\\"  # at the end of a line: the message goes on


def line(question: str) -> str | None:
    """One line, or None from somebody who goes away (Ctrl-C, Ctrl-D)."""
    try:
        return encodable(PromptSession[str](history=InMemoryHistory()).prompt(question))
    except (KeyboardInterrupt, EOFError):
        return None


def drop_typed() -> None:
    """What was typed before it was asked for is no answer."""
    waiting = get_app_session().input
    clear_typeahead(waiting)
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such terminal
        import termios  # noqa: PLC0415 - not there on Windows

        termios.tcflush(waiting.fileno(), termios.TCIFLUSH)


class Prompt:
    """Enter sends; Alt-Enter, or a backslash at the end of the line, begins another one. What is pasted is one
    message. Ctrl-C clears the line, and leaves when it is clear already."""

    def __init__(self, folder: Path) -> None:
        self._leaving = False
        self._session: PromptSession[str] = PromptSession(
            history=_history(folder / forget.FILE_TYPED),
            multiline=True,
            prompt_continuation="  ",
            key_bindings=self._keys(),
            placeholder=lambda: [("ansibrightblack", "Ctrl-C again leaves")] if self._leaving else "",
            enable_open_in_editor=False,
        )
        self._session.default_buffer.on_text_changed += lambda _: self._stay()

    def read(self) -> str | None:
        """None from somebody who leaves."""
        self._leaving = False
        try:
            return encodable(self._session.prompt("> "))
        except (EOFError, KeyboardInterrupt):
            return None

    def _stay(self) -> None:
        self._leaving = False

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @Condition
        def goes_on() -> bool:
            return self._session.default_buffer.document.current_line_before_cursor.endswith(CONTINUED)

        @keys.add("enter", filter=goes_on)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.delete_before_cursor()
            event.current_buffer.newline(copy_margin=False)

        @keys.add("enter", filter=~goes_on)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            if self._leaving:
                event.app.exit(exception=EOFError)
                return
            event.current_buffer.reset()
            self._leaving = True

        return keys


class _KeptHistory(FileHistory):
    """What cannot be kept is no reason to end a conversation."""

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(encodable(string))


def _history(path: Path) -> History:
    """Only its owner may read it. Where it cannot be kept, it lasts as long as the conversation."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return _KeptHistory(str(path))
