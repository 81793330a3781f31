"""Options and help of the command line."""

import pytest

from tests.commands import Run
from veracity import __version__


def test_version(run: Run) -> None:
    assert run("--version").out == f"veracity {__version__}\n"


@pytest.mark.parametrize("command", [(), ("evaluate",), ("metrics",), ("doctor",), ("init",), ("demo",)])
def test_every_command_has_help(run: Run, command: tuple[str, ...]) -> None:
    ran = run(*command, "--help")
    assert ran.code == 0 and "Usage: veracity" in ran.out


def test_unknown_command_exits_with_2(run: Run) -> None:
    assert run("nonsense").code == 2
