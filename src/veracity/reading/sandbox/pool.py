"""Runs a task in worker processes: as many at once as there are workers, each job within limits.

A job that takes too long, needs too much memory or crashes its process fails alone: the next one gets a fresh
process. One daemon thread goes with each process; both are started when they are needed. Knows nothing about what the
task does.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any

from veracity.reading.sandbox.process import Kind, Order, WorkerFailure, WorkerProcess

__all__ = ["CappedWorkers", "WorkerFailure"]

Job = tuple[Future[dict[str, Any]], dict[str, Any]]

# In a process that did other jobs before, these may be the doing of those: the job is tried once more in a fresh one.
BLAMELESS: tuple[Kind, ...] = ("memory", "crash")
PATIENCE = 5.0  # seconds that closing waits for the threads to see their processes end


class CappedWorkers:
    """`task` is "package.module:function": it takes one dict and returns one, both fit for JSON."""

    def __init__(self, task: str, *, workers: int, seconds: float, memory_megabytes: int) -> None:
        self._most = workers
        self._crew = _Crew(Order(task, seconds, memory_megabytes))
        self._release = weakref.finalize(self, self._crew.dismiss)

    def submit(self, request: dict[str, Any]) -> Future[dict[str, Any]]:
        """Do the job as soon as a worker is free. The future raises WorkerFailure when it comes to nothing."""
        return self._crew.submit(request, self._most)

    def close(self) -> None:
        """End the workers at once; jobs under way or waiting fail."""
        self._release()
        for thread in self._crew.threads:
            thread.join(PATIENCE)

    def __enter__(self) -> CappedWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Crew:
    """What the threads share. It does not know the CappedWorkers, so that those can be garbage."""

    def __init__(self, order: Order) -> None:
        self.threads: list[threading.Thread] = []
        self.closed = False
        self._order = order
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._processes: set[WorkerProcess] = set()
        self._lock = threading.RLock()  # the garbage collector may dismiss us in the midst of anything

    def submit(self, request: dict[str, Any], most: int) -> Future[dict[str, Any]]:
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self.closed:
                raise _stopped()
            self._jobs.put((future, request))
            if not self._idle.acquire(blocking=False) and len(self.threads) < most:
                thread = threading.Thread(target=self._work, daemon=True, name="veracity-reading")
                thread.start()
                self.threads.append(thread)
        return future

    def dismiss(self) -> None:
        with self._lock:
            self.closed = True
            for process in self._processes:
                process.kill()
            for _ in self.threads:
                self._jobs.put(None)

    def started(self) -> WorkerProcess:
        with self._lock:
            if self.closed:
                raise _stopped()
            process = WorkerProcess(self._order)
            self._processes.add(process)
        return process

    def end(self, process: WorkerProcess) -> None:
        with self._lock:
            self._processes.discard(process)
        process.end()

    def _work(self) -> None:
        place = _Place(self)
        while (job := self._jobs.get()) is not None:
            tell = _outcome(*job, place)
            self._idle.release()  # first, so that who asks again at once finds this worker free
            tell()
            del job, tell  # keep nothing alive while waiting
        place.clear()


class _Place:
    """Where one thread does its jobs: in a process that is replaced when it is broken."""

    def __init__(self, crew: _Crew) -> None:
        self._crew = crew
        self._process: WorkerProcess | None = None

    def do(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._crew.closed:
            raise _stopped()
        process = self._ready()
        fresh = process.jobs == 0
        try:
            return process.ask(request)
        except WorkerFailure as failure:
            if failure.kind == "error":
                raise
            self.clear()
            if self._crew.closed:
                raise _stopped() from None
            if fresh or failure.kind not in BLAMELESS:
                raise
        return self.do(request)

    def clear(self) -> None:
        if self._process is not None:
            self._crew.end(self._process)
        self._process = None

    def _ready(self) -> WorkerProcess:
        if self._process is not None and not self._process.is_alive:
            self.clear()
        if self._process is None:
            self._process = self._crew.started()
            try:
                self._process.wait_until_ready()
            except WorkerFailure:
                self.clear()
                raise
        return self._process


def _outcome(future: Future[dict[str, Any]], request: dict[str, Any], place: _Place) -> Callable[[], None]:
    """Do the job. What is returned tells the one who waits how it went."""
    if not future.set_running_or_notify_cancel():
        return lambda: None
    try:
        return partial(future.set_result, place.do(request))
    except BaseException as problem:  # noqa: BLE001 - it is raised again in the thread that asked
        tell = partial(future.set_exception, problem)
        del future  # or the error would hold on to its own trace for ever
        return tell


def _stopped() -> WorkerFailure:
    return WorkerFailure("closed", "reading was stopped")
