"""Threads that do jobs: as many at once as there are workers.

A worker has an event loop and keeps things of its own from job to job, which no other thread sees and which it closes
when it goes. The threads are daemons: a program that is told to stop does not wait for them. Knows nothing about what
the jobs do.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any

from veracity.errors import ConfigurationError

Belongings = dict[Hashable, Any]
Job = Callable[[Belongings], Any]
Tasks = SimpleQueue[tuple[Future[Any], Job] | None]

PATIENCE = 1.0  # seconds that closing waits for jobs under way
NATIVE_PATIENCE = 5.0  # the same where jobs run native code, such as a search


def processors() -> int:
    """Those this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._tasks: Tasks = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._release = weakref.finalize(self, _dismiss, self._tasks, self._started)
        self._release.atexit = False  # a program that ends takes its daemons along; waking them then is a race

    def submit(self, job: Job) -> Future[Any]:
        """Run the job on a free worker, a new one if there may be more, else as soon as one is free."""
        future: Future[Any] = Future()
        with self._lock:
            if not self._release.alive:
                raise ConfigurationError("What was closed cannot be used again: make a new one.")
            self._tasks.put((future, job))
            if not self._idle.acquire(blocking=False) and len(self._started) < self._most:
                self._start_another()
        return future

    def close(self, patience: float = PATIENCE) -> None:
        """Let the workers finish what they are at and go. Native code that still runs when a program ends would crash
        it: who has such jobs waits longer."""
        with self._lock:
            self._release()
        end = time.monotonic() + patience
        for thread in self._started:
            thread.join(timeout=max(0.0, end - time.monotonic()))

    def _start_another(self) -> None:
        thread = threading.Thread(target=_work, args=(self._tasks, self._idle), daemon=True, name=self._name)
        thread.start()
        self._started.append(thread)


def _work(tasks: Tasks, idle: threading.Semaphore) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    belongings: Belongings = {}
    while (task := tasks.get()) is not None:
        tell = _outcome(*task, belongings)
        idle.release()  # first, so that who asks again at once finds this worker free
        tell()
        del task, tell  # keep nothing alive while waiting
    loop.run_until_complete(_close(belongings))
    asyncio.set_event_loop(None)
    loop.close()


def _outcome(future: Future[Any], job: Job, belongings: Belongings) -> Callable[[], None]:
    """Do the job. What is returned tells the one who waits how it went."""
    if not future.set_running_or_notify_cancel():
        return lambda: None
    try:
        return partial(future.set_result, job(belongings))
    except BaseException as problem:  # noqa: BLE001 - it is raised again in the thread that asked
        tell = partial(future.set_exception, problem)
        del future  # or the error would hold on to its own trace for ever
        return tell


async def _close(belongings: Belongings) -> None:
    """Entering and leaving an asynchronous context, such as a model's, closes the connections it holds."""
    for thing in belongings.values():
        with contextlib.suppress(Exception):  # we are leaving: nobody is there to be told
            async with thing:
                pass


def _dismiss(tasks: Tasks, started: list[threading.Thread]) -> None:
    for _ in started:
        tasks.put(None)
