"""One worker process, seen from outside: started, asked, and ended.

It is not trusted: it is killed when its time is up, and whatever it says is checked. Knows nothing about queues and
threads.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Literal

from veracity.errors import reason_of
from veracity.reading.sandbox.frames import LONGEST, TooLong, receive, send
from veracity.secrets import KEY_VARIABLE, presentable, without_secrets

Kind = Literal["time", "memory", "size", "crash", "error", "closed"]

START_SECONDS = 120.0  # for importing the task, on a machine that is busy
END_SECONDS = 5.0
PASSED_ON = {"PATH", "LANG", "HOME", "TMP", "TEMP", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT"}
PASSED_ON_PREFIXES = ("PYTHON", "LC_", "COV_CORE_", "COVERAGE_")
# There are as many workers as there should be threads; and threads take address space.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "MALLOC_ARENA_MAX": "2",
}


class WorkerFailure(Exception):
    """A job came to nothing. `reason` goes on from "… failed: "; `kind` says which limit or fault it was."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(reason)
        self.kind: Kind = kind
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Order:
    """What every worker of a group is told."""

    task: str
    seconds: float
    memory_megabytes: int

    def command(self) -> list[str]:
        options = ["-P", "-m", "veracity.reading.sandbox.worker"]  # -P: no module of the current directory is imported
        return [sys.executable, *options, self.task, str(self.seconds), str(self.memory_megabytes)]


class WorkerProcess:
    def __init__(self, order: Order) -> None:
        self._order = order
        self._timed_out = False
        self.jobs = 0
        try:
            self._process = subprocess.Popen(
                order.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as problem:
            raise WorkerFailure("crash", f"no process to read it in could be started ({reason_of(problem)})") from None

    def wait_until_ready(self) -> None:
        """Raises when the task cannot even be imported."""
        self._result(self._exchange(None, START_SECONDS), "ready")

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.jobs += 1
        result = self._result(self._exchange(request, self._order.seconds), "result")
        if not isinstance(result, dict):
            raise WorkerFailure("crash", "the process that read it gave no sensible reply")
        return result

    @property
    def is_alive(self) -> bool:
        return not self._timed_out and self._process.poll() is None

    def kill(self) -> None:
        """End it now, whatever it is doing. May be called from any thread, more than once."""
        with contextlib.suppress(OSError):
            self._process.kill()

    def end(self) -> None:
        """Kill it and leave nothing behind."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):  # what it was never told cannot be flushed any more
                stream.close()

    def _exchange(self, request: dict[str, Any] | None, seconds: float) -> dict[str, Any]:
        """The next reply, after the request if there is one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._time_limit(seconds):
            if request is not None:
                self._send(self._process.stdin, request)
            try:
                return receive(self._process.stdout)
            except TooLong:
                raise WorkerFailure("size", _too_much_text()) from None
            except ValueError:
                raise WorkerFailure("crash", "the process that read it gave no sensible reply") from None
            except (EOFError, OSError):
                raise self._death(seconds) from None

    def _send(self, stream: IO[bytes], request: dict[str, Any]) -> None:
        try:
            send(stream, request)
        except TooLong:
            raise WorkerFailure("size", f"it is larger than {LONGEST // 1_000_000} MB") from None
        except OSError:  # it is gone: the lack of a reply tells why
            pass

    @contextlib.contextmanager
    def _time_limit(self, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, self._time_out)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _time_out(self) -> None:
        self._timed_out = True
        self.kill()

    def _death(self, seconds: float) -> WorkerFailure:
        """Why it is gone."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        code = self._process.returncode
        if self._timed_out or (hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU):
            return WorkerFailure("time", f"it took longer than {seconds:g} seconds to read")
        how = signal.Signals(-code).name if code is not None and -code in set(signal.Signals) else f"exit code {code}"
        return WorkerFailure("crash", f"the process that read it crashed ({how})")

    def _result(self, reply: dict[str, Any], expected: str) -> Any:
        if expected in reply:
            return reply[expected]
        kind = reply.get("kind")
        if kind == "memory":
            raise WorkerFailure("memory", f"it needs more than {self._order.memory_megabytes} MB of memory to read")
        if kind == "size":
            raise WorkerFailure("size", _too_much_text())
        raise WorkerFailure("error", presentable(without_secrets(str(reply.get("error", ""))), 300) or "reading failed")


def environment() -> dict[str, str]:
    """What a worker gets to see of ours: nothing that could be a credential."""
    passed = {
        name: value
        for name, value in os.environ.items()
        if (name.upper() in PASSED_ON or name.startswith(PASSED_ON_PREFIXES)) and not KEY_VARIABLE.search(name)
    }
    return ONE_THREAD | passed


def _too_much_text() -> str:
    return f"its text is larger than {LONGEST // 1_000_000} MB"
