"""Runs in this process: queued, driven, followed, stopped and recovered.

A run is in the ledger before it is queued, so that nothing is lost when the process ends.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any, cast

from anyio.to_thread import run_sync

from veracity.engine import Veracity
from veracity.errors import InputError, LostLeaseError, NotFoundError, ShutdownError, VeracityError
from veracity.models import Answer, Approval, LedgerChange, RunEvent, RunSummary, User
from veracity.server.errors import INTERNAL_ERROR, RefusedError, add_run, stopping_error
from veracity.server.limits import Limits, QueueSlots
from veracity.server.live.events import LiveEvent, RunFollower, RunLog, parse_position
from veracity.server.live.fair_queue import FairQueue
from veracity.server.live.wakeups import Wakeups
from veracity.server.permissions import can_see_drafts, hide_event_drafts, redact_paths, require_visible

log = logging.getLogger("veracity.server")

SWEEP_SECONDS = 5.0
SHARED_SWEEP_SECONDS = 1.0  # where other machines' runs are resumed
MAX_RETRY_SECONDS = 300.0  # between attempts to resume a run
ABANDON_SECONDS = 1.5  # after a client is gone; OpenAI's clients retry within a second
DECISION_THREADS = 2  # reserved for approved drafts
REJECTION_THREADS = 2  # for what searches the web or writes another draft, which takes as long as a question
EFFECT_SECONDS = 0.05  # after a held decision takes effect
KEEP_LOG_SECONDS = 5.0  # after a run's end, for clients that just asked; later the ledger serves them

DIFFERS = (
    "This server answers its own questions only: its settings, metrics, prompts or version differ from those of the %s "
    "on %s. Make them equal, or stop the other one."
)
STOPPING_RUN = 'The server is stopping: the run "{}" continues after the restart.'

OnChange = Callable[[], None]
OnEnd = Callable[[str, float], None]


class RecoverySweep:
    """Resumes interrupted runs every few seconds until `stopping` is set. Retries failures with exponential backoff."""

    def __init__(
        self, engine: Veracity, resume: Callable[[str], None], also: Callable[[], None], stopping: threading.Event
    ) -> None:
        """`also` is called in every sweep."""
        self._engine = engine
        self._resume = resume
        self._also = also
        self._stopping = stopping
        self._retries: dict[str, tuple[float, float]] = {}  # by run: the delay, and when to retry
        self._differs: bool | None = None  # from the configuration of the oldest server or worker, if that is known

    def takes_jobs(self) -> bool:
        """Thread-safe. False if the configuration differs from that of the oldest server or worker: then this server
        would continue what others began in another way than they do."""
        leader = self._engine.membership.other_leader() if self._engine.settings.store.ledger else None
        if leader and not self._differs:
            log.error(DIFFERS, leader.kind, leader.host)
        self._differs = leader is not None
        return leader is None

    def start(self) -> None:
        threading.Thread(target=self._run, name="veracity-sweep", daemon=True).start()

    def retry_later(self, run_id: str, error: object) -> None:
        """Thread-safe. For a run that could not be resumed although the ledger has not marked it as failed."""
        if run_id not in self._retries:
            log.warning("Run %s could not be resumed and is retried later: %s", run_id, error)
        delay = min(MAX_RETRY_SECONDS, 2 * self._retries.get(run_id, (SWEEP_SECONDS, 0.0))[0])
        self._retries[run_id] = (delay, time.monotonic() + delay)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._engine.inbox.expire()
                self._sweep()
                self._also()
            except VeracityError as error:
                log.warning("Interrupted runs could not be listed: %s", error)
            except Exception:
                log.exception("The recovery sweep failed")
            is_shared = bool(self._engine.settings.store.ledger)
            self._stopping.wait(SHARED_SWEEP_SECONDS if is_shared else SWEEP_SECONDS)

    def _sweep(self) -> None:
        now = time.monotonic()
        for run_id, (_, due) in list(self._retries.items()):
            if due + MAX_RETRY_SECONDS < now:  # no failure since the last retry
                del self._retries[run_id]
        interrupted = self._engine.interrupted()
        if (interrupted or self._differs is None) and not self.takes_jobs():
            return
        for run_id in interrupted:
            if self._retries.get(run_id, (0.0, 0.0))[1] <= now:
                try:
                    self._resume(run_id)
                except Exception as error:  # noqa: BLE001 - one broken run must not block the others
                    self.retry_later(run_id, error)


class RunPool:
    """Drives runs on threads and logs their events."""

    def __init__(
        self,
        engine: Veracity,
        slots: QueueSlots,
        wakeups: Wakeups,
        on_change: OnChange,
        on_end: OnEnd,
        *,
        resumes: bool = True,
    ) -> None:
        """Unless it `resumes`, runs whose process died are left to workers."""
        self._engine = engine
        self._slots = slots
        self._wakeups = wakeups
        self._on_change = on_change
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self.logs: dict[str, RunLog] = {}
        self.stopping = threading.Event()
        self.running = 0
        self._questions = FairQueue(engine.settings.server.runs, "veracity-run", self._run, _publish_queue_position)
        self._decisions = FairQueue(DECISION_THREADS, "veracity-decision", self._run)
        self._rejections = FairQueue(REJECTION_THREADS, "veracity-rejection", self._run)
        self._failed_last_sweep: set[str] = set()
        self._sweep = RecoverySweep(engine, self._resume_interrupted, self._close_stopped, self.stopping)
        self.takes_jobs = self._sweep.takes_jobs
        if resumes:
            self._sweep.start()

    def start(self, run_id: str, asker: str) -> None:
        """Queues a new run, whose asker holds a queue slot."""
        run_log = self._add_log(RunLog(run_id, self._loop, asker=asker))
        if not self._questions.submit(asker, run_log):  # shutting down; the run resumes on the next start
            self._slots.release(asker)
            run_log.close()

    def resume(self, run_id: str, decided: Approval | None) -> None:
        """Queues an existing run, unless this process already drives it for the same decision."""
        approval_id = decided.approval_id if decided else ""
        current = self.logs.get(run_id)
        if current and not current.is_closed and (not approval_id or current.approval_id == approval_id):
            return
        run_log = self._add_log(RunLog(run_id, self._loop, approval_id))
        if not self._queue_for(decided).submit(decided.user if decided else "", run_log):
            run_log.close()

    def resume_after(self, seconds: float, decided: Approval) -> None:
        """Queues the run of a held decision when that takes effect. The sweep does so after a restart, and no process
        gets the run if the decision was withdrawn."""

        def resume() -> None:
            if not self.stopping.is_set():
                self.resume(decided.run_id, decided)

        self._loop.call_soon_threadsafe(self._loop.call_later, seconds + EFFECT_SECONDS, resume)

    def close(self, run_id: str) -> None:
        """Ends the log of a stopped run, and removes the run from the queue if it is waiting."""
        if run_log := self.logs.get(run_id):
            run_log.close()
            if run_log.asker and self._questions.withdraw(run_log.asker, run_log):
                self._slots.release(run_log.asker)
                self._drop_log(run_log)

    def forget_finished(self) -> None:
        """Drops finished logs, because they may contain text that was forgotten."""
        with self._lock:
            for run_id in [run_id for run_id, run_log in self.logs.items() if run_log.is_closed]:
                del self.logs[run_id]

    def stop(self, grace: float) -> None:
        """Starts no more runs, waits `grace` seconds, then pauses the rest after their current step."""
        self.stopping.set()
        self._wakeups.wake()
        for queue in (self._questions, self._decisions, self._rejections):
            queue.stop()
        end = time.monotonic() + grace
        while self.running and time.monotonic() < end:
            time.sleep(0.05)
        self._engine.leave()
        for run_log in list(self.logs.values()):
            run_log.close()

    def _resume_interrupted(self, run_id: str) -> None:
        decided = None
        with suppress(NotFoundError):
            decided = self._engine.approval(run_id)
        self.resume(run_id, decided)

    def _close_stopped(self) -> None:
        """Closes the logs of runs that another process stopped, so that followers need not wait for the next step.
        Only in the second sweep that sees them: runs that fail here publish that themselves."""
        with self._lock:
            open_runs = [run_id for run_id, run_log in self.logs.items() if not run_log.is_closed]
        statuses = self._engine.run_statuses(open_runs) if open_runs else {}
        failed = {run_id for run_id, status in statuses.items() if status == "failed"}
        for run_id in failed & self._failed_last_sweep:
            self._engine.stop(run_id)  # ends what the run waits for here
            self.close(run_id)
        self._failed_last_sweep = failed

    def _queue_for(self, decided: Approval | None) -> FairQueue[RunLog]:
        if decided is None:
            return self._questions
        return self._rejections if decided.takes_long else self._decisions

    def _add_log(self, run_log: RunLog) -> RunLog:
        with self._lock:
            self.logs[run_log.run_id] = run_log
        self._wakeups.wake(LedgerChange(kind="run", run_id=run_log.run_id))
        return run_log

    def _drop_log(self, run_log: RunLog) -> None:
        with self._lock:
            if self.logs.get(run_log.run_id) is run_log:
                del self.logs[run_log.run_id]

    def _run(self, run_log: RunLog) -> None:
        if run_log.asker:
            self._slots.release(run_log.asker)
        if run_log.is_closed:
            self._drop_log(run_log)
            return
        with self._lock:
            self.running += 1
        started = time.monotonic()
        try:
            self._drive(run_log)
        except (ShutdownError, LostLeaseError):
            pass  # the run continues later or in another process; followers read the ledger
        except VeracityError as error:
            self._handle_failure(run_log, error, time.monotonic() - started)
        except BaseException:
            log.exception("Run %s failed", run_log.run_id)
            self._handle_failure(run_log, VeracityError(INTERNAL_ERROR), time.monotonic() - started)
        finally:
            with self._lock:
                self.running -= 1
            self._slots.record_run(time.monotonic() - started)
            run_log.close()
            with suppress(RuntimeError):  # the event loop has ended
                self._loop.call_soon_threadsafe(self._loop.call_later, KEEP_LOG_SECONDS, self._drop_log, run_log)
            self._on_change()

    def _drive(self, run_log: RunLog) -> None:
        if not run_log.asker:
            run_log.skip(self._engine.progress(run_log.run_id).steps)
        for event in self._engine.resume(run_log.run_id, drafts=True):
            self._publish(run_log, event)

    def _handle_failure(self, run_log: RunLog, error: VeracityError, seconds: float) -> None:
        """Publishes the failure if the ledger confirms it; otherwise the run is retried, and followers wait."""
        if self._engine.standing(run_log.run_id).status != "failed":
            self._sweep.retry_later(run_log.run_id, error)
            return
        log.warning("Run %s failed: %s", run_log.run_id, error)
        run_log.error = error
        self._on_end("failed", seconds)
        run_log.publish("failed", problem=str(error))

    def _publish(self, run_log: RunLog, event: RunEvent) -> None:
        if event.answer:
            self._on_end(event.answer.status, event.answer.seconds)
            run_log.publish("answer", answer=event.answer)
        elif event.step:
            run_log.publish_step(event.step)
        elif event.kind == "draft":
            run_log.publish("draft", text=event.text, begins=event.begins)
        else:
            run_log.publish(event.kind, name=event.name)


def _publish_queue_position(run_log: RunLog, ahead: int) -> None:
    """Only for new runs. Another process may report a resumed run's queue position."""
    if run_log.asker and ahead != run_log.ahead:
        run_log.ahead = ahead
        run_log.publish("queued", ahead=ahead)


class LiveRuns:
    """The interface for routes: checks limits and permissions. `on_change` is called when a run ends or waits for
    approval, `on_end` with a run's status and duration. Unless it `works`, runs are queued for workers."""

    def __init__(
        self,
        engine: Veracity,
        limits: Limits,
        wakeups: Wakeups,
        on_change: OnChange,
        on_end: OnEnd,
        *,
        works: bool = True,
    ) -> None:
        self._engine = engine
        self._settings = engine.settings.server
        self._limits = limits
        self._slots = QueueSlots(self._settings)
        self._works = works
        self._pool = RunPool(engine, self._slots, wakeups, on_change, on_end, resumes=works)
        self._follower = RunFollower(engine, self._pool.logs, self._pool.stopping, wakeups)
        self._followers: Counter[str] = Counter()  # by run; used on the event loop only
        self._abandoned: set[asyncio.Task[None]] = set()  # keeps the tasks alive
        self._on_change = on_change
        self.forget_finished = self._pool.forget_finished
        self.stop = self._pool.stop

    @property
    def is_stopping(self) -> bool:
        return self._pool.stopping.is_set()

    @property
    def waiting(self) -> int:
        return self._slots.taken

    async def count_waiting(self) -> int:
        """The queued questions: of this server, or of all if workers answer them."""
        return self.waiting if self._works else await run_sync(self._engine.traffic.queued)

    @property
    def running(self) -> int:
        return self._pool.running

    def require_can_ask(self, user: User) -> None:
        """For callers with expensive lookups before the question."""
        self._require_open()
        self._limits.require_ask(user.name, takes=False)

    def start(self, user: User, question: str, *, conversation: str = "", **options: Any) -> str:
        """Records a new run in the ledger, queues it and returns its id. `options` are those of `Veracity.begin`."""
        self._require_open()
        self._limits.require_ask(user.name)
        self._require_within_settings(options.get("max_rewrites"), options.get("deadline"))
        self._limits.require_few_pending(self._engine.pending(user=user.name))
        if conversation in (".", ".."):  # clients normalize them away in URLs
            raise InputError('A conversation cannot be named "." or "..": choose another name.')
        if self._engine.settings.store.ledger:
            self._limits.require_ask_of_deployment(
                self._engine.traffic.nth_newest_ask(user.name, self._settings.asks_per_minute)
            )
        if not self._works:
            self._slots.require_queue(self._engine.traffic.queued(), self._engine.traffic.queued(user.name))
            return self._engine.begin(question, user=user.name, conversation=conversation, queued=True, **options)
        self._slots.require(user.name, self.running)
        try:
            run_id = self._engine.begin(question, user=user.name, conversation=conversation, **options)
        except BaseException:
            self._slots.release(user.name)
            raise
        self._pool.start(run_id, user.name)
        return run_id

    def decide(self, user: User, approval_id: str, hold: float = 0.0, **decision: Any) -> Approval:
        """Records the decision, with the options of `Veracity.decide`, and resumes the run in the background, after
        `hold` seconds."""
        self._require_open()
        if not (self._works and self._pool.takes_jobs()):
            decided = self._engine.inbox.store_decision(approval_id, by=user.name, queued=True, hold=hold, **decision)
        elif hold:
            decided = self._engine.inbox.hold(approval_id, by=user.name, seconds=hold, **decision)
            self._pool.resume_after(hold, decided)
        else:
            # The events are not consumed: another process may be first to resume the run.
            self._engine.stream_decision(approval_id, by=user.name, **decision)
            decided = self._engine.approval(approval_id)
            self._pool.resume(decided.run_id, decided)
        self._on_change()
        return decided

    def withdraw(self, user: User, approval_id: str) -> Approval:
        """Undoes a decision that is not effective yet."""
        pending = self._engine.inbox.withdraw(approval_id, by=user.name)
        self._on_change()
        return pending

    def assign(self, approval_id: str, assignee: str) -> Approval:
        assigned = self._engine.inbox.assign(approval_id, assignee)
        self._on_change()
        return assigned

    def stop_run(self, user: User, run_id: str) -> RunSummary:
        stopped = self._engine.stop(run_id, by=user.name)
        if stopped.status == "failed":
            self._pool.close(run_id)
        return stopped

    async def require_visible(self, run_id: str, user: User) -> str:
        """The run's id; raises 404 if the user may not see the run."""
        standing = await self._follower.standing(run_id)
        require_visible(user, standing.user, "run", run_id)
        return standing.run_id

    async def follow(self, run_id: str, user: User, after: str = "") -> AsyncGenerator[LiveEvent]:
        """Events after the event `after`, until the run ends or waits for approval. Does not check whether the user
        may see the run: see `require_visible`."""
        sees_drafts = can_see_drafts(user, self._settings)
        self._followers[run_id] += 1
        try:
            async for event in self._follower.events(run_id, parse_position(after)):
                data = event.data if sees_drafts else hide_event_drafts(event.data)
                if data is not None:
                    yield LiveEvent(event.id, redact_paths(data, user))
        finally:
            self._followers[run_id] -= 1
            self._followers += Counter()  # drops zero counts

    def abandon(self, user: User, run_id: str) -> None:
        """Stop a run whose client is gone, unless another one follows it soon: clients retry. On the event loop."""
        task = asyncio.create_task(self._stop_unless_followed(user, run_id))
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)

    async def _stop_unless_followed(self, user: User, run_id: str) -> None:
        await asyncio.sleep(ABANDON_SECONDS)
        if not self._followers[run_id] and not self._pool.stopping.is_set():
            with suppress(VeracityError):  # such as a run that was forgotten
                await run_sync(self.stop_run, user, run_id)

    async def wait_for_answer(self, run_id: str, user: User) -> Answer:
        """Raises the run's error, with its id, if the run fails."""
        try:
            async for event in self.follow(run_id, user):
                if event.data["kind"] == "answer":
                    return cast(Answer, event.data["answer"])
                if event.data["kind"] == "failed":
                    run_log = self._pool.logs.get(run_id)
                    raise (run_log and run_log.error) or RefusedError(502, "RunFailed", event.data["problem"])
            raise stopping_error(STOPPING_RUN.format(run_id))
        except VeracityError as error:
            raise add_run(error, run_id) from error

    def _require_open(self) -> None:
        if self._pool.stopping.is_set():
            raise stopping_error()

    def _require_within_settings(self, max_rewrites: int | None, deadline: float | None) -> None:
        """Requests may lower the configured limits but not raise them."""
        settings = self._engine.settings
        if deadline is not None and deadline > settings.answering.run_deadline:
            raise InputError(f"The deadline is at most {settings.answering.run_deadline:g} seconds on this server.")
        if max_rewrites is not None and max_rewrites > settings.quality.max_rewrites:
            raise InputError(f"The limit of rewrites is at most {settings.quality.max_rewrites} on this server.")
