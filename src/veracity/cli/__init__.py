"""The command line: parses arguments, calls the engine and prints the result.

Exit codes: 0 success, 1 failure, 2 invalid input or configuration, 3 awaiting approval, 4 busy, 5 already decided, 6
cannot tell, 130 interrupted.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Callable
from functools import cache

import typer

from veracity.cli.app import app
from veracity.deferred_imports import own_process
from veracity.errors import VeracityError, reason_of
from veracity.printable import visible

INTERRUPTED = 130
OUTPUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)
SHORT_COMMANDS = ("ask", "search")  # end before there is much garbage, most of what they create are modules


def main() -> None:
    _escape_unprintable_output()
    _hide_late_interrupts()
    own_process()
    if sys.argv[1:2] and sys.argv[1] in SHORT_COMMANDS:
        gc.disable()
    try:
        _command()(prog_name="veracity")
    except VeracityError as error:
        _exit(str(error), error.exit_code)
    except OSError as error:  # errors of input files are handled where they are read
        if error.errno not in OUTPUT_ERRORS:
            _exit(f"The operating system reported an error ({reason_of(error)}).", 1)
        _discard_output()
        _exit(f"The output cannot be written ({reason_of(error)}).", 1)
    except RuntimeError as error:
        # Ctrl-C between two instructions of a lock: Python raises "release unlocked lock" on top of KeyboardInterrupt.
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        sys.exit(INTERRUPTED)
    finally:
        gc.enable()


@cache
def _command() -> Callable[..., object]:
    """Built once, for programs such as tests that call `main` repeatedly."""
    return typer.main.get_command(app)


def _exit(message: str, code: int) -> None:
    print(f"veracity: {' '.join(visible(message).split())}", file=sys.stderr)
    sys.exit(code)


def _escape_unprintable_output() -> None:
    """Escape characters that the terminal's encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@cache
def _hide_late_interrupts() -> None:
    """A second Ctrl-C may arrive while a generator is closed. Python would print its traceback, and go on."""
    report = sys.unraisablehook
    sys.unraisablehook = lambda problem: None if problem.exc_type is KeyboardInterrupt else report(problem)


def _discard_output() -> None:
    """Python flushes standard output on exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
