"""Jobs that change the documents: uploads, removals and reindexing, one at a time in order of arrival.

They run on a thread of their own, so that waiting jobs block no other requests, and continue if the client disconnects.
Everything belongs to the event loop unless it says thread-safe.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field

from veracity.errors import BusyError, NotFoundError, VeracityError
from veracity.models import IngestReport, Outcome
from veracity.secrets import presentable
from veracity.server.errors import INTERNAL_ERROR, RefusedError, stopping_error
from veracity.server.limits import too_many
from veracity.server.live.events import LiveEvent
from veracity.server.live.fair_queue import FairQueue

log = logging.getLogger("veracity.server")

MAX_JOBS = 50  # waiting or running
RETRY_SECONDS = 10.0
NOTIFY_SECONDS = 5.0  # between notifications about a job with many files
CLOSE_SECONDS = 5.0  # to wait for the running job: native code that runs at exit would crash the process

Kind = Literal["upload", "reindex", "remove", ""]
BUSY_MESSAGES: dict[Kind, str] = {
    "upload": "A file is being read: {name}. Try again when it is done.",
    "reindex": "The documents are being reindexed: try again when that is done.",
    "remove": "A document is being removed: try again when that is done.",
    "": "Interrupted uploads are being checked: try again in a moment.",
}

T = TypeVar("T")


class JobStatus(BaseModel):
    """The job that is changing the documents now."""

    under_way: bool = Field(description="whether a job is running")
    number: int = Field(description="the job's number; 0 if none is running")
    what: Kind = Field(description="the kind of job")
    name: str = Field(description="the file that is being read")
    waiting: int = Field(description="number of waiting jobs")
    by: str = Field(description="who started the job; empty for interrupted uploads that are being finished")
    upload: str = Field(description="the list of files that the running or the last job belongs to")
    cancelled_by: str = Field(description="who cancelled the running or the last job")


@dataclass(eq=False)
class Job:
    """A queued or running job of one or more tasks."""

    kind: Kind
    number: int = 0
    name: str = ""
    by: str = ""
    upload: str = ""
    has_started: bool = False
    cancelled_by: str = ""

    def require_not_cancelled(self) -> None:
        """Thread-safe."""
        if self.cancelled_by:
            raise RefusedError(409, "Cancelled", f"Cancelled by {self.cancelled_by}.")


@dataclass(eq=False)
class _Task:
    job: Job
    name: str
    work: Callable[[], Any]
    on_wait: Callable[[int], None]
    future: Future[Any] = field(default_factory=Future)


class DocumentJobs:
    """The queue of jobs. Calls `on_change` when a job starts and when it ends."""

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = FairQueue(1, "veracity-documents", self._execute)
        self._jobs: list[Job] = []
        self._tasks: list[_Task] = []  # the first is running
        self._stopped: asyncio.Future[None] = self._loop.create_future()
        self._on_change, self._notified = on_change, 0.0
        self._last = Job("")  # the last job that started
        self._count = 0
        self.is_running = False

    def status(self) -> JobStatus:
        job = self._current()
        return JobStatus(
            under_way=bool(job.kind),
            number=job.number,
            what=job.kind,
            name=job.name,
            waiting=max(0, len(self._tasks) - 1),
            by=job.by,
            upload=(job if job.kind else self._last).upload,
            cancelled_by=(job if job.kind else self._last).cancelled_by,
        )

    def cancel(self, by: str, number: int | None = None) -> JobStatus:
        """Ends the running job, or the one with this number, after its current document."""
        number = self._current().number if number is None else number
        for job in self._jobs:
            if job.has_started and job.kind in ("upload", "reindex") and job.number == number:
                job.cancelled_by = job.cancelled_by or by
                self._on_change()
                return self.status()
        raise NotFoundError("There is nothing to cancel: this process of the server is running no such job.")

    def cancel_upload(self, by: str, upload: str) -> None:
        """Ends the jobs of an upload, after the current document, and those that have not started."""
        for job in self._jobs:
            if job.upload == upload:
                job.cancelled_by = job.cancelled_by or by
        self._on_change()

    @contextmanager
    def add(self, kind: Kind, by: str = "", upload: str = "") -> Iterator[Job]:
        """A new job, which counts towards the limit until the context ends."""
        self._require_open()
        if len(self._jobs) >= MAX_JOBS:
            raise too_many(f"{MAX_JOBS} changes of the documents are queued already", RETRY_SECONDS)
        self._count += 1
        job = Job(kind, self._count, by=by, upload=upload)
        self._jobs.append(job)
        try:
            yield job
        finally:
            self._jobs.remove(job)
            if job.has_started:
                self._on_change()

    async def run(
        self,
        work: Callable[[], T],
        job: Job,
        name: str = "",
        *,
        on_wait: Callable[[int], None] = lambda ahead: None,
        max_wait: float | None = None,
    ) -> T:
        """Runs `work` on the thread after all earlier tasks. Calls `on_wait` with the number of tasks ahead, down to 0.
        Raises `BusyError` after `max_wait` seconds. Work that has not started by then, or when the caller is cancelled
        or the server stops, never starts."""
        self._require_open()
        task = _Task(job, name, work, on_wait)
        done: asyncio.Future[T] = asyncio.wrap_future(task.future)
        done.add_done_callback(lambda _: self._task_ended(task, done))
        self._tasks.append(task)
        self._thread.submit("", task)
        if ahead := len(self._tasks) - 1:
            on_wait(ahead)
        else:
            self.show(job, name)
        try:
            if not await self._wait(done, max_wait) and task.future.cancel():
                raise BusyError(self._busy_message())
            await self._wait(done)
            return done.result()
        finally:
            task.future.cancel()  # no effect if it has started

    async def unless_stopping(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(work)
        try:
            await self._wait(task)
            return task.result()
        finally:
            task.cancel()

    def stop(self) -> None:
        """Thread-safe. Waiting callers get an error at once; the running task continues while the process lives."""
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self._stop)

    def close(self) -> None:
        """Thread-safe. Waits a few seconds for the running task and drops waiting ones."""
        self._thread.stop()
        self._thread.join(CLOSE_SECONDS)

    def _stop(self) -> None:
        if not self._stopped.done():
            self._stopped.set_result(None)

    def _require_open(self) -> None:
        if self._stopped.done():
            raise stopping_error()

    async def _wait(self, done: asyncio.Future[Any], timeout: float | None = None) -> bool:
        """Whether `done` is done in time. Raises 503 if the server stops first."""
        either: set[asyncio.Future[Any]] = {done, self._stopped}
        await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if self._stopped.done() and not done.done():
            raise stopping_error()
        return done.done()

    def _execute(self, task: _Task) -> None:
        if not task.future.set_running_or_notify_cancel():
            return
        self.is_running = True
        try:
            result = task.work()
        except BaseException as error:  # noqa: BLE001 - raised again where the task is awaited
            self.is_running = False
            task.future.set_exception(error)
        else:
            self.is_running = False
            task.future.set_result(result)

    def show(self, job: Job, name: str) -> None:
        """The job reads this file now: on the thread, or on a worker."""
        is_first, job.has_started, job.name = not job.has_started, True, name
        if job.kind:
            self._last = job
            if is_first or time.monotonic() > self._notified + NOTIFY_SECONDS:
                self._notified = time.monotonic()
                self._on_change()

    def _task_ended(self, task: _Task, done: asyncio.Future[Any]) -> None:
        if not done.cancelled():
            done.exception()  # marks it as retrieved: the caller may have disconnected
        index = self._tasks.index(task)
        self._tasks.remove(task)
        for ahead, other in list(enumerate(self._tasks))[index:]:
            other.on_wait(ahead)
            if not ahead:
                self.show(other.job, other.name)

    def _current(self) -> Job:
        between_tasks = (job for job in self._jobs if job.has_started)
        return self._tasks[0].job if self._tasks else next(between_tasks, Job(""))

    def _busy_message(self) -> str:
        job = self._tasks[0].job
        return BUSY_MESSAGES[job.kind].format(name=f'"{presentable(job.name)}"')


class JobEvents:
    """The progress events of one job. Thread-safe."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._done = 0

    def publish(self, kind: str, **data: Any) -> None:
        self._put({"kind": kind, **data})

    def publish_wait(self, ahead: int) -> None:
        self.publish("waiting", ahead=ahead)

    def publish_outcome(self, outcome: Outcome, to_come: int | None) -> None:
        self._done += 1
        self.publish("outcome", **outcome.model_dump(mode="json"), done=self._done, to_come=to_come)

    def close(self) -> None:
        self._put(None)

    async def stream(self) -> AsyncGenerator[LiveEvent]:
        while (data := await self._events.get()) is not None:
            yield LiveEvent("", data)

    def _put(self, data: dict[str, Any] | None) -> None:
        with suppress(RuntimeError):  # the event loop has ended, but the job continues
            self._loop.call_soon_threadsafe(self._events.put_nowait, data)


Change = Callable[[JobEvents], Awaitable[IngestReport]]
_running: set[asyncio.Task[IngestReport]] = set()  # the event loop keeps only weak references


def start_change(change: Change, resources: ExitStack) -> tuple[JobEvents, asyncio.Task[IngestReport]]:
    """Runs the change in the background and then closes its resources."""
    events = JobEvents()
    task = asyncio.create_task(_run_change(change, events, resources))
    _running.add(task)
    task.add_done_callback(_change_ended)
    return events, task


async def _run_change(change: Change, events: JobEvents, resources: ExitStack) -> IngestReport:
    with resources:
        try:
            report = await change(events)
            events.publish("report", **report.model_dump(mode="json"))
        except VeracityError as error:
            events.publish("failed", problem=str(error))
            raise
        except Exception:
            log.exception("A change of the documents failed")
            events.publish("failed", problem=INTERNAL_ERROR)
            raise
        finally:
            events.close()
        return report


def _change_ended(task: asyncio.Task[IngestReport]) -> None:
    _running.discard(task)
    if not task.cancelled():
        task.exception()  # marks it as retrieved: it was published as an event
