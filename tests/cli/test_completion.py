"""Completion of the command line in bash, zsh and fish, without loading what the commands need."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Run

COMPLETE = """
import os, sys
from veracity.cli import main
for shell, typed in (("bash", "COMP_WORDS"), ("zsh", "_TYPER_COMPLETE_ARGS"), ("fish", "_TYPER_COMPLETE_ARGS")):
    os.environ.update({"_VERACITY_COMPLETE": f"complete_{shell}", typed: "veracity ask --o", "COMP_CWORD": "2",
                       "_TYPER_COMPLETE_FISH_ACTION": "get-args"})
    sys.argv = ["veracity"]
    try:
        main()
    except SystemExit:
        pass
heavy = ("lancedb", "langgraph", "onnxruntime", "numpy", "sqlalchemy", "pydantic_ai", "fastapi", "veracity.engine")
print("loaded:", [name for name in heavy if name in sys.modules])
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("typed", "expected"),
    [("in", ["init", "ingest"]), ("ask --only", ["--only"]), ("users re", ["remove", "renew"]), ("nothing", [])],
)
def test_each_shell_completes(
    run: Run, monkeypatch: pytest.MonkeyPatch, shell: str, typed: str, expected: list[str]
) -> None:
    monkeypatch.setenv("_VERACITY_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", f"veracity {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"veracity {typed}")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    ran = run()
    words = ran.out.replace('"', " ").split()
    assert [word for word in expected if word not in words] == []
    assert not expected or "recover" not in words


def test_completion_loads_no_library_of_the_commands() -> None:
    """It runs at every press of the tab key. In one process, since each takes a moment to start."""
    ran = subprocess.run([sys.executable, "-c", COMPLETE], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.count("--only") == 3
    assert ran.stdout.splitlines()[-1] == "loaded: []"


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    command = tmp_path / "veracity"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m veracity "$@"\n')
    command.chmod(0o755)
    script = """
        source <(_VERACITY_COMPLETE=source_bash ./veracity)
        COMP_WORDS=(veracity inge) COMP_CWORD=1
        _veracity_completion ./veracity
        echo "${COMPREPLY[@]}"
    """
    bash = ["bash", "--norc", "-c", script]
    ran = subprocess.run(bash, capture_output=True, text=True, timeout=120, check=True, cwd=tmp_path)
    assert (ran.stdout, ran.stderr) == ("ingest\n", "")


def test_the_options_are_listed(run: Run) -> None:
    shown = run("--help").out
    assert "--install-completion" in shown and "--show-completion" in shown
