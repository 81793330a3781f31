"""Makes single calls on worker threads. A caller can abandon its call, so none waits for a call that does not end."""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from veracity import telemetry
from veracity.deadlines import SLOW_HINT, Deadline
from veracity.errors import ModelError, ModelTimeoutError, Stopped
from veracity.llm.listening import ServerTraits, StreamedCall
from veracity.llm.replies import Reply
from veracity.llm.requests import Message, ModelRequest, Question, TextRequest
from veracity.providers.errors import TIMED_OUT, Failure
from veracity.providers.keys import ServersByName
from veracity.providers.retry import NotSentError
from veracity.settings import LLMSettings, MaxTokensSettings, OutputMode
from veracity.workers import Outcome, ThreadLocals, Worker, Workers, current_worker

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from pydantic_ai.models import Model

    from veracity.llm.pydantic_ai import MakeModel

# A call that does not end by itself is abandoned so long after the deadline.
GRACE_SECONDS = 5.0  # after llm.deadline
CALLER_GRACE_SECONDS = 0.5  # after the caller's deadline: the caller has other work
SLOT_SECONDS = 0.1  # how often a call that waits for its turn looks whether it was stopped
CANCEL_SECONDS = 1.0  # for a cancelled call to close its connection
THINKING_TOKENS = 8000  # on top of a role's max_tokens, for models that think before they answer


@dataclass(frozen=True, slots=True)
class CallDeadline:
    """The earlier of the caller's deadline and `llm.deadline`. `abandon_at` is when waiting ends in any case."""

    deadline: Deadline
    abandon_at: Deadline
    name: str

    @classmethod
    def earlier_of(cls, callers: Deadline, seconds: float) -> CallDeadline:
        own = Deadline.within(seconds, callers.stop)
        abandon_at = Deadline(min(own.end + GRACE_SECONDS, callers.end + CALLER_GRACE_SECONDS), callers.stop)
        if callers.end < own.end:
            return cls(callers, abandon_at, callers.name or "the deadline of this step")
        return cls(own, abandon_at, "llm.deadline")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a request: `turns` and `mode` change from attempt to attempt. It streams if `stream` is set."""

    request: ModelRequest[Any]
    turns: tuple[Message, ...]
    mode: OutputMode
    limit: CallDeadline
    timeout: float  # seconds for this call
    stream: StreamedCall | None = None

    @property
    def model(self) -> str:
        return self.request.params.model

    @property
    def role(self) -> str:
        return self.request.params.role


class Sender:
    """At most `llm.workers` calls run at once. A thread keeps its models, whose connections belong to its event loop.

    `traits` are by role and model.
    """

    def __init__(
        self,
        settings: LLMSettings,
        max_tokens: MaxTokensSettings,
        servers: ServersByName,
        make_model: MakeModel | None,
    ) -> None:
        self._settings = settings
        self._max_tokens = max_tokens
        self._servers = servers
        self._make_model = make_model
        self._workers = Workers(settings.workers, "veracity-llm")
        self._slots = threading.BoundedSemaphore(settings.workers)
        self.traits: defaultdict[tuple[str, str], ServerTraits] = defaultdict(ServerTraits)

    def set_up(self, model: str, role: str, deadline: Deadline) -> None:
        """Raise if the model cannot be set up, or not in time. The first thread of a batch does it itself."""
        self._workers.require_open()
        if self._make_model is None and (worker := current_worker()):
            self._model(worker.thread_locals, model, role)
            return
        future = self._workers.submit(lambda thread_locals: self._model(thread_locals, model, role))
        if not deadline.wait_for(future):
            future.cancel()
            raise ModelTimeoutError(f'The model "{model}" could not be set up in time: allow more time.')
        future.result()

    def send(self, attempt: Attempt) -> Reply:
        limit = attempt.limit
        limit.deadline.stop.check()
        if limit.deadline.has_passed:
            raise NotSentError(f'The model "{attempt.model}" was not called: {limit.name} has passed; {SLOW_HINT}.')
        job = partial(self._send, attempt=attempt, parent=telemetry.current_context())
        if worker := self._find_worker(attempt):
            self._workers.require_open()
            return _run_here(worker, job, attempt)
        return self._run_on_worker(job, attempt)

    def close(self) -> None:
        self._workers.close()

    def _find_worker(self, attempt: Attempt) -> Worker | None:
        """This thread, if it may make the call itself, and can cancel it."""
        from veracity.llm.response_limit import uses_httpx  # noqa: PLC0415 - loads HTTPX

        worker = current_worker()
        if worker is None or attempt.stream or self._make_model:
            return None
        model = self._model(worker.thread_locals, attempt.model, attempt.role)
        return worker if uses_httpx(getattr(model, "client", None)) else None

    def _run_on_worker(self, job: Callable[[ThreadLocals], Reply], attempt: Attempt) -> Reply:
        limit, call = attempt.limit, self._workers.submit(job)
        try:
            if attempt.stream:
                attempt.stream.forward(call, limit.deadline)
            if not limit.deadline.wait_for(call) and not call.cancel():
                limit.abandon_at.wait_for(call)  # the call has a timeout of its own
            return self._outcome(call, attempt)
        except ModelError:
            raise
        except BaseException:  # the caller is interrupted or stopped
            call.stop()
            wait([call], CANCEL_SECONDS)
            raise

    def _outcome(self, call: Outcome, attempt: Attempt) -> Reply:
        if call.cancelled():
            raise NotSentError(self._workers_busy(attempt))
        if not call.done():
            call.stop()
            raise Failure(TIMED_OUT).model_error(attempt.model)
        try:
            return call.result()  # type: ignore[no-any-return]
        except CancelledError:
            raise Stopped from None

    def _send(self, thread_locals: ThreadLocals, attempt: Attempt, parent: Context | None) -> Reply:
        """Runs on a worker. The time spent waiting for a slot counts."""
        deadline = attempt.limit.deadline
        while not self._slots.acquire(timeout=min(deadline.left, SLOT_SECONDS)):
            deadline.stop.check()
            if deadline.has_passed:
                raise NotSentError(self._workers_busy(attempt))
        try:
            deadline.stop.check()
            return self._send_now(thread_locals, attempt, parent)
        finally:
            self._slots.release()

    def _send_now(self, thread_locals: ThreadLocals, attempt: Attempt, parent: Context | None) -> Reply:
        from veracity.llm.pydantic_ai import Call, send, thinks  # noqa: PLC0415 - loads pydantic-ai

        model = self._model(thread_locals, attempt.model, attempt.role)
        left = attempt.limit.deadline.left
        if left <= 0:
            raise NotSentError(self._workers_busy(attempt))
        mode, traits = attempt.mode, self.traits[attempt.role, attempt.model]
        max_tokens = self._bound_tokens(attempt.request.params, traits.thinks or thinks(model))
        if mode == "native" != self._settings.output_mode and not model.profile.get("supports_json_schema_output"):
            mode = "auto"  # pydantic-ai would raise
        call = Call(attempt.request, attempt.turns, mode, min(left, attempt.timeout), max_tokens)
        reply = send(model, call, attempt.stream.put if attempt.stream else None, parent)
        traits.thinks = traits.thinks or reply.has_thoughts
        return reply

    def _bound_tokens(self, params: Question[Any] | TextRequest, thinks: bool) -> int | None:
        """The limit of the request, or of its role. None for a role without one."""
        bound = self._max_tokens.of(params.role)
        if params.max_tokens is not None or bound is None:
            return params.max_tokens
        return bound + THINKING_TOKENS if thinks else bound

    def _model(self, thread_locals: ThreadLocals, name: str, role: str) -> Model:
        from veracity.llm.pydantic_ai import make_model  # noqa: PLC0415 - loads pydantic-ai
        from veracity.llm.response_limit import limit_responses  # noqa: PLC0415 - loads HTTPX

        key = (self._slots, role, name)  # the threads of a batch may serve several clients
        if key not in thread_locals:
            model = thread_locals[key] = make_model(name, role, self._make_model, self._servers)
            limit_responses(getattr(model, "client", None))
        return thread_locals[key]  # type: ignore[no-any-return]

    def _workers_busy(self, attempt: Attempt) -> str:
        return (
            f'The model "{attempt.model}" was not called in time, since all {self._settings.workers} workers were '
            f"busy: raise llm.workers or {attempt.limit.name}."
        )


def _run_here(worker: Worker, job: Callable[[ThreadLocals], Reply], attempt: Attempt) -> Reply:
    limit = attempt.limit
    with worker.cancelling(limit.abandon_at.left) as cancel, limit.deadline.stop.calling(cancel):
        try:
            return job(worker.thread_locals)
        except CancelledError:
            pass
    limit.deadline.stop.check()
    if limit.deadline.has_passed:
        raise Failure(TIMED_OUT).model_error(attempt.model)
    raise Stopped
