"""Work on the workspace that nobody asks for: forgotten documents leave the disk, what has expired is removed, and
approvals are announced."""

from __future__ import annotations

import asyncio
import logging

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


async def purge_periodically(engine: Veracity, jobs: DocumentJobs) -> None:
    """Runs until the server stops. Waits for other changes of the documents; failures are logged and tried again."""
    await asyncio.sleep(FIRST_SECONDS)
    while True:
        try:
            if await jobs.run(engine.purge_forgotten, Job("")):
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
