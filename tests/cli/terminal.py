"""A pseudo-terminal to type at and read from."""

import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from prompt_toolkit.application import create_app_session

from tests.commands import Ran
from veracity.cli import main

ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[()][A-Z0-9]|\x1b[=>]|\r")
TIMEOUT_SECONDS = 60.0

Typed = tuple[str, str]
"""The text to wait for, and what to type then."""

Talk = Callable[..., Ran]


class Terminal:
    def __init__(self, columns: int = 100) -> None:
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._shown = b""
        self._changed = threading.Condition()
        self._at = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def shown(self) -> str:
        return ESCAPES.sub("", self._shown.decode("utf-8", "ignore"))

    def expect(self, text: str) -> None:
        """Wait until the text is shown, after the text that was expected before."""
        end = time.monotonic() + TIMEOUT_SECONDS
        with self._changed:
            while (found := self.shown.find(text, self._at)) < 0:
                if not self._changed.wait(max(0.0, end - time.monotonic())):
                    raise AssertionError(f"{text!r} was not shown, but:\n{self.shown[self._at :]}")
            self._at = found + len(text)

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def close(self) -> None:
        os.close(self.theirs)
        self._reader.join(TIMEOUT_SECONDS)
        os.close(self.ours)

    def _read(self) -> None:
        while True:
            try:
                read = os.read(self.ours, 65536)
            except OSError:  # the other end is closed
                return
            with self._changed:
                self._shown += read
                self._changed.notify_all()


@contextmanager
def attached_to(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Redirect the streams of this process to the terminal."""
    opened = [os.fdopen(os.dup(terminal.theirs), mode, encoding="utf-8") for mode in ("r", "w", "w")]
    with monkeypatch.context() as patched, create_app_session():
        for name, stream in zip(("stdin", "stdout", "stderr"), opened, strict=True):
            patched.setattr(sys, name, stream)
        patched.setenv("COLUMNS", "100")
        patched.setenv("TERM", "xterm-256color")
        patched.setenv("PROMPT_TOOLKIT_NO_CPR", "1")
        yield
    for stream in opened:
        stream.close()


def make_talk(monkeypatch: pytest.MonkeyPatch) -> Talk:
    def talk(*arguments: object, typed: list[Typed]) -> Ran:
        terminal = Terminal()
        failed: list[AssertionError] = []

        def type_all() -> None:
            try:
                for awaited, text in typed:
                    terminal.expect(awaited)
                    terminal.type(text)
            except AssertionError as problem:
                failed.append(problem)
                os.kill(os.getpid(), signal.SIGINT)

        typist = threading.Thread(target=type_all, daemon=True)
        monkeypatch.setattr(sys, "argv", ["veracity", *map(str, arguments)])
        with attached_to(terminal, monkeypatch):
            typist.start()
            with pytest.raises(SystemExit) as stopped:
                main()
        typist.join(TIMEOUT_SECONDS)
        terminal.close()
        assert not failed, failed[0]
        code = stopped.value.code
        return Ran(code if isinstance(code, int) else 0, terminal.shown, "")

    return talk
