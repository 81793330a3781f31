"""`veracity worker`: executes the jobs of servers that share its ledger in Postgres.

Jobs are delivered at least once. What must happen once is guarded by the lease on the run: a second worker with the
same job finds the run taken, and does nothing. A run whose worker died is queued again by any other worker.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import procrastinate
from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from veracity.engine import Veracity
from veracity.errors import ConfigurationError, InputError, LostLeaseError, ShutdownError, VeracityError
from veracity.ledger.jobs import QUEUES, RESUME_TASK, Queue, create_tables, make_app
from veracity.secrets import presentable

log = logging.getLogger("veracity.worker")

SWEEP_SECONDS = 1.0  # between searches for runs whose process died
STALLED_SECONDS = 15.0  # without a heartbeat, a worker's jobs are retried
HEARTBEAT_SECONDS = 5.0
POLL_SECONDS = 5.0  # Postgres announces new jobs; this is for announcements that were lost
DECISION_RUNS = 2  # at once, besides `worker.runs`: approved drafts do not wait for questions
EXTRA_CONNECTIONS = 4


class Worker:
    """Works until stop(). `only` names the queues, all by default."""

    def __init__(self, engine: Veracity, only: Sequence[Queue] = QUEUES) -> None:
        url = engine.settings.store.ledger
        if not url:
            raise ConfigurationError(
                "A worker needs a ledger that it shares with servers: set store.ledger to a Postgres database."
            )
        self._engine = engine
        self._url = url
        self._queues = only
        self._sizes = {"runs": engine.settings.worker.runs, "decisions": DECISION_RUNS, "rejections": DECISION_RUNS}
        self._stopping = asyncio.Event()
        self._running: set[str] = set()

    async def run(self) -> None:
        """Returns after stop(), when running jobs have ended or were given back."""
        await run_sync(partial(create_tables, self._url))
        await run_sync(self._engine.prepare)
        await run_sync(self._engine.join, "worker")
        app = make_app(self._url, sum(self._sizes.values()) + EXTRA_CONNECTIONS)
        app.task(name=RESUME_TASK, pass_context=True)(self._resume)
        async with app.open_async():
            await self._wait_for_equal_configuration()
            working = [asyncio.create_task(self._work(app, queue)) for queue in self._queues]
            sweeping = asyncio.create_task(self._sweep(app))
            await self._stopping.wait()
            sweeping.cancel()
            for task in working:
                task.cancel()
            await asyncio.gather(*working, sweeping, return_exceptions=True)

    def stop(self) -> None:
        """On the event loop. Runs under way are released after their current step, and another worker resumes them."""
        if not self._stopping.is_set():
            self._engine.leave()
            self._stopping.set()

    async def _wait_for_equal_configuration(self) -> None:
        """A worker with another configuration than the oldest server or worker would answer differently."""
        has_warned = False
        while not self._stopping.is_set():
            members = await run_sync(self._engine.members)
            leader = members[0] if members else None
            if leader is None or leader.configuration == self._engine.configuration:
                return
            if not has_warned:
                log.error(
                    "This worker takes no jobs: its settings, metrics, prompts or version differ from those of the %s "
                    "on %s. Make them equal, or stop the other one.",
                    leader.kind,
                    leader.host,
                )
                has_warned = True
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), POLL_SECONDS)

    async def _work(self, app: procrastinate.App, queue: Queue) -> None:
        """Starts again after Postgres was restarted or could not be reached."""
        while not self._stopping.is_set():
            try:
                await app.run_worker_async(
                    queues=[queue],
                    name=f"veracity-{queue}",
                    concurrency=self._sizes[queue],
                    install_signal_handlers=False,
                    fetch_job_polling_interval=POLL_SECONDS,
                    update_heartbeat_interval=HEARTBEAT_SECONDS,
                    stalled_worker_timeout=STALLED_SECONDS,
                    shutdown_graceful_timeout=self._engine.settings.server.grace,
                    delete_jobs="always",
                )
            except Exception as error:  # noqa: BLE001 - whatever the driver raises
                log.warning("The queue %s cannot be read (%s): trying again.", queue, type(error).__name__)
            await asyncio.sleep(SWEEP_SECONDS)

    async def _resume(self, context: procrastinate.JobContext, run_id: str) -> None:
        limiter = CapacityLimiter(1)  # the queue limits how many run at once
        await run_sync(self._drive, run_id, limiter=limiter, abandon_on_cancel=True)

    def _drive(self, run_id: str) -> None:
        self._running.add(run_id)
        try:
            for _ in self._engine.resume(run_id):
                pass
        except (ShutdownError, LostLeaseError):
            pass  # another worker continues
        except VeracityError as error:  # the ledger has it, or the sweep queues the run again
            log.warning("Run %s: %s", run_id, error)
        finally:
            self._running.discard(run_id)

    def _end_stopped(self) -> None:
        """End what runs wait for that somebody stopped on a server."""
        statuses = self._engine.run_statuses(list(self._running)) if self._running else {}
        for run_id, status in statuses.items():
            if status == "failed":
                self._engine.stop(run_id)

    async def _sweep(self, app: procrastinate.App) -> None:
        """Queues runs whose process died, and jobs whose worker died."""
        while True:
            try:
                await run_sync(self._engine.queue_interrupted)
                await run_sync(self._end_stopped)
                await self._retry_stalled(app)
            except VeracityError as error:
                log.warning("Interrupted runs could not be queued: %s", error)
            except Exception:
                log.exception("The sweep failed")
            await asyncio.sleep(SWEEP_SECONDS)

    async def _retry_stalled(self, app: procrastinate.App) -> None:
        for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS):
            if job.queue in QUEUES:
                await app.job_manager.finish_job(job, procrastinate.jobs.Status.FAILED, delete_job=True)


def parse_queues(names: str) -> tuple[Queue, ...]:
    """The queues with these names, separated by commas; all if there are none. Raises `InputError`."""
    wanted = {name.strip() for name in names.split(",") if name.strip()}
    if unknown := wanted.difference(QUEUES):
        raise InputError(f'There is no queue "{presentable(min(unknown))}": name {", ".join(QUEUES)}.')
    return tuple(queue for queue in QUEUES if not wanted or queue in wanted)


def work(engine: Veracity, only: Sequence[Queue] = QUEUES) -> None:
    """Runs until SIGINT or SIGTERM."""

    async def run() -> None:
        worker, loop = Worker(engine, only), asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, worker.stop)
        await worker.run()

    asyncio.run(run())
