"""The calls of one run to its models, kept with their texts for the receipt (`receipts.prompts`)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from veracity.errors import VeracityError
from veracity.llm.replies import Output, Reply
from veracity.llm.requests import Message, ModelRequest
from veracity.models import NOTHING_USED, CallMessage, Exchange, ModelCall
from veracity.printable import encodable
from veracity.providers.retry import NotSentError
from veracity.secrets import without_secrets

MAX_PROMPT_LENGTH = 80_000  # characters of all messages of a call
MAX_REPLY_LENGTH = 20_000
MAX_RUN_LENGTH = 2_000_000  # of all calls of a run
# A cut may split a credential, and half of one is not recognized: so much more is read, and dropped again.
LONGEST_CREDENTIAL = 8_000


@dataclass
class CallRecord:
    """A call in progress. The caller sets `reply`."""

    request: ModelRequest[Any]
    turns: tuple[Message, ...]
    reply: Reply | None = None
    problem: str = ""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    begin: float = field(default_factory=monotonic)


class CallLog:
    """Keeps calls until `take` returns them: credentials are hidden, long texts cut. Thread-safe."""

    def __init__(self) -> None:
        self._calls: list[ModelCall] = []
        self._length_left = MAX_RUN_LENGTH
        self._lock = threading.Lock()

    @contextmanager
    def recording(self, record: CallRecord) -> Iterator[CallRecord]:
        """Keep the call that is made inside, also if it fails; not if it was not sent."""
        try:
            yield record
        except NotSentError:
            raise
        except BaseException as error:
            record.problem = str(error) if isinstance(error, VeracityError) else type(error).__name__
            self._add(record)
            raise
        self._add(record)

    def take(self) -> list[ModelCall]:
        """The calls that ended since the last `take`, in that order."""
        with self._lock:
            calls, self._calls = self._calls, []
            return calls

    def _add(self, record: CallRecord) -> None:
        seconds, params, reply = monotonic() - record.begin, record.request.params, record.reply
        instructions = record.request.instructions
        messages = [*([Message("system", instructions)] if instructions else []), *record.turns]
        with self._lock:
            texts = Exchange(
                prompt=self._cut(messages, MAX_PROMPT_LENGTH),
                reply=self._cut([Message("assistant", _text(reply.outputs))], MAX_REPLY_LENGTH)[0] if reply else None,
                problem=without_secrets(encodable(record.problem)),
            )
            call = ModelCall(
                role=params.role,
                model=params.model,
                started=record.started,
                seconds=seconds,
                usage=reply.usage if reply else NOTHING_USED,
                texts=texts,
            )
            self._calls.append(call)

    def _cut(self, messages: Iterable[Message], max_length: int) -> list[CallMessage]:
        """The messages, cut where they exceed `max_length` together or what is left for the run."""
        kept = []
        length = min(max_length, self._length_left)
        for role, whole in messages:
            text = _shown(whole, length)
            is_cut = len(whole) > length
            kept.append(CallMessage(role=role, text=text, cut=len(whole) - len(text) if is_cut else 0))
            length -= len(text)
            self._length_left -= len(text)
        return kept


def _text(outputs: Iterable[Output]) -> str:
    texts = (output if isinstance(output, str) else json.dumps(output, ensure_ascii=False) for output in outputs)
    return "\n".join(texts)


def _shown(text: str, length: int) -> str:
    if len(text) <= length:
        return without_secrets(encodable(text))[:length]
    shown = without_secrets(encodable(text[: length + LONGEST_CREDENTIAL]))
    return shown[: max(0, min(length, len(shown) - LONGEST_CREDENTIAL))]
