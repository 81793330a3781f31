"""Options and help of the command line."""

import subprocess
import sys
import threading

import pytest

from tests.commands import Ran, Run
from veracity import __version__


def test_version(run: Run) -> None:
    assert run("--version").out == f"veracity {__version__}\n"


@pytest.mark.parametrize("command", [(), ("evaluate",), ("metrics",), ("doctor",), ("init",), ("demo",)])
def test_every_command_has_help(run: Run, command: tuple[str, ...]) -> None:
    ran = run(*command, "--help")
    assert ran.code == 0 and "Usage: veracity" in ran.out


def test_unknown_command_exits_with_2(run: Run) -> None:
    assert run("nonsense").code == 2


def test_ctrl_c_inside_a_lock_is_an_interrupt(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**_: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            threading.Lock().release()

    monkeypatch.setattr("veracity.cli._command", lambda: interrupt)
    assert run("doctor") == Ran(130, "", "")


def test_an_interrupt_of_a_closing_generator_prints_nothing() -> None:
    code = (
        "import sys, veracity.cli\n"
        "sys.argv = ['veracity', '--version']\n"
        "class Closed:\n"
        "    def __del__(self): raise error\n"
        "try: veracity.cli.main()\n"
        "except SystemExit: pass\n"
        "for error in (KeyboardInterrupt(), ValueError('other')): Closed()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "KeyboardInterrupt" not in ran.stderr and ran.stderr.count("Traceback") == 1 and "other" in ran.stderr
