"""The command line: parses, calls, renders. Exit codes: 0 done, 1 failed, 2 bad input or configuration, 3 waiting
for a person, 4 busy, 5 decided already, 130 stopped."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from functools import cache

import typer

from veracity.cli.app import app
from veracity.errors import VeracityError, reason_of
from veracity.printable import visible

OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)


def main() -> None:
    _print_whatever_the_encoding()
    try:
        _command()(prog_name="veracity")
    except VeracityError as problem:
        _end(str(problem), problem.exit_code)
    except OSError as problem:  # what we read is checked where it is read
        if problem.errno not in OF_OUTPUT:
            _end(f"The system refused what was asked of it ({reason_of(problem)}).", 1)
        _forget_output()
        _end(f"The output cannot be written ({reason_of(problem)}).", 1)


@cache
def _command() -> Callable[..., object]:
    """Put together once: programs that call `main` again and again, as tests do, need not wait for that."""
    return typer.main.get_command(app)


def _end(message: str, code: int) -> None:
    print(f"veracity: {' '.join(visible(message).split())}", file=sys.stderr)
    sys.exit(code)


def _print_whatever_the_encoding() -> None:
    """On a terminal that cannot show a character, show its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Python would write the rest when it ends, and fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
