"""Asking a model: deadlines, retries, re-asks and accounting around single calls."""

from __future__ import annotations

import copy
import itertools
import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as NotDone
from dataclasses import dataclass
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from veracity import telemetry
from veracity.deadlines import Deadline
from veracity.errors import BudgetError, ModelAnswerError, ModelError, ModelRefusedError, ModelTimeoutError
from veracity.llm.listening import Audience, Habits, Hearing, NotStreamedError, OnText
from veracity.llm.replies import Reply
from veracity.llm.requests import Answer, Errand, Message, Question, Text, Writing, asking, writing_on
from veracity.models import NOTHING_USED, Usage
from veracity.providers.keys import require_key
from veracity.settings import LLMSettings
from veracity.workers import Belongings, Workers

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from pydantic_ai.models import Model

    from veracity.llm.pydantic_ai import MakeModel


BACKSTOP = 5.0  # seconds beyond llm.deadline after which a call that does not end by itself is given up from outside
GRACE = 0.5  # the same beyond the deadline of a caller, who has other things to do


@dataclass(frozen=True, slots=True)
class Due:
    """`set_by` is the sooner of the two in words, `given_up` the moment when waiting ends whatever the call does."""

    deadline: Deadline
    given_up: Deadline
    set_by: str

    @classmethod
    def sooner_of(cls, callers: Deadline, allowed: float) -> Due:
        own = Deadline.within(allowed)
        given_up = Deadline(min(own.end + BACKSTOP, callers.end + GRACE))
        if callers.end < own.end:
            return cls(callers, given_up, "the deadline of this step")
        return cls(own, given_up, "llm.deadline")

    @property
    def leaves(self) -> str:
        return f"{self.set_by} leaves {self.deadline.left:.0f} s"


LONGEST_PAUSE = 30.0


class NeverSentError(ModelTimeoutError):
    """The deadline passed before the call was made."""

    retryable = False


def pause_or_raise(failure: ModelError, attempt: int, max_retries: int, backoff: float, due: Due) -> None:
    """Wait before the next attempt, at least as long as the provider asks; raise where none can follow."""
    calls = attempt - isinstance(failure, NeverSentError)
    if not failure.retryable or attempt > max_retries:
        too_late = type(failure) is ModelTimeoutError and due.deadline.has_passed
        raise _with_calls(failure, calls, due.leaves if too_late else "")
    asked_for = failure.retry_after or 0.0
    pause = asked_for + min(LONGEST_PAUSE, backoff * 2 ** (attempt - 1)) * random.uniform(0.5, 1.0)
    left = due.deadline.left
    if pause >= left:
        asks = f"the provider asks to wait {asked_for:.0f} s" if asked_for >= left > 0 else "another would be too late"
        raise _with_calls(failure, calls, f"{asks}, {due.leaves}")
    time.sleep(pause)


def _with_calls(failure: ModelError, calls: int, why: str = "") -> ModelError:
    """The same error, telling how often the model was asked."""
    tail = f"{calls} call{'' if calls == 1 else 's'} made" + (f"; {why}" if why else "")
    told = copy.copy(failure)
    told.args = (f"{str(failure).rstrip('.')} ({tail}).",)
    return told


class Budget:
    """Counts what calls consumed and refuses the next one once a ceiling is reached, or cannot be kept.

    Safe under threads. What a call consumes is known when it ends, so calls under way at that moment still end.
    """

    def __init__(self, tokens: int | None = None, cost_usd: float | None = None, spent: Usage = NOTHING_USED) -> None:
        self.tokens = tokens
        self.cost_usd = cost_usd
        self.spent = spent
        self._uncounted = 0
        self._lock = threading.Lock()

    @property
    def has_ceiling(self) -> bool:
        return self.tokens is not None or self.cost_usd is not None

    def spend(self, usage: Usage) -> None:
        with self._lock:
            self.spent = self.spent + usage
            self._uncounted += usage.calls > 0 and usage.tokens == 0

    def check(self) -> None:
        """Raise when no further call may be made."""
        if self.tokens is not None:
            self._check_tokens(self.tokens)
        if self.cost_usd is not None:
            self._check_cost(self.cost_usd)

    def _check_tokens(self, ceiling: int) -> None:
        if self._uncounted:
            raise BudgetError(
                "The server of the model does not tell how many tokens it used, so budget.tokens cannot be kept: "
                "remove it or use another model."
            )
        if self.spent.tokens >= ceiling:
            raise BudgetError(
                f"The ceiling of {ceiling:,} tokens is reached ({self.spent.tokens:,} spent): raise budget.tokens."
            )

    def _check_cost(self, ceiling: float) -> None:
        spent = self.spent.cost_usd
        if spent is None:
            raise BudgetError(
                "The price of the model is not known, so budget.cost_usd cannot be kept: set budget.tokens instead."
            )
        if spent >= ceiling:
            raise BudgetError(f"The ceiling of ${ceiling:g} is reached (${spent:.4f} spent): raise budget.cost_usd.")


T = TypeVar("T", bound=BaseModel)
V = TypeVar("V")
Turns = tuple[Message, ...]


class LLM:
    """`make_model` turns name and role into a pydantic-ai model; without it pydantic-ai does, by name, with the
    environment's keys."""

    def __init__(self, settings: LLMSettings | None = None, *, make_model: MakeModel | None = None) -> None:
        self.settings = settings or LLMSettings()
        self._make_model = make_model
        self._workers = Workers(self.settings.workers, "veracity-llm")
        self._set_up: set[tuple[str, str]] = set()
        self._habits: defaultdict[tuple[str, str], Habits] = defaultdict(Habits)

    def require(self, model: str, role: str, deadline: Deadline | None = None) -> None:
        """Raise now if the model cannot even be set up: no key, no such provider, no SDK."""
        if self._make_model is None:
            require_key(model)
        if (role, model) not in self._set_up:
            future = self._workers.submit(lambda models: self._model(models, model, role))
            if not wait([future], min((deadline or Deadline()).left, TIMEOUT_MAX)).done:
                future.cancel()
                raise ModelTimeoutError(f'The model "{model}" could not be set up in time: allow it more time.')
            future.result()
            self._set_up.add((role, model))

    def ask(self, question: Question[T], budget: Budget | None = None, deadline: Deadline | None = None) -> Answer[T]:
        """At most 1 + `max_retries` calls, all by the sooner of the deadline and `llm.deadline` from now."""
        return Answer(*self._carry_out(asking(question), budget or Budget(), deadline))

    def write(
        self,
        writing: Writing,
        budget: Budget | None = None,
        deadline: Deadline | None = None,
        on_text: OnText | None = None,
    ) -> Text:
        """As `ask`, for plain text. `on_text` hears it while it is written, on this thread and a few times a second;
        what is returned is the text that counts."""
        return Text(*self._carry_out(writing_on(writing), budget or Budget(), deadline, on_text))

    def close(self) -> None:
        """End the threads. Optional: they end with the LLM."""
        self._workers.close()

    def _carry_out(
        self, errand: Errand[V], budget: Budget, deadline: Deadline | None, on_text: OnText | None = None
    ) -> tuple[V, Usage]:
        asked = errand.asked
        if (asked.role, asked.model) not in self._set_up:
            self.require(asked.model, asked.role, deadline)
        usage = Usage()
        turns = errand.turns
        due = Due.sooner_of(deadline or Deadline(), self.settings.deadline)
        audience = Audience(on_text, self._habits[asked.role, asked.model]) if on_text is not None else None
        for attempt in itertools.count(1):
            budget.check()
            hearing = audience.hearing() if audience else None
            try:
                reply = self._call(errand, turns, due, hearing)
                if hearing and budget.has_ceiling and not reply.usage.tokens:
                    raise NotStreamedError(_uncounted(asked.model), for_good=True)
                usage = usage + reply.usage
                budget.spend(reply.usage)
                value = _read(reply, errand)
            except ModelError as problem:
                failure = problem.with_traceback(None)  # which leads to this LLM and would keep it alive
            else:
                if audience:
                    audience.end(hearing, str(value))
                return value, usage
            if audience:
                audience.learn(failure)
            pause_or_raise(failure, attempt, asked.max_retries, self.settings.backoff, due)
            turns = _asked_again(errand, failure) or turns
        raise AssertionError("the last attempt returns or raises")

    def _call(self, errand: Errand[Any], turns: Turns, due: Due, hearing: Hearing | None) -> Reply:
        model, parent = errand.asked.model, telemetry.here()
        if due.deadline.has_passed:
            raise NeverSentError(f'The model "{model}" was not asked, since {due.leaves}.')
        future: Future[Reply] = self._workers.submit(
            lambda models: self._send(models, errand, turns, due, hearing.say if hearing else None, parent)
        )
        try:
            if hearing:
                hearing.listen(future, due.deadline)
            return future.result(due.deadline.left)
        except NotDone:
            pass
        finally:
            future.cancel()  # nobody waits any more: a call that has not begun need not be made
        if future.cancelled():
            raise NeverSentError(self._too_busy(model, due))
        try:
            return future.result(due.given_up.left)  # it has a deadline of its own
        except NotDone:
            raise ModelTimeoutError(f'The model "{model}" did not answer in time.') from None

    def _send(
        self,
        models: Belongings,
        errand: Errand[Any],
        turns: Turns,
        due: Due,
        say: Callable[[str], None] | None,
        parent: Context | None,
    ) -> Reply:
        """Runs on a worker. The time spent waiting for one counts."""
        from veracity.llm.pydantic_ai import Call, send  # noqa: PLC0415 - loads pydantic-ai

        asked = errand.asked
        model = self._model(models, asked.model, asked.role)
        left = due.deadline.left
        if left <= 0:
            raise NeverSentError(self._too_busy(asked.model, due))
        call = Call(
            model=asked.model,
            role=asked.role,
            instructions=errand.instructions,
            turns=turns,
            output=errand.output,
            mode=self.settings.output_mode,
            temperature=asked.temperature,
            max_tokens=asked.max_tokens,
            timeout=min(left, self.settings.call_timeout),
        )
        return send(model, call, say, parent)

    def _model(self, models: Belongings, name: str, role: str) -> Model:
        from veracity.llm.pydantic_ai import make_model  # noqa: PLC0415 - loads pydantic-ai

        key = (role, name)
        if key not in models:
            models[key] = make_model(name, role, self._make_model)
        return models[key]  # type: ignore[no-any-return]

    def _too_busy(self, model: str, due: Due) -> str:
        return (
            f'The model "{model}" was not asked in time, since all {self.settings.workers} workers were busy: '
            f"raise llm.workers or {due.set_by}."
        )


def _read(reply: Reply, errand: Errand[V]) -> V:
    if reply.finish_reason == "content_filter":
        raise ModelRefusedError(
            f'The model "{errand.asked.model}" refused to answer: reword the text or use another model.'
        )
    return errand.read(reply)


def _uncounted(model: str) -> str:
    return f'The server of "{model}" does not tell how many tokens it used while it streams.'


def _asked_again(errand: Errand[Any], failure: ModelError) -> Turns | None:
    """The complaint may quote the model, and the model may quote a hostile text: it travels as JSON."""
    if not isinstance(failure, ModelAnswerError) or not failure.complaint:
        return None
    *earlier, last = errand.turns
    complaint = json.dumps(failure.complaint, ensure_ascii=False)
    again = f"{last.text}\n\nYour previous answer could not be used: {complaint}\n{errand.again}"
    return (*earlier, Message("user", again))
