"""Asking a model a question: deadlines, retries, re-asks and accounting around single calls."""

from __future__ import annotations

import copy
import itertools
import json
import random
import time
from collections.abc import Callable
from concurrent.futures import TimeoutError as NotDone
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from pydantic import BaseModel

from veracity.errors import ModelAnswerError, ModelError, ModelRefusedError, ModelTimeoutError
from veracity.llm.answers import read_answer
from veracity.llm.budget import Budget
from veracity.models import Usage
from veracity.providers.keys import require_key
from veracity.settings import LLMSettings
from veracity.workers import Belongings, Workers

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from veracity.llm.calling import Reply

T = TypeVar("T", bound=BaseModel)

LONGEST_PAUSE = 30.0
BACKSTOP = 5.0  # seconds beyond its own deadline after which a call is given up from outside


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """`role` keeps model instances apart: a reviewer never shares the writer's."""

    model: str
    role: str
    instructions: str
    prompt: str
    output: type[T]
    temperature: float = 0.0
    max_tokens: int | None = None
    max_retries: int = 3


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    value: T
    usage: Usage


class LLM:
    """`make_model` turns a name into a pydantic-ai model; without it pydantic-ai does, with the environment's keys."""

    def __init__(
        self, settings: LLMSettings | None = None, *, make_model: Callable[[str], Model] | None = None
    ) -> None:
        self.settings = settings or LLMSettings()
        self._make_model = make_model
        self._workers = Workers(self.settings.workers, "veracity-llm")
        self._set_up: set[tuple[str, str]] = set()

    def require(self, model: str, role: str) -> None:
        """Raise now if the model cannot even be set up: no key, no such provider, no SDK."""
        if self._make_model is None:
            require_key(model)
        if (role, model) not in self._set_up:
            self._workers.submit(lambda models: self._model(models, model, role)).result()
            self._set_up.add((role, model))

    def ask(self, question: Question[T], budget: Budget | None = None) -> Answer[T]:
        """At most 1 + `max_retries` calls, all within the deadline."""
        if (question.role, question.model) not in self._set_up:
            self.require(question.model, question.role)
        budget = budget or Budget()
        usage = Usage()
        prompt = question.prompt
        end = time.monotonic() + self.settings.deadline
        for attempt in itertools.count(1):
            budget.check()
            try:
                reply = self._call(question, prompt, end)
                usage = usage + reply.usage
                budget.spend(reply.usage)
                return Answer(_read(reply, question), usage)
            except ModelError as problem:
                failure = problem.with_traceback(None)  # which leads to this LLM and would keep it alive
            self._pause_or_raise(question, attempt, failure, end)
            prompt = _asked_again(question.prompt, failure) or prompt
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """End the threads. Optional: they end with the LLM."""
        self._workers.close()

    def _call(self, question: Question[T], prompt: str, end: float) -> Reply:
        future = self._workers.submit(lambda models: self._send(models, question, prompt, end))
        try:
            return future.result(max(0.0, end - time.monotonic()))  # type: ignore[no-any-return]
        except NotDone:
            pass
        finally:
            future.cancel()  # nobody waits any more: a call that has not begun need not be made
        if future.cancelled():
            raise _NeverSentError(self._too_busy(question.model))
        try:
            return future.result(BACKSTOP)  # type: ignore[no-any-return]  # it has a deadline of its own
        except NotDone:
            raise ModelTimeoutError(f'The model "{question.model}" did not answer in time.') from None

    def _send(self, models: Belongings, question: Question[T], prompt: str, end: float) -> Reply:
        """Runs on a worker. The time spent waiting for one counts."""
        from veracity.llm.calling import Call, send  # noqa: PLC0415 - loads pydantic-ai

        model = self._model(models, question.model, question.role)
        left = end - time.monotonic()
        if left <= 0:
            raise _NeverSentError(self._too_busy(question.model))
        call = Call(
            model=question.model,
            instructions=question.instructions,
            prompt=prompt,
            output=question.output,
            mode=self.settings.output_mode,
            temperature=question.temperature,
            max_tokens=question.max_tokens,
            timeout=min(left, self.settings.call_timeout),
        )
        return send(model, call)

    def _model(self, models: Belongings, name: str, role: str) -> Model:
        from veracity.llm.calling import make_model  # noqa: PLC0415 - loads pydantic-ai

        key = (role, name)
        if key not in models:
            models[key] = make_model(name, self._make_model)
        return models[key]  # type: ignore[no-any-return]

    def _pause_or_raise(self, question: Question[T], attempt: int, failure: ModelError, end: float) -> None:
        """Wait before the next attempt, at least as long as the provider asks; raise where none can follow."""
        calls = attempt - isinstance(failure, _NeverSentError)
        if not failure.retryable or attempt > question.max_retries:
            raise _with_calls(failure, calls)
        asked_for = failure.retry_after or 0.0
        backoff = min(LONGEST_PAUSE, self.settings.backoff * 2 ** (attempt - 1))
        pause = asked_for + backoff * random.uniform(0.5, 1.0)
        left = max(0.0, end - time.monotonic())
        if pause >= left:
            asks = (
                f"the provider asks to wait {asked_for:.0f} s" if asked_for >= left > 0 else "another would be too late"
            )
            raise _with_calls(failure, calls, f"{asks}, llm.deadline leaves {left:.0f} s")
        time.sleep(pause)

    def _too_busy(self, model: str) -> str:
        return (
            f'The model "{model}" was not asked in time, since all {self.settings.workers} workers were busy: '
            "raise llm.workers or llm.deadline."
        )


class _NeverSentError(ModelTimeoutError):
    """The deadline passed while the call was waiting for a worker."""

    retryable = False


def _read(reply: Reply, question: Question[T]) -> T:
    if reply.finish_reason == "content_filter":
        raise ModelRefusedError(
            f'The model "{question.model}" refused to answer: reword the text or use another model.'
        )
    return read_answer(question.model, reply.written, question.output, reply.finish_reason)


def _asked_again(prompt: str, failure: ModelError) -> str | None:
    """The complaint may quote the model, and the model may quote a hostile text: it travels as JSON."""
    if not isinstance(failure, ModelAnswerError) or not failure.complaint:
        return None
    complaint = json.dumps(failure.complaint, ensure_ascii=False)
    return f"{prompt}\n\nYour previous answer could not be used: {complaint}\nAnswer again in the required form."


def _with_calls(failure: ModelError, calls: int, why: str = "") -> ModelError:
    """The same error, telling how often the model was asked."""
    tail = f"{calls} call{'' if calls == 1 else 's'} made" + (f"; {why}" if why else "")
    told = copy.copy(failure)
    told.args = (f"{str(failure).rstrip('.')} ({tail}).",)
    return told
