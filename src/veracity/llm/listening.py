"""Passes streamed text from the worker that makes a call to the caller's `on_text` callback.

The callback runs on the thread that waits for the call. So it need not be thread-safe, and gets nothing from a call
that was abandoned.
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
from veracity.llm.replies import THINK_END, strip_thoughts
from veracity.printable import encodable
from veracity.settings import OutputMode

log = logging.getLogger("veracity.llm")

MIN_INTERVAL_SECONDS = 0.05  # between two callbacks
MAX_STREAMED_LENGTH = 100_000  # characters; the rest is only in the result
MAX_STREAM_FAILURES = 2


class Piece(NamedTuple):
    """A piece of a text. `begins`: discard the pieces before it, the text starts again."""

    text: str
    begins: bool = False


OnText = Callable[[Piece], None]


class StreamingError(ModelAnswerError):
    """The server does not stream, or the stream was incomplete: a call without streaming may succeed.

    `is_permanent`: the server refuses to stream.
    """

    def __init__(self, message: str, *, is_permanent: bool = False) -> None:
        super().__init__(message)
        self.is_permanent = is_permanent


@dataclass
class ServerTraits:
    """Traits of a model's server, learned from earlier calls.

    `stream_failures` counts failed streams in a row. `starts_in_thought`: its template opens the thinking in the
    prompt, so that only the closing tag is streamed. `thinks`: its replies hold thoughts. `output_mode` is the
    last one that worked.
    """

    stream_failures: int = 0
    starts_in_thought: bool = False
    thinks: bool = False
    output_mode: OutputMode = "auto"

    @property
    def can_stream(self) -> bool:
        return self.stream_failures < MAX_STREAM_FAILURES


class Listener:
    """Calls `on_text` through all attempts of one request. A callback that raises is dropped; the request goes on."""

    def __init__(self, on_text: OnText, traits: ServerTraits) -> None:
        self._on_text: OnText | None = on_text
        self._traits = traits
        self._streams = traits.can_stream

    def start_call(self) -> StreamedCall | None:
        """None if the next call should not stream."""
        return StreamedCall(self.send, self._traits) if self._streams else None

    def finish(self, call: StreamedCall | None, text: str) -> None:
        """The request succeeded: send what is left."""
        if call is None:
            self.send(Piece(text, begins=True))
        else:
            self._traits.stream_failures = 0
            call.flush()

    def record_failure(self, failure: ModelError) -> None:
        """Stop streaming this request, and after repeated failures all requests to this server."""
        if isinstance(failure, StreamingError):
            self._traits.stream_failures += MAX_STREAM_FAILURES if failure.is_permanent else 1
            self._streams = False

    def send(self, piece: Piece) -> None:
        if self._on_text is None:
            return
        try:
            self._on_text(piece)
        except Exception as problem:  # noqa: BLE001 - the callback is the caller's
            log.warning("The on_text callback failed (%s) and is not called again.", type(problem).__name__)
            self._on_text = None


class StreamedCall:
    """The text of one streamed call: `put` adds to it on the worker, `forward` sends it on the waiting thread."""

    def __init__(self, send: OnText, traits: ServerTraits) -> None:
        self._send = send
        self._traits = traits
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._received = ""
        self._sent = ""
        self._has_begun = False

    def put(self, text: str) -> None:
        self._queue.put(text)

    def forward(self, future: Future[Any], deadline: Deadline) -> None:
        """Send pieces until the call is done, the deadline has passed or the run is stopped."""
        future.add_done_callback(lambda _: self._queue.put(None))
        with deadline.stop.calling(lambda: self._queue.put(None)):
            self._forward(deadline)

    def _forward(self, deadline: Deadline) -> None:
        has_news, next_time = False, 0.0
        while (left := deadline.left) > 0:
            if has_news:
                left = min(left, max(0.0, next_time - time.monotonic()))
            try:
                text = self._queue.get(timeout=left)
            except Empty:
                text = ""
            if text is None:
                return
            if text and len(self._received) < MAX_STREAMED_LENGTH:
                self._received, has_news = (self._received + text)[:MAX_STREAMED_LENGTH], True
            if has_news and time.monotonic() >= next_time:
                self._send_new(self._partial_text())
                has_news, next_time = False, time.monotonic() + MIN_INTERVAL_SECONDS

    def flush(self) -> None:
        """The call succeeded: send the rest."""
        while not self._queue.empty():
            self._received += self._queue.get() or ""
        if THINK_END not in self._received:
            self._traits.starts_in_thought = False
        self._send_new(strip_thoughts(self._received).lstrip())

    def _partial_text(self) -> str:
        if self._traits.starts_in_thought and THINK_END not in self._received:
            return ""
        return strip_thoughts(self._received, is_partial=True)

    def _send_new(self, text: str) -> None:
        """Send the new part; or start again, if what was sent turns out to be thinking."""
        continues = text.startswith(self._sent)
        new = text[len(self._sent) :] if continues else text
        if not continues and THINK_END in self._received:
            self._traits.starts_in_thought = True
        if new or not continues:
            self._send(Piece(encodable(new), begins=not (continues and self._has_begun)))
            self._has_begun = True
        self._sent = text
