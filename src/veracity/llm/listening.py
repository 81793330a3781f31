"""Hearing a model while it writes: the worker that makes the call says what comes, the one who waits for it listens.

The listener is told on the thread that waits, so it hears nothing of a call that was given up, and need not be safe
under threads. Knows nothing about models.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from veracity.deadlines import Deadline
from veracity.errors import ModelAnswerError, ModelError
from veracity.llm.replies import CLOSES, aloud
from veracity.printable import encodable

log = logging.getLogger("veracity.llm")

PAUSE = 0.05  # seconds between two pieces, at least
LONGEST_HEARD = 100_000  # characters; nobody reads more while it is written
MOST_FAILURES = 2


class Piece(NamedTuple):
    """Some of a text. `begins`: what was heard before is left, and the text begins anew with this."""

    text: str
    begins: bool = False


OnText = Callable[[Piece], None]


class NotStreamedError(ModelAnswerError):
    """The server does not stream, or what it streamed has no end: without streaming it may go well. `for_good`: it said
    that it never will."""

    def __init__(self, message: str, *, for_good: bool = False) -> None:
        super().__init__(message)
        self.for_good = for_good


@dataclass
class Habits:
    """What is known of a model's server. `failures` counts streams in a row that were none; `begins_in_thought`: its
    template opens the thinking in the prompt, so that only the end of it is written."""

    failures: int = 0
    begins_in_thought: bool = False

    @property
    def streams(self) -> bool:
        return self.failures < MOST_FAILURES

    def learn(self, failure: NotStreamedError | None = None) -> None:
        """How a stream went."""
        if failure is None:
            self.failures = 0
        else:
            self.failures += MOST_FAILURES if failure.for_good else 1


class Audience:
    """Who is told, over all the calls that one text may take. One that fails is told no more, and breaks nothing."""

    def __init__(self, on_text: OnText, habits: Habits) -> None:
        self._on_text: OnText | None = on_text
        self._habits = habits
        self._streams = habits.streams

    def hearing(self) -> Hearing | None:
        """Of the next call; None where it is better made without streaming."""
        return Hearing(self.tell, self._habits) if self._streams else None

    def end(self, hearing: Hearing | None, text: str) -> None:
        """It went well: what was not told yet is told now."""
        if hearing is None:
            self.tell(Piece(text, begins=True))
        else:
            self._habits.learn()
            hearing.end()

    def learn(self, failure: ModelError) -> None:
        """Where the stream was none, this text is not asked for as one again, and after a few of them no other is."""
        if isinstance(failure, NotStreamedError):
            self._habits.learn(failure)
            self._streams = False

    def tell(self, piece: Piece) -> None:
        if self._on_text is None:
            return
        try:
            self._on_text(piece)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the call goes on
            log.warning("Who listens to a model failed (%s) and is told no more.", type(problem).__name__)
            self._on_text = None


class Hearing:
    """One call."""

    def __init__(self, tell: OnText, habits: Habits) -> None:
        self._pass_on = tell
        self._habits = habits
        self._coming: SimpleQueue[str | None] = SimpleQueue()
        self._written = ""
        self._told = ""
        self._has_begun = False

    def say(self, text: str) -> None:
        """For the worker."""
        self._coming.put(text)

    def listen(self, call: Future[Any], deadline: Deadline) -> None:
        """Pass on what is said until the call has ended, or the deadline has passed."""
        call.add_done_callback(lambda _: self._coming.put(None))
        has_news, next_time = False, 0.0
        while (left := deadline.left) > 0:
            if has_news:
                left = min(left, max(0.0, next_time - time.monotonic()))
            try:
                said = self._coming.get(timeout=left)
            except Empty:
                said = ""
            if said is None:
                return
            if said and len(self._written) < LONGEST_HEARD:
                self._written, has_news = self._written + said, True
            if has_news and time.monotonic() >= next_time:
                self._tell(self._so_far())
                has_news, next_time = False, time.monotonic() + PAUSE

    def end(self) -> None:
        """The call has ended well: pass on what was held back."""
        while not self._coming.empty():
            self._written += self._coming.get() or ""
        if CLOSES not in self._written:
            self._habits.begins_in_thought = False
        self._tell(aloud(self._written).lstrip())

    def _so_far(self) -> str:
        if self._habits.begins_in_thought and CLOSES not in self._written:
            return ""
        return aloud(self._written, so_far=True)

    def _tell(self, said: str) -> None:
        """Only what is new, unless it turns out that what was told was thought."""
        goes_on = said.startswith(self._told)
        new = said[len(self._told) :] if goes_on else said
        if not goes_on and CLOSES in self._written:
            self._habits.begins_in_thought = True
        if new or not goes_on:
            self._pass_on(Piece(encodable(new), begins=not (goes_on and self._has_begun)))
            self._has_begun = True
        self._told = said
