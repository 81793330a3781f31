"""The worker process: runs one task for one request after the other, under limits it cannot lift.

Started by `process.py` as `python -m veracity.reading.sandbox.worker package.module:function seconds megabytes`. Exits
when its standard input closes, so it never outlives its parent. Imports nothing but the standard library before the
limits are set.
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from typing import IO, Any

from veracity.reading.sandbox import progress
from veracity.reading.sandbox.frames import PART_SECONDS_FACTOR, FrameTooLong, receive, send

try:
    import resource
except ImportError:  # Windows: only the time limit applies, which the parent enforces
    resource = None  # type: ignore[assignment]

Task = Callable[[dict[str, Any]], dict[str, Any]]

RECURSION_LIMIT = 3_000
MAX_ERROR_LENGTH = 300
PR_SET_PDEATHSIG = 1
FORBIDDEN_EVENTS = (
    *("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"),
    *("os.remove", "os.rename", "os.truncate", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.chmod", "os.chown"),
)
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
ALLOWED_EVENTS = ("socket.gethostname",)


def main(task_name: str, seconds: float, megabytes: int) -> None:
    requests, replies = _private_pipes()
    _die_with_parent()
    _limit_resources(megabytes)
    sys.addaudithook(_refuse)
    sys.setrecursionlimit(RECURSION_LIMIT)
    try:
        task = _import_task(task_name)
    except BaseException as problem:  # noqa: BLE001 - reported to the parent, which gives up on this worker
        send(replies, _failure(problem))
        return
    send(replies, {"ready": True})
    progress.listen(lambda: _begin_part(replies, seconds))
    while True:
        try:
            request = receive(requests)
        except EOFError:
            return
        _limit_processor_time(seconds)
        if not _answer(task, request, replies):
            return


def _answer(task: Task, request: dict[str, Any], replies: IO[bytes]) -> bool:
    """False if this process must stop: after running out of memory it may be in any state."""
    try:
        send(replies, {"result": task(request)})
    except MemoryError:
        send(replies, {"error": "", "kind": "memory"})
        return False
    except FrameTooLong:
        send(replies, {"error": "", "kind": "size"})
    except Exception as problem:  # noqa: BLE001 - reported to the parent
        send(replies, _failure(problem))
        return not isinstance(problem, SystemError)  # a library failed internally, mostly out of memory
    return True


def _begin_part(replies: IO[bytes], seconds: float) -> None:
    send(replies, {"part": True})
    _limit_processor_time(seconds * PART_SECONDS_FACTOR)


def _failure(problem: BaseException) -> dict[str, Any]:
    text = " ".join(f"{type(problem).__name__}: {problem}".split())[:MAX_ERROR_LENGTH]
    return {"error": text.rstrip(": "), "kind": "memory" if isinstance(problem, MemoryError) else "error"}


def _import_task(task_name: str) -> Task:
    module, _, function = task_name.partition(":")
    task: Task = getattr(import_module(module), function)
    return task


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Move the pipes to other file descriptors, and discard what a parser prints."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    devnull = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(devnull, number)
    os.close(devnull)
    return requests, replies


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit_resources(megabytes: int) -> None:
    """Limit memory, forbid core dumps and file writes, and lower the priority."""
    if resource is None:
        return
    size = megabytes * 1_000_000
    for name, limit in (("RLIMIT_AS", size), ("RLIMIT_DATA", size), ("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0)):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # macOS has no limit on address space
            resource.setrlimit(getattr(resource, name), (limit, limit))
    with contextlib.suppress(OSError):
        os.nice(5)


def _limit_processor_time(seconds: float) -> None:
    """A backstop: the parent enforces the time limit."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 5
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook, which cannot be removed: refuses network access, subprocesses and file changes.

    It does not see what native code does without Python.
    """
    is_writing = event == "open" and bool((arguments[2] or 0) & WRITE_FLAGS) and arguments[0] != os.devnull
    if is_writing or (event.startswith(FORBIDDEN_EVENTS) and event not in ALLOWED_EVENTS):
        raise PermissionError(f"{event} is switched off while reading")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
