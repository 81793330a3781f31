"""A fork server: a process that imports everything, opens nothing, and forks a child for each task.

Each child starts in a fresh state without the cost of imports. LanceDB starts threads on import and restarts them in a
child; its warning about forks is suppressed.
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
CHILD_TIMEOUT_SECONDS = 90.0
HUNG = -1000  # exit code of a child that was killed after the timeout


class Child:
    """A forked process. Its pid stays valid until `wait` returns."""

    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self._pid = pid

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def wait(self, timeout: float = CHILD_TIMEOUT_SECONDS) -> int:
        """Returns the exit code, which is minus the signal if it was killed, or `HUNG` after the timeout."""
        return int(self._server.send("wait", [self._pid, timeout]))


class ForkServer:
    """Imports `modules` before the first fork. Use it as a context manager."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules

    def __enter__(self) -> ForkServer:
        started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.campaigns.fork_server", *self._modules],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.send("hello", 0)
        self.import_seconds = time.monotonic() - started
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._process:
            if self._process.stdin:
                self._process.stdin.close()

    def start(self, task: Callable[[dict[str, Any]], None], options: dict[str, Any]) -> Child:
        """`task` is a module-level function; `options` are JSON."""
        return Child(self, int(self.send("start", [task.__module__, task.__name__, options])))

    def send(self, command: str, value: object) -> str:
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("the server has no pipes")
        self._process.stdin.write(json.dumps([command, value]) + "\n")
        self._process.stdin.flush()
        if not (reply := self._process.stdout.readline()):
            raise AssertionError("the fork server has ended")
        return reply.strip()


def serve() -> None:
    """Executes commands from standard input until it is closed."""
    warnings.filterwarnings("ignore", message="lancedb fork support", category=RuntimeWarning)
    warnings.filterwarnings("ignore", message=".*multi-threaded", category=DeprecationWarning)
    for module in sys.argv[1:]:
        importlib.import_module(module)
    gc.freeze()
    for line in sys.stdin:
        command, value = json.loads(line)
        if command == "start":
            pid = os.fork()
            if not pid:
                os.dup2(2, 1)  # standard output carries replies
                _run(*value)
            print(pid, flush=True)
        else:
            print(_wait(*value) if command == "wait" else "ready", flush=True)


def _run(module: str, task: str, options: dict[str, Any]) -> None:
    code = 1
    try:
        getattr(sys.modules[module], task)(options)
        code = 0
    finally:
        os._exit(code)


def _wait(pid: int, timeout: float) -> int:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return HUNG


if __name__ == "__main__":
    serve()
