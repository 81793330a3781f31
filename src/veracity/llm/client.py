"""The client for language models: deadlines, retries and re-asks around single calls."""

from __future__ import annotations

import json
from asyncio import CancelledError
from collections import defaultdict
from concurrent.futures import wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel

from veracity import telemetry
from veracity.deadlines import SLOW_HINT, Deadline
from veracity.errors import ModelAnswerError, ModelError, ModelRequestError, ModelTimeoutError, Stopped
from veracity.llm.budget import Budget
from veracity.llm.call_log import CallRecord
from veracity.llm.listening import Listener, OnText, ServerTraits, StreamedCall, StreamingError
from veracity.llm.replies import Reply, RunawayError
from veracity.llm.requests import (
    Answer,
    Message,
    ModelRequest,
    Question,
    Text,
    TextRequest,
    question_request,
    text_request,
)
from veracity.models import NOTHING_USED, Usage
from veracity.providers.errors import CONTENT_FILTERED, TIMED_OUT, Failure
from veracity.providers.keys import NO_SERVERS, ServersByName, require_key
from veracity.providers.retirement import warn_of_retirement
from veracity.providers.retry import NotSentError, retry
from veracity.settings import LLMSettings, MaxTokensSettings, OutputMode
from veracity.workers import Outcome, ThreadLocals, Workers

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from pydantic_ai.models import Model

    from veracity.llm.pydantic_ai import MakeModel

# A call that does not end by itself is abandoned so long after the deadline.
GRACE_SECONDS = 5.0  # after llm.deadline
CALLER_GRACE_SECONDS = 0.5  # after the caller's deadline: the caller has other work
CANCEL_SECONDS = 1.0  # for a cancelled call to close its connection
THINKING_TOKENS = 8000  # on top of a role's max_tokens, for models that think before they answer

T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")


class LLM:
    """`servers` are the user's own, whose models are named `NAME:model`.

    `make_model` makes a pydantic-ai model from name and role; by default the name has the provider or server, and keys
    come from the environment.
    """

    def __init__(
        self,
        settings: LLMSettings | None = None,
        *,
        max_tokens: MaxTokensSettings | None = None,
        servers: ServersByName = NO_SERVERS,
        make_model: MakeModel | None = None,
    ) -> None:
        self.settings = settings or LLMSettings()
        self.max_tokens = max_tokens or MaxTokensSettings()
        self._servers = servers
        self._make_model = make_model
        self._workers = Workers(self.settings.workers, "veracity-llm")
        self._ready: set[tuple[str, str]] = set()
        self._traits: defaultdict[tuple[str, str], ServerTraits] = defaultdict(ServerTraits)

    def require(self, model: str, role: str, deadline: Deadline | None = None) -> None:
        """Raise if the model cannot be set up: key, provider or SDK missing."""
        if self._make_model is None:
            require_key(model, self._servers)
        if (role, model) in self._ready:
            return
        future = self._workers.submit(lambda thread_locals: self._model(thread_locals, model, role))
        if not (deadline or Deadline()).wait_for(future):
            future.cancel()
            raise ModelTimeoutError(f'The model "{model}" could not be set up in time: allow more time.')
        future.result()
        if self._make_model is None and all(name != model for _, name in self._ready):
            warn_of_retirement(model)
        self._ready.add((role, model))

    def ask(self, question: Question[T], budget: Budget | None = None, deadline: Deadline | None = None) -> Answer[T]:
        """Makes at most 1 + `max_retries` calls, all before `deadline` and within `llm.deadline` seconds."""
        return Answer(*self._complete(question_request(question), budget, deadline))

    def write(
        self,
        request: TextRequest,
        budget: Budget | None = None,
        deadline: Deadline | None = None,
        on_text: OnText | None = None,
    ) -> Text:
        """As `ask`, for plain text. `on_text` gets it as it is streamed, on this thread and a few times a second; only
        the returned text is final."""
        return Text(*self._complete(text_request(request), budget, deadline, on_text))

    def close(self) -> None:
        """End the threads. Optional: they end with the LLM."""
        self._workers.close()

    def _complete(
        self, request: ModelRequest[V], budget: Budget | None, deadline: Deadline | None, on_text: OnText | None = None
    ) -> tuple[V, Usage]:
        params = request.params
        if (params.role, params.model) not in self._ready:
            self.require(params.model, params.role, deadline)
        limit = CallDeadline.earlier_of(deadline or Deadline(), self.settings.deadline)
        listener = Listener(on_text, self._traits[params.role, params.model]) if on_text is not None else None
        mode = self.settings.output_mode
        if mode == "auto":
            mode = self._traits[params.role, params.model].output_mode
        attempts = _Attempts(self, request, budget or Budget(), limit, listener, request.turns, mode)
        value = retry(
            attempts.make,
            backoff=self.settings.backoff,
            deadline=limit.deadline,
            max_retries=params.max_retries,
            deadline_name=limit.name,
        )
        return value, attempts.usage

    def _call(
        self,
        request: ModelRequest[Any],
        turns: tuple[Message, ...],
        mode: OutputMode,
        limit: CallDeadline,
        stream: StreamedCall | None,
    ) -> Reply:
        model, parent = request.params.model, telemetry.current_context()
        limit.deadline.stop.check()
        if limit.deadline.has_passed:
            raise NotSentError(f'The model "{model}" was not called: {limit.name} has passed; {SLOW_HINT}.')
        call = self._workers.submit(
            lambda thread_locals: self._send(thread_locals, request, turns, mode, limit, stream, parent)
        )
        try:
            if stream:
                stream.forward(call, limit.deadline)
            if not limit.deadline.wait_for(call) and not call.cancel():
                limit.abandon_at.wait_for(call)  # the call has a timeout of its own
            return self._outcome(call, model, limit)
        except ModelError:
            raise
        except BaseException:  # the caller is interrupted or stopped
            call.stop()
            wait([call], CANCEL_SECONDS)
            raise

    def _outcome(self, call: Outcome, model: str, limit: CallDeadline) -> Reply:
        if call.cancelled():
            raise NotSentError(self._workers_busy(model, limit))
        if not call.done():
            call.stop()
            raise Failure(TIMED_OUT).model_error(model)
        try:
            return call.result()  # type: ignore[no-any-return]
        except CancelledError:
            raise Stopped from None

    def _send(
        self,
        thread_locals: ThreadLocals,
        request: ModelRequest[Any],
        turns: tuple[Message, ...],
        mode: OutputMode,
        limit: CallDeadline,
        stream: StreamedCall | None,
        parent: Context | None,
    ) -> Reply:
        """Runs on a worker. The time spent waiting for one counts."""
        from veracity.llm.pydantic_ai import Call, send, thinks  # noqa: PLC0415 - loads pydantic-ai

        model = self._model(thread_locals, request.params.model, request.params.role)
        left = limit.deadline.left
        if left <= 0:
            raise NotSentError(self._workers_busy(request.params.model, limit))
        params, timeout = request.params, min(left, self.settings.call_timeout)
        traits = self._traits[params.role, params.model]
        max_tokens = self._max_tokens(params, traits.thinks or thinks(model))
        if mode == "native" != self.settings.output_mode and not model.profile.get("supports_json_schema_output"):
            mode = "auto"  # pydantic-ai would raise
        call = Call(request, turns, mode, timeout, max_tokens)
        reply = send(model, call, stream.put if stream else None, parent)
        traits.thinks = traits.thinks or reply.has_thoughts
        return reply

    def _max_tokens(self, params: Question[Any] | TextRequest, thinks: bool) -> int | None:
        """That of the request, or of its role. None for a role without a bound."""
        bound = self.max_tokens.of(params.role)
        if params.max_tokens is not None or bound is None:
            return params.max_tokens
        return bound + THINKING_TOKENS if thinks else bound

    def _model(self, thread_locals: ThreadLocals, name: str, role: str) -> Model:
        from veracity.llm.pydantic_ai import make_model  # noqa: PLC0415 - loads pydantic-ai
        from veracity.llm.response_limit import limit_responses  # noqa: PLC0415 - loads HTTPX

        key = (role, name)
        if key not in thread_locals:
            model = thread_locals[key] = make_model(name, role, self._make_model, self._servers)
            limit_responses(getattr(model, "client", None))
        return thread_locals[key]  # type: ignore[no-any-return]

    def _workers_busy(self, model: str, limit: CallDeadline) -> str:
        return (
            f'The model "{model}" was not called in time, since all {self.settings.workers} workers were busy: '
            f"raise llm.workers or {limit.name}."
        )


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


@dataclass
class _Attempts(Generic[V]):
    """The attempts at one request: their usage adds up, and an unusable answer changes the next prompt."""

    llm: LLM
    request: ModelRequest[V]
    budget: Budget
    limit: CallDeadline
    listener: Listener | None
    turns: tuple[Message, ...]
    mode: OutputMode
    usage: Usage = NOTHING_USED
    has_run_away: bool = False

    def make(self) -> V:
        self.budget.check()
        stream = self.listener.start_call() if self.listener else None
        try:
            with self.budget.recording(CallRecord(self.request, self.turns)) as record:
                record.reply = self.llm._call(self.request, self.turns, self.mode, self.limit, stream)
                value = self._read(record.reply, is_streamed=stream is not None)
        except ModelError as failure:
            if self.listener:
                self.listener.record_failure(failure)
            if isinstance(failure, RunawayError):  # worth one retry, since each costs as much as a reply can
                failure.retryable, self.has_run_away = not self.has_run_away, True
            self._add_complaint(failure)
            self._change_mode(failure, record.reply)
            raise
        if self.listener:
            self.listener.finish(stream, str(value))
        if self.request.output:
            self.llm._traits[self.request.params.role, self.request.params.model].output_mode = self.mode
        return value

    def _read(self, reply: Reply, is_streamed: bool) -> V:
        model = self.request.params.model
        if is_streamed and self.budget.has_limit and not reply.usage.tokens:
            message = f'The provider of "{model}" does not report how many tokens it used while it streams.'
            raise StreamingError(message, is_permanent=True)
        self.usage = self.usage + reply.usage
        self.budget.spend(reply.usage, self.request.params.role)
        if reply.finish_reason == "content_filter":
            raise Failure(CONTENT_FILTERED).model_error(model)
        return self.request.read(reply)

    def _change_mode(self, failure: ModelError, reply: Reply | None) -> None:
        """Some servers ignore tools, and most of these follow a schema. The last resort is the schema in the prompt."""
        if self.llm.settings.output_mode != "auto" or not self.request.output:
            return
        if isinstance(failure, ModelAnswerError) and reply and reply.is_prose:
            self.mode = "native" if self.mode == "auto" else "prompted"
        elif isinstance(failure, ModelRequestError) and self.mode == "native":
            self.mode, failure.retryable = "prompted", True

    def _add_complaint(self, failure: ModelError) -> None:
        """As JSON, since the complaint may quote the model, and the model may quote a hostile text."""
        if isinstance(failure, ModelAnswerError) and failure.complaint:
            *earlier, last = self.request.turns
            complaint = json.dumps(failure.complaint, ensure_ascii=False)
            prompt = f"{last.text}\n\nYour previous answer could not be used: {complaint}\n"
            self.turns = (*earlier, Message("user", prompt + self.request.retry_instruction))
