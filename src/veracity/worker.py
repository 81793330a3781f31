"""`veracity worker`: executes the jobs of servers that share its ledger in Postgres.

Jobs are delivered at least once. What must happen once is guarded by rows of the ledger: a second worker with the job
of a run finds the run leased, and does nothing. What lost its job with a worker that died is queued again by any other.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import procrastinate
import psycopg
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from procrastinate.exceptions import ConnectorException

from veracity.deadlines import Stop
from veracity.engine import Veracity
from veracity.errors import ConfigurationError, InputError, LostLeaseError, ShutdownError, Stopped, VeracityError
from veracity.ledger.jobs import QUEUES, RESUME_TASK, Queue, create_tables, make_app
from veracity.ledger.rows.evaluations import EVALUATE_TASK
from veracity.ledger.rows.ingestions import COMMIT_TASK, PREPARE_TASK
from veracity.secrets import presentable

log = logging.getLogger("veracity.worker")

SWEEP_SECONDS = 0.5  # between searches for runs whose process died
STALLED_SECONDS = 15.0  # without a heartbeat, a worker's jobs are queued again
HEARTBEAT_SECONDS = 5.0
POLL_SECONDS = 5.0  # Postgres announces new jobs; this is for announcements that were lost
SETTLED_LOOKS = 3  # at the configuration of others
CLEAN_SECONDS = 60.0
DECISION_RUNS = 2  # at once, besides `worker.runs`: approved drafts do not wait for questions
POOL_CONNECTIONS = 8  # besides one per queue, which listens
DIFFERS = (
    "This worker takes no jobs: its settings, metrics, prompts or version differ from those of the %s on %s. Make them "
    "equal, or stop the other one."
)


class Worker:
    """Works until stop(). `only` names the queues, all by default."""

    def __init__(self, engine: Veracity, only: Sequence[Queue] = QUEUES) -> None:
        url, settings = engine.settings.store.ledger, engine.settings.worker
        if not url:
            raise ConfigurationError(
                "A worker needs a ledger that it shares with servers: set store.ledger to a Postgres database."
            )
        self._engine = engine
        self._url = url
        self._queues = only
        self._sizes: dict[Queue, int] = {
            "runs": settings.runs,
            "decisions": DECISION_RUNS,
            "rejections": DECISION_RUNS,
            "documents": settings.documents,
            "commits": 1,
            "evaluations": settings.evaluations,
        }
        self._stopping = asyncio.Event()
        self._stop = Stop()
        self._running: set[str] = set()
        self._has_differed = False

    async def run(self) -> None:
        """Returns after stop(), when running jobs have ended or were given back."""
        await run_sync(partial(create_tables, self._url))
        await run_sync(self._engine.prepare)
        await run_sync(lambda: self._engine.membership.join("worker", self._engine.configuration))
        app = self._make_app()
        async with app.open_async():
            sweeping = asyncio.create_task(self._sweep(app))
            while not self._stopping.is_set():
                await self._wait_for_configuration(is_equal=True)
                working = [asyncio.create_task(self._work(app, queue)) for queue in self._queues]
                await self._wait_for_configuration(is_equal=False)
                for task in working:
                    task.cancel()
                await asyncio.gather(*working, return_exceptions=True)
            sweeping.cancel()
            await asyncio.gather(sweeping, return_exceptions=True)

    def stop(self) -> None:
        """On the event loop. What is under way is given up after its current step, and another worker continues."""
        if not self._stopping.is_set():
            self._stop.set()
            self._engine.leave()
            self._engine.evaluation_queue.stop_all()
            self._stopping.set()

    def _make_app(self) -> procrastinate.App:
        app = make_app(self._url, POOL_CONNECTIONS)
        ingestions, evaluations = self._engine.ingestion_queue, self._engine.evaluation_queue

        @app.task(name=RESUME_TASK)
        async def resume(run_id: str) -> None:
            await self._execute(lambda: self._drive(run_id))

        @app.task(name=PREPARE_TASK)
        async def prepare(slice: str) -> None:
            await self._execute(lambda: ingestions.prepare(slice, self._stop))

        @app.task(name=COMMIT_TASK)
        async def commit(key: str) -> None:
            await self._execute(ingestions.commit)

        @app.task(name=EVALUATE_TASK)
        async def evaluate(evaluation_id: str) -> None:
            await self._execute(lambda: evaluations.execute(evaluation_id, self._engine.evaluate))

        return app

    async def _wait_for_configuration(self, *, is_equal: bool) -> None:
        """Until it is equal to that of the oldest server or worker, or until it differs: then this worker would answer
        differently. One that differed waits longer: after a restart of Postgres, others need a moment to register."""
        equal_looks = 0
        while not self._stopping.is_set():
            with suppress(VeracityError):  # Postgres is being restarted
                leader = await run_sync(self._engine.membership.other_leader)
                equal_looks = equal_looks + 1 if leader is None else 0
                if leader and not self._has_differed:
                    log.error(DIFFERS, leader.kind, leader.host)
                self._has_differed = self._has_differed or leader is not None
                if equal_looks >= (SETTLED_LOOKS if self._has_differed else 1) if is_equal else leader:
                    self._has_differed = not is_equal
                    return
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
                log.debug("The queue %s cannot be read (%s).", queue, type(error).__name__)  # the sweep reports it
            await asyncio.sleep(SWEEP_SECONDS)

    async def _execute(self, work: Callable[[], None]) -> None:
        """On a thread: the queue limits how many run at once. What fails here is queued again by the sweep."""

        def guarded() -> None:
            try:
                work()
            except (Stopped, ShutdownError, LostLeaseError):
                pass  # another worker continues
            except VeracityError as error:
                log.warning("A job failed and is tried again: %s", error)
            except Exception:
                log.exception("A job failed and is tried again")

        await run_sync(guarded, limiter=CapacityLimiter(1), abandon_on_cancel=True)

    def _drive(self, run_id: str) -> None:
        self._running.add(run_id)
        try:
            for _ in self._engine.resume(run_id):
                pass
        except (ShutdownError, LostLeaseError):
            raise
        except VeracityError as error:  # the ledger has it, or the sweep queues the run again
            log.warning("Run %s: %s", run_id, error)
        finally:
            self._running.discard(run_id)

    def _end_stopped(self) -> None:
        """End what somebody stopped on a server: runs, and evaluations whose client is gone."""
        statuses = self._engine.run_statuses(list(self._running)) if self._running else {}
        for run_id, status in statuses.items():
            if status == "failed":
                self._engine.stop(run_id)
        self._engine.evaluation_queue.end_removed()

    async def _sweep(self, app: procrastinate.App) -> None:
        """Queues what lost its process or its job, and cleans up."""
        cleaned = polled = 0.0
        is_cut_off = False
        while True:
            try:
                await run_sync(self._engine.inbox.expire)
                await run_sync(self._engine.maintenance.queue_interrupted)
                await run_sync(self._end_stopped)
                if time.monotonic() >= polled + POLL_SECONDS:
                    polled = time.monotonic()
                    await self._drop_stalled(app)
                    await run_sync(self._engine.ingestion_queue.queue_lost)
                    await run_sync(self._engine.evaluation_queue.queue_lost)
                if time.monotonic() >= cleaned + CLEAN_SECONDS:
                    cleaned = time.monotonic()
                    await run_sync(self._engine.ingestion_queue.clean_up)
                    await run_sync(self._engine.evaluation_queue.clean_up)
                if is_cut_off:
                    log.warning("The worker can use Postgres again.")
                is_cut_off = False
            except (VeracityError, ConnectorException) as error:
                if not is_cut_off:
                    reason = error if isinstance(error, VeracityError) else error.__cause__
                    log.warning("The worker cannot use Postgres, and tries it again: %s", reason)
                is_cut_off = True
            except Exception:
                log.exception("The sweep failed")
            await asyncio.sleep(SWEEP_SECONDS)

    async def _drop_stalled(self, app: procrastinate.App) -> None:
        """Jobs whose worker died. What they served is queued again, as a new job."""
        for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS):
            if job.queue in QUEUES:
                await drop(app, job)


async def drop(app: procrastinate.App, job: procrastinate.jobs.Job) -> None:
    """Drops a stalled job, unless another worker has done so."""
    try:
        await app.job_manager.finish_job(job, procrastinate.jobs.Status.FAILED, delete_job=True)
    except ConnectorException as error:
        if not isinstance(error.__cause__, psycopg.errors.RaiseException):  # which says that another worker dropped it
            raise


def parse_queues(names: str) -> tuple[Queue, ...]:
    """The queues with these names, separated by commas; all if there are none. Raises `InputError`."""
    wanted = {name.strip() for name in names.split(",") if name.strip()}
    if unknown := wanted.difference(QUEUES):
        raise InputError(f'There is no queue "{presentable(min(unknown))}": name {", ".join(QUEUES)}.')
    return tuple(queue for queue in QUEUES if not wanted or queue in wanted)


def work(engine: Veracity, only: Sequence[Queue] = QUEUES) -> None:
    """Runs until SIGINT or SIGTERM."""
    for name in ("procrastinate", "psycopg.pool"):  # every attempt to reconnect; the worker logs what matters
        logging.getLogger(name).setLevel(logging.CRITICAL)

    async def run() -> None:
        worker, loop = Worker(engine, only), asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, worker.stop)
        await worker.run()

    asyncio.run(run())
