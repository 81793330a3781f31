"""Work on the workspace that nobody asks for: forgotten documents leave the disk, what has expired is removed, and
approvals are announced, and example questions are found."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from anyio.to_thread import run_sync

from veracity.engine import Stop, Veracity
from veracity.errors import BusyError, Stopped, VeracityError
from veracity.server.errors import RefusedError
from veracity.server.live.document_jobs import DocumentJobs, Job

log = logging.getLogger("veracity.server")

FIRST_SECONDS = 30.0  # after the start
PURGE_SECONDS = 300.0
PRUNE_SECONDS = 86_400.0
NOTIFY_SECONDS = 2.0
EXAMPLES_SECONDS = 5.0  # between looks at the documents
EXAMPLES_RETRY_SECONDS = 900.0  # another process may have died while it worked on them
EXAMPLES_DUTY = 0.3  # share of the time
EXAMPLES_NICENESS = 10


async def purge_periodically(engine: Veracity, jobs: DocumentJobs) -> None:
    """Runs until the server stops. Waits for other changes of the documents; failures are logged and tried again."""
    await asyncio.sleep(FIRST_SECONDS)
    while True:
        try:
            if await jobs.run(engine.maintenance.purge_forgotten, Job("")):
                log.info("Removed forgotten documents from the disk.")
        except BusyError:
            pass  # another process is changing the documents
        except RefusedError:
            return  # the server is stopping
        except VeracityError as error:
            log.warning("Forgotten documents could not be removed from the disk: %s", error)
        except Exception:
            log.exception("Removing forgotten documents from the disk failed")
        await asyncio.sleep(PURGE_SECONDS)


async def notify_periodically(engine: Veracity) -> None:
    """Sends announcements of approvals until the server stops. Failures are logged and tried again."""
    if not engine.settings.notify.channels:
        return
    while True:
        try:
            await run_sync(engine.inbox.send_notifications, abandon_on_cancel=True)
        except VeracityError as error:
            log.warning("Approvals could not be announced: %s", error)
        except Exception:
            log.exception("Announcing approvals failed")
        await asyncio.sleep(NOTIFY_SECONDS)


async def prune_periodically(engine: Veracity) -> None:
    """Removes what has expired, once a day until the server stops. Failures are logged and tried again the next day."""
    if not any(engine.settings.retention.model_dump().values()):
        return
    stop = Stop()
    try:
        await asyncio.sleep(FIRST_SECONDS)
        while True:
            await run_sync(_prune, engine, stop, abandon_on_cancel=True)
            await asyncio.sleep(PRUNE_SECONDS)
    finally:
        stop.set()


def _prune(engine: Veracity, stop: Stop) -> None:
    try:
        pruned = engine.prune(dry_run=False, stop=stop)
    except Stopped:
        return  # the server is stopping
    except VeracityError as error:
        log.warning("What has expired could not be removed: %s", error)
    except Exception:
        log.exception("Removing what has expired failed")
    else:
        counts = f"{pruned.runs} runs, {pruned.conversations} conversations, the details of {pruned.receipts} receipts"
        log.info("Removed what has expired: %s.", counts)


class ExampleFinder:
    """Finds example questions when the documents change: on one thread of low priority, which rests most of the time.
    Calls `on_change` when there are new ones. Failures are logged and tried again after the next change."""

    def __init__(self, engine: Veracity, on_change: Callable[[], None]) -> None:
        self._engine = engine
        self._on_change = on_change
        self._stop = Stop()
        self._thread = ThreadPoolExecutor(1, "veracity-examples", _lower_priority)
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Waits for the question that is being tried: native code that runs at exit would crash the process."""
        self._stop.set()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await run_sync(self._thread.shutdown)

    async def _run(self) -> None:
        loop, last, due = asyncio.get_running_loop(), None, 0.0
        while True:
            await asyncio.sleep(EXAMPLES_SECONDS)
            version = await loop.run_in_executor(self._thread, self._version)
            is_settled = version == last  # documents that are still being added wait
            if is_settled and version and loop.time() >= due:
                await loop.run_in_executor(self._thread, self._find)
                due = loop.time() + EXAMPLES_RETRY_SECONDS
            elif not is_settled:
                last, due = version, 0.0

    def _version(self) -> tuple[int, int] | None:
        try:
            return self._engine.reader.version
        except VeracityError:
            return None

    def _find(self) -> None:
        try:
            if self._engine.suggestions.find_examples(self._stop, duty=EXAMPLES_DUTY):
                self._on_change()
        except Stopped:
            return  # the server is stopping
        except VeracityError as error:
            log.warning("Example questions could not be found: %s", error)
        except Exception:
            log.exception("Finding example questions failed")


def _lower_priority() -> None:
    """Of this thread. Only Linux has priorities of threads."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), EXAMPLES_NICENESS)
