"""The client for language models: deadlines, retries and re-asks around single calls."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

from veracity.deadlines import Deadline
from veracity.errors import ModelAnswerError, ModelError, ModelRequestError
from veracity.llm.budget import Budget
from veracity.llm.call_log import CallRecord
from veracity.llm.listening import Listener, OnText, StreamingError
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
from veracity.llm.sending import Attempt, CallDeadline, Sender
from veracity.models import NOTHING_USED, Usage
from veracity.providers.errors import CONTENT_FILTERED, Failure
from veracity.providers.keys import NO_SERVERS, ServersByName, require_key
from veracity.providers.retirement import warn_of_retirement
from veracity.providers.retry import retry
from veracity.settings import LLMSettings, MaxTokensSettings

if TYPE_CHECKING:
    from veracity.llm.pydantic_ai import MakeModel

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
        self._has_own_models = make_model is None
        self._sender = Sender(self.settings, self.max_tokens, servers, make_model)
        self._ready: set[tuple[str, str]] = set()

    def require(self, model: str, role: str, deadline: Deadline | None = None) -> None:
        """Raise if the model cannot be set up: key, provider or SDK missing."""
        if self._has_own_models:
            require_key(model, self._servers)
        if (role, model) in self._ready:
            return
        self._sender.set_up(model, role, deadline or Deadline())
        if self._has_own_models and all(name != model for _, name in self._ready):
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
        self._sender.close()

    def _complete(
        self, request: ModelRequest[V], budget: Budget | None, deadline: Deadline | None, on_text: OnText | None = None
    ) -> tuple[V, Usage]:
        params = request.params
        if (params.role, params.model) not in self._ready:
            self.require(params.model, params.role, deadline)
        limit = CallDeadline.earlier_of(deadline or Deadline(), self.settings.deadline)
        traits, is_auto = self._sender.traits[params.role, params.model], self.settings.output_mode == "auto"
        mode = traits.output_mode if is_auto else self.settings.output_mode
        first = Attempt(request, request.turns, mode, limit, self.settings.call_timeout)
        listener = Listener(on_text, traits) if on_text is not None else None
        attempts = _Attempts(self._sender, request, first, budget or Budget(), listener, is_auto)
        value = retry(
            attempts.make,
            backoff=self.settings.backoff,
            deadline=limit.deadline,
            max_retries=params.max_retries,
            deadline_name=limit.name,
        )
        return value, attempts.usage


@dataclass
class _Attempts(Generic[V]):
    """The attempts at one request: their usage adds up, and an unusable answer changes the next prompt."""

    sender: Sender
    request: ModelRequest[V]
    next: Attempt
    budget: Budget
    listener: Listener | None
    can_change_mode: bool
    usage: Usage = NOTHING_USED
    has_run_away: bool = False

    def make(self) -> V:
        self.budget.check()
        attempt = replace(self.next, stream=self.listener.start_call() if self.listener else None)
        try:
            with self.budget.recording(CallRecord(self.request, attempt.turns)) as record:
                record.reply = self.sender.send(attempt)
                value = self._read(record.reply, is_streamed=attempt.stream is not None)
        except ModelError as failure:
            if self.listener:
                self.listener.record_failure(failure)
            if isinstance(failure, RunawayError):  # worth one retry, since each costs as much as a reply can
                failure.retryable, self.has_run_away = not self.has_run_away, True
            self._add_complaint(failure)
            self._change_mode(failure, record.reply)
            raise
        if self.listener:
            self.listener.finish(attempt.stream, str(value))
        if self.request.output:
            self.sender.traits[attempt.role, attempt.model].output_mode = attempt.mode
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
        if not self.can_change_mode or not self.request.output:
            return
        mode = self.next.mode
        if isinstance(failure, ModelAnswerError) and reply and reply.is_prose:
            self.next = replace(self.next, mode="native" if mode == "auto" else "prompted")
        elif isinstance(failure, ModelRequestError) and mode == "native":
            self.next, failure.retryable = replace(self.next, mode="prompted"), True

    def _add_complaint(self, failure: ModelError) -> None:
        """As JSON, since the complaint may quote the model, and the model may quote a hostile text."""
        if isinstance(failure, ModelAnswerError) and failure.complaint:
            *earlier, last = self.request.turns
            complaint = json.dumps(failure.complaint, ensure_ascii=False)
            prompt = f"{last.text}\n\nYour previous answer could not be used: {complaint}\n"
            last = Message("user", prompt + self.request.retry_instruction)
            self.next = replace(self.next, turns=(*earlier, last))
