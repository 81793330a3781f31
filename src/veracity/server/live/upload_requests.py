"""The files of one upload request, until each has its outcome: ingested by this server, or by workers.

An error before the first outcome fails the request; a later one fails the remaining files.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from urllib.parse import unquote

from anyio.to_thread import run_sync
from starlette.datastructures import UploadFile

from veracity.engine import Veracity, safe_file_name
from veracity.errors import BusyLedgerError, LedgerError, VeracityError
from veracity.models import IngestReport, Outcome
from veracity.printable import visible
from veracity.server.errors import RefusedError
from veracity.server.live.document_jobs import DocumentJobs, Job, JobEvents

MAX_NAME_LENGTH = 200
POLL_SECONDS = 0.25
SAME_NAME = "another file of this upload has the same name: rename one of them"
FORGOTTEN = "it was removed before it was indexed"
ENCODED_NAME = re.compile(r"(?i);\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)")


class ListedFiles:
    """The files of a request in the list of the user's upload. Those that were not announced are in none."""

    def __init__(self, engine: Veracity, user: str, upload: str, numbers: Sequence[int]) -> None:
        self._lists = engine.uploads.lists
        self._key = user, upload
        self._numbers = numbers

    async def receive(self) -> None:
        await self._write(lambda: self._lists.receive(*self._key, self._numbers))

    async def settle(self, at: int, outcome: Outcome, *, is_cancelled: bool) -> None:
        await self._write(lambda: self._lists.settle(*self._key, self._numbers[at], outcome, is_cancelled=is_cancelled))

    async def _write(self, write: Callable[[], None]) -> None:
        if self._numbers:
            with suppress(LedgerError):  # the upload itself is more important
                await run_sync(write)


async def ingest_here(
    engine: Veracity, files: list[UploadFile], listed: ListedFiles, jobs: DocumentJobs, job: Job, events: JobEvents
) -> IngestReport:
    """One task per file, so that other jobs can run in between."""
    request = _Request(files, listed, job, events)
    await listed.receive()

    def upload(at: int) -> IngestReport:
        job.require_not_cancelled()  # while it waited
        return engine.upload(request.names[at], files[at].file)

    stored: set[str] = set()
    for at, name in enumerate(request.names):
        try:
            if safe_file_name(name) in stored:
                outcome = _failed(name, SAME_NAME)
            elif request.failure:
                outcome = _failed(name, str(request.failure))
            else:
                job.require_not_cancelled()
                work = partial(upload, at)
                [outcome] = (await jobs.run(work, job, shorten(name), on_wait=events.publish_wait)).outcomes
        except VeracityError as error:
            outcome = await request.fail(at, error)
        stored.add(safe_file_name(name))
        await request.settle(at, outcome)
    return request.report()


class WorkerUpload:
    """An upload whose files workers ingest. The server stores and queues them, and waits."""

    def __init__(self, engine: Veracity, listed: ListedFiles, jobs: DocumentJobs, job: Job) -> None:
        self._queue = engine.ingestion_queue
        self._listed = listed
        self._jobs = jobs
        self._job = job
        self._upload = secrets.token_hex(8)
        self._waiting: dict[str, int] = {}  # by ingestion: which file
        self._ahead = 0

    async def run(self, files: list[UploadFile], events: JobEvents) -> IngestReport:
        request = _Request(files, self._listed, self._job, events)
        await self._listed.receive()
        try:
            await self._add_all(request)
            while self._waiting:
                await self._jobs.unless_stopping(asyncio.sleep(POLL_SECONDS))
                await self._update(request)
        except VeracityError as error:
            if not is_stopping(error):
                await run_sync(self._queue.cancel, self._upload)
            raise
        with suppress(LedgerError):  # workers remove what nobody read
            await run_sync(self._queue.remove, self._upload)
        return request.report()

    async def _add_all(self, request: _Request) -> None:
        first: dict[str, int] = {}
        for at, name in enumerate(request.names):
            if first.setdefault(safe_file_name(name), at) != at:
                await request.settle(at, _failed(name, SAME_NAME))
        wanted = sorted(first.values())
        for part in self._queue.divide([request.files[at].size or 0 for at in wanted]):
            await self._add([wanted[index] for index in part], request)
            await self._update(request)

    async def _add(self, indexes: list[int], request: _Request) -> None:
        if request.failure is None:
            sources = [(request.names[at], request.files[at].file) for at in indexes]
            try:
                self._job.require_not_cancelled()
                add = partial(self._queue.add, self._upload, self._job.by, sources)
                results = await self._jobs.unless_stopping(run_sync(add))
            except VeracityError as error:
                await request.fail(indexes[0], error)
        for number, at in enumerate(indexes):
            if request.failure:
                await request.settle(at, _failed(request.names[at], str(request.failure)))
            elif isinstance(result := results[number], Outcome):
                await request.settle(at, result)
            else:
                self._waiting[result] = at

    async def _update(self, request: _Request) -> None:
        """Report what is done, and end the rest if the upload was cancelled."""
        if self._waiting and self._job.cancelled_by and request.failure is None:
            await run_sync(self._queue.cancel, self._upload)
        try:
            progress = await run_sync(self._queue.progress, self._upload)
        except BusyLedgerError:
            return  # Postgres is being restarted
        for ingestion_id, at in list(self._waiting.items()):
            if ingestion_id not in progress.waiting:
                del self._waiting[ingestion_id]
                result = progress.results.get(ingestion_id) or self._removed(request.names[at])
                outcome = await request.fail(at, result) if isinstance(result, VeracityError) else result
                await request.settle(at, outcome)
        if progress.ahead != self._ahead:
            self._ahead = progress.ahead
            request.events.publish_wait(progress.ahead)
        if self._waiting:
            self._jobs.show(self._job, shorten(request.names[min(self._waiting.values())]))

    def _removed(self, name: str) -> Outcome | VeracityError:
        """Of a file that is in the queue no more: it was forgotten, or the upload was cancelled."""
        try:
            self._job.require_not_cancelled()
        except VeracityError as error:
            return error
        return Outcome(name=shorten(name), status="skipped", reason=FORGOTTEN)


class _Request:
    """Collects the outcomes of the files, lists and publishes them."""

    def __init__(self, files: list[UploadFile], listed: ListedFiles, job: Job, events: JobEvents) -> None:
        self.files = files
        self._listed = listed
        self._job = job
        self.names = [_file_name(file) for file in files]
        self.events = events
        self.failure: VeracityError | None = None
        self._outcomes: dict[int, Outcome] = {}
        self._started = time.monotonic()

    async def settle(self, at: int, outcome: Outcome) -> None:
        self._outcomes[at] = outcome
        await self._list(at, outcome)
        self.events.publish_outcome(outcome, len(self.files) - len(self._outcomes))

    async def fail(self, at: int, error: VeracityError) -> Outcome:
        """The outcome of the file, which all later ones get, too. Raises the error if it is the first outcome."""
        if is_stopping(error):
            raise error
        if self._job.cancelled_by and self.failure is None:
            self.events.publish("cancelled", by=self._job.cancelled_by)
        self.failure = error
        if not self._outcomes:
            for other, name in enumerate(self.names):
                await self._list(other, _failed(name, str(error)))
            raise error
        return _failed(self.names[at], str(error))

    async def _list(self, at: int, outcome: Outcome) -> None:
        is_cancelled = bool(self._job.cancelled_by) and self.failure is not None and outcome.status == "failed"
        await self._listed.settle(at, outcome, is_cancelled=is_cancelled)

    def report(self) -> IngestReport:
        outcomes = [outcome for _, outcome in sorted(self._outcomes.items())]
        return IngestReport(outcomes=outcomes, seconds=time.monotonic() - self._started)


def is_stopping(error: Exception) -> bool:
    return isinstance(error, RefusedError) and error.kind == "Stopping"


def shorten(name: str) -> str:
    return visible(name)[:MAX_NAME_LENGTH]


def _file_name(file: UploadFile) -> str:
    """.NET sends names twice: MIME-encoded, which is not supported here, and percent-encoded."""
    encoded = ENCODED_NAME.search(file.headers.get("content-disposition", ""))
    return unquote(encoded[1], errors="replace") if encoded else file.filename or ""


def _failed(name: str, reason: str) -> Outcome:
    return Outcome(name=shorten(name), status="failed", reason=reason)
