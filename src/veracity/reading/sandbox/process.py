"""The parent's side of one worker process: starts it, sends requests, ends it.

The worker is not trusted: it is killed when its time is up, and its replies are checked.
"""

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
from veracity.reading.sandbox.frames import MAX_FRAME_BYTES, PART_SECONDS_FACTOR, FrameTooLong, receive, send
from veracity.secrets import KEY_VARIABLE, presentable, without_secrets

Kind = Literal["time", "memory", "size", "crash", "error", "closed"]

TOO_MUCH_TEXT = f"its text is larger than {MAX_FRAME_BYTES // 1_000_000} MB"
INVALID_REPLY = "the process that read it sent an invalid reply"
START_SECONDS = 120.0  # for importing the task on a busy machine
END_SECONDS = 5.0
MAX_PARTS = 5_000  # of one document: a worker cannot prolong its time for ever
PASSED_VARIABLES = {"PATH", "LANG", "HOME", "TMP", "TEMP", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT"}
PASSED_PREFIXES = ("PYTHON", "LC_", "COV_CORE_", "COVERAGE_")
# The workers are the parallelism, and threads take address space.
SINGLE_THREADED = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "MALLOC_ARENA_MAX": "2",
}


class WorkerFailure(Exception):
    """A request failed. `reason` continues "… failed: "; `kind` is the limit or fault."""

    def __init__(self, kind: Kind, reason: str) -> None:
        super().__init__(reason)
        self.kind: Kind = kind
        self.reason = reason


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The same for all workers of a pool."""

    task: str
    seconds: float
    memory_megabytes: int

    def command(self) -> list[str]:
        options = ["-P", "-m", "veracity.reading.sandbox.worker"]  # -P: do not import from the current directory
        return [sys.executable, *options, self.task, str(self.seconds), str(self.memory_megabytes)]


class WorkerProcess:
    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._timed_out = False
        self.jobs = 0
        try:
            self._process = subprocess.Popen(
                settings.command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as problem:
            raise WorkerFailure("crash", f"no process could be started to read it ({reason_of(problem)})") from None

    def wait_until_ready(self) -> None:
        """Raises WorkerFailure if the task cannot be imported."""
        self._unwrap(self._exchange(None, START_SECONDS), "ready")

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.jobs += 1
        result = self._unwrap(self._exchange(request, self._settings.seconds), "result")
        if not isinstance(result, dict):
            raise WorkerFailure("crash", INVALID_REPLY)
        return result

    @property
    def is_alive(self) -> bool:
        return not self._timed_out and self._process.poll() is None

    def kill(self) -> None:
        """Kill the process now. Thread-safe and idempotent."""
        with contextlib.suppress(OSError):
            self._process.kill()

    def end(self) -> None:
        """Kill the process and close its pipes."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):  # a pending request cannot be flushed any more
                stream.close()

    def _exchange(self, request: dict[str, Any] | None, seconds: float) -> dict[str, Any]:
        """Send the request, if any, and return the next reply. Each part of a document has its own time limit."""
        assert self._process.stdin is not None
        with self._time_limit(seconds):
            if request is not None:
                self._send(self._process.stdin, request)
            reply = self._receive(seconds)
        for _ in range(MAX_PARTS):
            if "part" not in reply:
                return reply
            with self._time_limit(seconds * PART_SECONDS_FACTOR):
                reply = self._receive(seconds * PART_SECONDS_FACTOR)
        raise WorkerFailure("size", f"it has more than {MAX_PARTS:,} pages or parts")

    def _receive(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            return receive(self._process.stdout)
        except FrameTooLong:
            raise WorkerFailure("size", TOO_MUCH_TEXT) from None
        except ValueError:
            raise WorkerFailure("crash", INVALID_REPLY) from None
        except (EOFError, OSError):
            raise self._cause_of_death(seconds) from None

    def _send(self, stream: IO[bytes], request: dict[str, Any]) -> None:
        try:
            send(stream, request)
        except FrameTooLong:
            raise WorkerFailure("size", f"it is larger than {MAX_FRAME_BYTES // 1_000_000} MB") from None
        except OSError:  # it has died: `receive` finds out why
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

    def _cause_of_death(self, seconds: float) -> WorkerFailure:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        code = self._process.returncode
        if self._timed_out or (hasattr(signal, "SIGXCPU") and code == -signal.SIGXCPU):
            return WorkerFailure("time", f"it took longer than {seconds:g} seconds to read")
        how = signal.Signals(-code).name if code is not None and -code in set(signal.Signals) else f"exit code {code}"
        return WorkerFailure("crash", f"the process that read it crashed ({how})")

    def _unwrap(self, reply: dict[str, Any], expected: str) -> Any:
        if expected in reply:
            return reply[expected]
        kind = reply.get("kind")
        if kind == "memory":
            raise WorkerFailure("memory", f"it needs more than {self._settings.memory_megabytes} MB of memory to read")
        if kind == "size":
            raise WorkerFailure("size", TOO_MUCH_TEXT)
        raise WorkerFailure("error", presentable(without_secrets(str(reply.get("error", ""))), 300) or "reading failed")


def environment() -> dict[str, str]:
    """The environment of a worker, without anything that could be a credential."""
    passed = {
        name: value
        for name, value in os.environ.items()
        if (name.upper() in PASSED_VARIABLES or name.startswith(PASSED_PREFIXES)) and not KEY_VARIABLE.search(name)
    }
    return SINGLE_THREADED | passed
