"""Lets a task tell that it begins the next part of a long document, such as a page to recognise.

Each part gets a time limit of its own. Outside of a worker process the calls have no effect.
"""

from collections.abc import Callable

_report: Callable[[], None] | None = None


def begin_part() -> None:
    if _report is not None:
        _report()


def listen(report: Callable[[], None]) -> None:
    """Set the function that `begin_part` calls. The worker process does this once."""
    global _report  # noqa: PLW0603 - one per process, like the pipe that it writes to
    _report = report
