"""A pool of sandboxed worker processes that run one task, each request within limits of time and memory.

A request that exceeds a limit or crashes its process fails alone: the next request gets a fresh process. Each process
has a daemon thread; both are started when they are needed.
"""

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, Self

from veracity.reading.sandbox.process import Kind, WorkerFailure, WorkerProcess, WorkerSettings

Job = tuple[Future[dict[str, Any]], dict[str, Any]]

# Earlier requests may have caused these, so the request is retried in a fresh process.
RETRIED_KINDS: tuple[Kind, ...] = ("memory", "crash")
JOIN_SECONDS = 5.0


class SandboxPool:
    """`task` is "package.module:function". It takes and returns a JSON object."""

    def __init__(self, task: str, *, workers: int, seconds: float, memory_megabytes: int) -> None:
        self._shared = _Shared(WorkerSettings(task, seconds, memory_megabytes), workers)
        self._release = weakref.finalize(self, self._shared.shut_down)

    def submit(self, request: dict[str, Any]) -> Future[dict[str, Any]]:
        """Queue the request. The future raises WorkerFailure if it fails."""
        return self._shared.submit(request)

    def close(self) -> None:
        """Kill the workers at once. Running and queued requests fail."""
        self._release()
        for thread in self._shared.threads:
            thread.join(JOIN_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Shared:
    """State shared by the threads. Has no reference to the SandboxPool, so that the pool can be garbage-collected."""

    def __init__(self, settings: WorkerSettings, max_threads: int) -> None:
        self.threads: list[threading.Thread] = []
        self.closed = False
        self._settings = settings
        self._max_threads = max_threads
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._processes: set[WorkerProcess] = set()
        self._lock = threading.RLock()  # reentrant: the garbage collector may call shut_down at any point

    def submit(self, request: dict[str, Any]) -> Future[dict[str, Any]]:
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self.closed:
                raise _stopped()
            self._jobs.put((future, request))
            if not self._idle.acquire(blocking=False) and len(self.threads) < self._max_threads:
                thread = threading.Thread(target=self._work, daemon=True, name="veracity-reading")
                thread.start()
                self.threads.append(thread)
        return future

    def shut_down(self) -> None:
        with self._lock:
            self.closed = True
            for process in self._processes:
                process.kill()
            for _ in self.threads:
                self._jobs.put(None)

    def start_process(self) -> WorkerProcess:
        with self._lock:
            if self.closed:
                raise _stopped()
            process = WorkerProcess(self._settings)
            self._processes.add(process)
        return process

    def end_process(self, process: WorkerProcess) -> None:
        with self._lock:
            self._processes.discard(process)
        process.end()

    def _work(self) -> None:
        slot = _Slot(self)
        while (job := self._jobs.get()) is not None:
            resolve = _run(*job, slot)
            self._idle.release()  # before resolving, so that a caller who submits again at once finds this worker idle
            resolve()
            del job, resolve  # keep nothing alive while waiting
        slot.clear()


class _Slot:
    """The current process of one thread, replaced when it is broken."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared
        self._process: WorkerProcess | None = None

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._shared.closed:
            raise _stopped()
        process = self._ready()
        is_fresh = process.jobs == 0
        try:
            return process.ask(request)
        except WorkerFailure as failure:
            if failure.kind == "error":
                raise
            self.clear()
            if self._shared.closed:
                raise _stopped() from None
            if is_fresh or failure.kind not in RETRIED_KINDS:
                raise
        return self.run(request)

    def clear(self) -> None:
        if self._process is not None:
            self._shared.end_process(self._process)
        self._process = None

    def _ready(self) -> WorkerProcess:
        if self._process is not None and not self._process.is_alive:
            self.clear()
        if self._process is None:
            self._process = self._shared.start_process()
            try:
                self._process.wait_until_ready()
            except WorkerFailure:
                self.clear()
                raise
        return self._process


def _run(future: Future[dict[str, Any]], request: dict[str, Any], slot: _Slot) -> Callable[[], None]:
    """Run the request. Returns a callback that resolves the future."""
    if not future.set_running_or_notify_cancel():
        return lambda: None
    try:
        return partial(future.set_result, slot.run(request))
    except BaseException as problem:  # noqa: BLE001 - raised again by future.result()
        resolve = partial(future.set_exception, problem)
        del future  # breaks a reference cycle with the traceback
        return resolve


def _stopped() -> WorkerFailure:
    return WorkerFailure("closed", "reading was stopped")
