"""Reads input at a terminal: line editing, history, wide characters and multi-line messages. Loads prompt_toolkit."""

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

from veracity.printable import encodable

CONTINUATION = "\\"  # at the end of a line: the message continues


def read_line(prompt: str) -> str | None:
    """Reads a line; None for Ctrl-C and Ctrl-D."""
    try:
        return encodable(PromptSession[str](history=InMemoryHistory()).prompt(prompt))
    except (KeyboardInterrupt, EOFError):
        return None


def discard_typed_input() -> None:
    """Discards input typed before the prompt appeared."""
    terminal = get_app_session().input
    clear_typeahead(terminal)
    with contextlib.suppress(ImportError, OSError, ValueError):  # no such terminal
        import termios  # noqa: PLC0415 - does not exist on Windows

        termios.tcflush(terminal.fileno(), termios.TCIFLUSH)


class Prompt:
    """Enter sends; Alt-Enter, or a backslash at the end of the line, starts a new line. Pasted text is one message.
    Ctrl-C clears the line, and leaves if it is empty."""

    def __init__(self, history_file: Path) -> None:
        self._is_leaving = False
        self._session: PromptSession[str] = PromptSession(
            history=_open_history(history_file),
            multiline=True,
            prompt_continuation="  ",
            key_bindings=self._key_bindings(),
            placeholder=lambda: [("ansibrightblack", "Ctrl-C again leaves")] if self._is_leaving else "",
            enable_open_in_editor=False,
        )
        self._session.default_buffer.on_text_changed += lambda _: self._stay()

    def read(self) -> str | None:
        """None if the user leaves."""
        self._is_leaving = False
        try:
            return encodable(self._session.prompt("> "))
        except (EOFError, KeyboardInterrupt):
            return None

    def _stay(self) -> None:
        self._is_leaving = False

    def _key_bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @Condition
        def is_continued() -> bool:
            return self._session.default_buffer.document.current_line_before_cursor.endswith(CONTINUATION)

        @keys.add("enter", filter=is_continued)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.delete_before_cursor()
            event.current_buffer.newline(copy_margin=False)

        @keys.add("enter", filter=~is_continued)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            if self._is_leaving:
                event.app.exit(exception=EOFError)
                return
            event.current_buffer.reset()
            self._is_leaving = True

        return keys


class _TolerantHistory(FileHistory):
    """A full disk does not end the conversation."""

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(encodable(string))


def _open_history(path: Path) -> History:
    """Readable by its owner only; in memory if the file cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
        path.chmod(0o600)
    except OSError:
        return InMemoryHistory()
    return _TolerantHistory(str(path))
