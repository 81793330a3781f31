"""A pool of daemon threads, each with an event loop and values that it keeps from job to job.

Unlike `concurrent.futures`, a program that exits does not wait for the threads, and a worker closes its values (such as
HTTP connections) in its own event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from veracity.errors import ConfigurationError

ThreadLocals = dict[Hashable, Any]
Job = Callable[[ThreadLocals], Any]
T = TypeVar("T")

CLOSE_SECONDS = 1.0  # how long closing waits for running jobs
NATIVE_CLOSE_SECONDS = 5.0  # for jobs in native code, such as a search: it crashes if the interpreter exits under it


def processors() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Outcome(Future[Any]):
    """The future result of a job."""

    _loop: asyncio.AbstractEventLoop | None = None

    def started_on(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Called on the worker. False if the job was cancelled before."""
        self._loop = loop
        return self.set_running_or_notify_cancel()

    def stop(self) -> None:
        """Cancel the job, also while it runs: what it awaits on its event loop raises `asyncio.CancelledError`.

        Code that the job runs outside of the loop goes on.
        """
        if not self.cancel() and not self.done() and self._loop:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the job has ended
                self._loop.call_soon_threadsafe(self._cancel_tasks)

    def _cancel_tasks(self) -> None:
        """Runs on the loop, perhaps when that is busy with the next job: then this one is done."""
        if not self.done():
            for task in asyncio.all_tasks(self._loop):
                task.cancel()


Tasks = SimpleQueue[tuple[Outcome, Job] | None]


@dataclass(frozen=True, slots=True)
class Worker:
    """A thread of a pool, as its jobs see it."""

    loop: asyncio.AbstractEventLoop
    thread_locals: ThreadLocals

    @contextlib.contextmanager
    def cancelling(self, after_seconds: float) -> Iterator[Callable[[], object]]:
        """Cancel what the block awaits on the event loop after these seconds, or when another thread calls the yielded
        function. It then raises `asyncio.CancelledError`."""
        is_over = False

        def cancel_tasks() -> None:
            for task in () if is_over else asyncio.all_tasks(self.loop):
                task.cancel()

        def cancel() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the batch has ended
                self.loop.call_soon_threadsafe(cancel_tasks)

        asyncio.set_event_loop(self.loop)  # a job that called `asyncio.run` left the thread without one
        timer = self.loop.call_later(min(after_seconds, threading.TIMEOUT_MAX), cancel_tasks)
        try:
            yield cancel
        finally:
            is_over = True  # it may have been called too late, and the loop runs it with its next task
            timer.cancel()


_here = threading.local()


def current_worker() -> Worker | None:
    """The first worker of a batch, if it runs this code; None inside of its event loop.

    A call on its loop spares two changes of threads, a tenth of a quick call. The others share the connections of the
    client that they call."""
    worker: Worker | None = getattr(_here, "worker", None)
    return None if worker is None or worker.loop.is_running() else worker


class Workers:
    def __init__(self, max_threads: int, name: str) -> None:
        self._max_threads = max_threads
        self._name = name
        self._tasks: Tasks = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._stop = weakref.finalize(self, _stop_threads, self._tasks, self._threads)
        self._stop.atexit = False  # daemon threads end with the program; waking them at exit is a race

    def submit(self, job: Job) -> Outcome:
        """Run a job on an idle thread, a new one up to the maximum, or the next one that becomes idle."""
        future = Outcome()
        with self._lock:
            self.require_open()
            self._tasks.put((future, job))
            if not self._idle.acquire(blocking=False) and len(self._threads) < self._max_threads:
                self._start_thread()
        return future

    def require_open(self) -> None:
        if not self._stop.alive:
            raise ConfigurationError("This object is closed and cannot be used again: create a new one.")

    def _start_thread(self, *, makes_calls: bool = False) -> None:
        given = (self._tasks, self._idle, makes_calls)
        thread = threading.Thread(target=_work, args=given, daemon=True, name=self._name)
        thread.start()
        self._threads.append(thread)

    def close(self, timeout_seconds: float = CLOSE_SECONDS) -> None:
        """Stop the threads after their current jobs, and wait for them up to the timeout."""
        with self._lock:
            self._stop()
        end = time.monotonic() + timeout_seconds
        for thread in self._threads:
            thread.join(timeout=max(0.0, end - time.monotonic()))


def _work(tasks: Tasks, idle: threading.Semaphore, makes_calls: bool) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    thread_locals: ThreadLocals = {}
    _here.worker = Worker(loop, thread_locals) if makes_calls else None
    while (task := tasks.get()) is not None:
        set_outcome = _run(*task, thread_locals, loop)
        idle.release()  # before the outcome is set, so that a caller who submits again finds this thread idle
        set_outcome()
        del task, set_outcome  # keep nothing alive while idle
    loop.run_until_complete(_close(thread_locals))
    asyncio.set_event_loop(None)
    loop.close()


def _run(future: Outcome, job: Job, thread_locals: ThreadLocals, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
    """Run the job and return the function that sets the outcome of its future."""
    if not future.started_on(loop):
        return lambda: None
    try:
        return partial(future.set_result, job(thread_locals))
    except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
        set_outcome = partial(future.set_exception, error)
        del future  # breaks the reference cycle of the error and its traceback
        return set_outcome


async def _close(thread_locals: ThreadLocals) -> None:
    """Enter and leave each value's async context, which closes its connections. Then finish what is left on the loop,
    such as the end of a streamed reply: otherwise Python reports a task that was destroyed."""
    for value in thread_locals.values():
        with contextlib.suppress(Exception):
            async with value:
                pass
    await asyncio.get_running_loop().shutdown_asyncgens()
    end = time.monotonic() + CLOSE_SECONDS
    while (pending := asyncio.all_tasks() - {asyncio.current_task()}) and time.monotonic() < end:
        await asyncio.wait(pending, timeout=CLOSE_SECONDS)


def _stop_threads(tasks: Tasks, threads: list[threading.Thread]) -> None:
    for _ in threads:
        tasks.put(None)
