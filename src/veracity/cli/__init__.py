"""The command line: parses, calls, renders. Exit codes: 0 done, 1 failed, 2 bad input or configuration, 130 stopped."""

from __future__ import annotations

import os
import sys

from veracity.cli.app import app
from veracity.errors import VeracityError


def main() -> None:
    try:
        app(prog_name="veracity")
    except VeracityError as problem:
        print(f"veracity: {problem}", file=sys.stderr)
        sys.exit(problem.exit_code)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
