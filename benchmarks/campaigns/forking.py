"""A fork server: a process that imports everything and opens nothing, and forks a child for each task.

So a kill costs no import, and each child is as fresh as a process that was just started. LanceDB has threads of its own
from its import on; it starts them anew in a child, and warns of forks, since elsewhere there may be more to it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0  # seconds until a child that does not end is taken to hang


class Child:
    """A process that may have ended; its number is its own until the server was asked for its end."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self._pid = pid

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def wait(self, patience: float = PATIENCE) -> int:
        """What it ended with: 0, or minus the signal. A child that hangs is killed: -1000."""
        return int(self._server.ask("wait", [self._pid, patience]))


class ForkServer:
    """`modules` are imported before the first fork. Use it in a `with`."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules

    def __enter__(self) -> ForkServer:
        began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.campaigns.forking", *self._modules],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ask("hello", 0)
        self.imports = time.monotonic() - began
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        with self._process:
            if self._process.stdin:
                self._process.stdin.close()

    def start(self, task: Callable[[dict[str, Any]], None], given: dict[str, Any]) -> Child:
        """`task` is a function of a module, and what it is given is plain."""
        return Child(self, int(self.ask("start", [task.__module__, task.__name__, given])))

    def ask(self, what: str, about: object) -> str:
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("the server has no pipes")
        self._process.stdin.write(json.dumps([what, about]) + "\n")
        self._process.stdin.flush()
        if not (said := self._process.stdout.readline()):
            raise AssertionError("the fork server is gone")
        return said.strip()


def serve() -> None:
    """One command after the other, until nobody gives any more."""
    warnings.filterwarnings("ignore", message="lancedb fork support", category=RuntimeWarning)
    warnings.filterwarnings("ignore", message=".*multi-threaded", category=DeprecationWarning)
    for module in sys.argv[1:]:
        importlib.import_module(module)
    gc.freeze()
    for line in sys.stdin:
        what, about = json.loads(line)
        if what == "start":
            pid = os.fork()
            if not pid:
                os.dup2(2, 1)  # what it prints is no answer of ours
                _do(*about)
            print(pid, flush=True)
        else:
            print(_end_of(*about) if what == "wait" else "ready", flush=True)


def _do(module: str, task: str, given: dict[str, Any]) -> None:
    code = 1
    try:
        getattr(sys.modules[module], task)(given)
        code = 0
    finally:
        os._exit(code)


def _end_of(pid: int, patience: float) -> int:
    until = time.monotonic() + patience
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1000


if __name__ == "__main__":
    serve()
