"""What runs in a worker process: one task, for one request after the other, under limits it cannot lift.

Started by `isolation` as `python -m veracity.reading.worker package.module:function seconds megabytes`. Ends when its
standard input does, so it never outlives whoever started it. Imports nothing but the standard library before the
limits stand. Knows nothing about what the task does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from typing import IO, Any

from veracity.reading.sandbox.frames import TooLong, receive, send

try:
    import resource
except ImportError:  # Windows: the time limit, which the other end keeps, still holds
    resource = None  # type: ignore[assignment]

Task = Callable[[dict[str, Any]], dict[str, Any]]

RECURSION_LIMIT = 3_000
LONGEST_ERROR = 300
PR_SET_PDEATHSIG = 1
FORBIDDEN = (
    *("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"),
    *("os.remove", "os.rename", "os.truncate", "os.link", "os.symlink", "os.mkdir", "os.rmdir", "os.chmod", "os.chown"),
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
HARMLESS = ("socket.gethostname",)


def main(task_name: str, seconds: float, megabytes: int) -> None:
    requests, replies = _private_pipes()
    _die_with_parent()
    _limit(megabytes)
    sys.addaudithook(_refuse)
    sys.setrecursionlimit(RECURSION_LIMIT)
    try:
        task = _named(task_name)
    except BaseException as problem:  # noqa: BLE001 - told to the other end, which gives up on us
        send(replies, _failure(problem))
        return
    send(replies, {"ready": True})
    _serve(task, requests, replies, seconds)


def _serve(task: Task, requests: IO[bytes], replies: IO[bytes], seconds: float) -> None:
    while True:
        try:
            request = receive(requests)
        except EOFError:
            return
        _limit_processor_time(seconds)
        if not _answer(task, request, replies):
            return


def _answer(task: Task, request: dict[str, Any], replies: IO[bytes]) -> bool:
    """False when this process should serve no longer: what ran out of memory may be in any state."""
    try:
        send(replies, {"result": task(request)})
    except MemoryError:
        send(replies, {"error": "", "kind": "memory"})
        return False
    except TooLong:
        send(replies, {"error": "", "kind": "size"})
    except Exception as problem:  # noqa: BLE001 - told to the other end
        send(replies, _failure(problem))
        return not isinstance(problem, SystemError)  # a library that went wrong inside, mostly for want of memory
    return True


def _failure(problem: BaseException) -> dict[str, Any]:
    text = " ".join(f"{type(problem).__name__}: {problem}".split())[:LONGEST_ERROR]
    return {"error": text.rstrip(": "), "kind": "memory" if isinstance(problem, MemoryError) else "error"}


def _named(task_name: str) -> Task:
    module, _, function = task_name.partition(":")
    task: Task = getattr(import_module(module), function)
    return task


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The two pipes under numbers of their own: what a parser prints goes nowhere."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)
    return requests, replies


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit(megabytes: int) -> None:
    """Memory as given, no core dumps, not a byte into any file; and others first."""
    if resource is None:
        return
    size = megabytes * 1_000_000
    for name, most in (("RLIMIT_AS", size), ("RLIMIT_DATA", size), ("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0)):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # macOS knows no limit of address space
            resource.setrlimit(getattr(resource, name), (most, most))
    with contextlib.suppress(OSError):
        os.nice(5)


def _limit_processor_time(seconds: float) -> None:
    """A backstop: the other end keeps the time."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + 5
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """No network, no other programs, no change to any file: a hook for Python's own events that cannot be taken off.

    It does not see what native code does by itself.
    """
    is_writing = event == "open" and bool((arguments[2] or 0) & WRITING) and arguments[0] != os.devnull
    if is_writing or (event.startswith(FORBIDDEN) and event not in HARMLESS):
        raise PermissionError(f"{event} is switched off while reading")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
