"""A reranker that asks a service over HTTP: time limits, retries and checks around single calls.

Each worker has a connection of its own. Knows nothing about what the passages are.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from veracity.providers.retrying import retried
from veracity.providers.texts import encodable
from veracity.reranking.answers import read_scores
from veracity.reranking.services import endpoint, request_body
from veracity.secrets import presentable
from veracity.settings import LLMSettings
from veracity.workers import Belongings, Workers

if TYPE_CHECKING:
    from veracity.reranking.asking import Connection

AT_ONCE = 4  # calls
LONGEST = 6000  # characters of a text that are sent
BLANK = "."  # what is sent for a text without text, which services refuse
LONGEST_SHOWN = 120


class ProviderReranker:
    """Raises at once where the key or the address is missing; whether the model exists is known with the first call."""

    def __init__(self, model: str, settings: LLMSettings | None = None) -> None:
        self.name = model
        self._shown = f'"{presentable(model, LONGEST_SHOWN)}"'
        self._endpoint = endpoint(model)
        self._settings = settings or LLMSettings()
        self._workers = Workers(min(AT_ONCE, self._settings.workers), "veracity-reranking")

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        if not passages:
            return []
        body = json.dumps(request_body(self.name, _sent(query), [_sent(passage) for passage in passages])).encode()
        end = time.monotonic() + self._settings.deadline
        future = self._workers.submit(partial(self._ask, body=body, count=len(passages), end=end))
        try:
            return future.result()  # type: ignore[no-any-return]
        finally:
            future.cancel()

    def close(self) -> None:
        """End the threads and their connections. Optional: they end with the reranker."""
        self._workers.close()

    def _ask(self, belongings: Belongings, body: bytes, count: int, end: float) -> list[float]:
        """Runs on a worker."""

        def ask(seconds: float) -> list[float]:
            return self._checked(self._connection(belongings).ask(body, seconds), count)

        return retried(ask, self._settings, end)

    def _connection(self, belongings: Belongings) -> Connection:
        from veracity.reranking.asking import Connection  # noqa: PLC0415 - loads httpx

        if self.name not in belongings:
            belongings[self.name] = Connection(self._shown, self._endpoint)
        return belongings[self.name]  # type: ignore[no-any-return]

    def _checked(self, content: bytes, count: int) -> list[float]:
        from veracity.reranking.failures import unusable  # noqa: PLC0415 - loads httpx

        scores = read_scores(content, count)
        if scores is None:
            raise unusable(self._shown, "did not answer with one score per passage")
        return scores


def _sent(text: str) -> str:
    sent = encodable(text[:LONGEST])
    return sent if sent.strip() else BLANK
