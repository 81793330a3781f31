"""Asks the questions of the benchmark through `Veracity.ask`: with routing, rewriting, review, scoring and the gate.

One engine serves all questions. Only its store is replaced, by one in memory that holds the passages of each question.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.answers.evidence import CachingEmbedder, ItemStore
from veracity import Veracity
from veracity.models import Answer, Hit
from veracity.settings import Settings


class SwitchedStore:
    """The passages of the current question. A new version for each, so that nothing of the last one is cached."""

    has_outdated_vectors = False

    def __init__(self) -> None:
        self._store: ItemStore | None = None
        self._versions = count(1)
        self.version = 0

    def switch(self, store: ItemStore) -> None:
        if store is not self._store:
            self._store, self.version = store, next(self._versions)

    def by_words(self, words: Sequence[str], limit: int, *args: Any, **options: Any) -> list[Hit]:
        return self._current.by_words(words, limit, *args, **options)

    def by_entities(self, names: Sequence[str], limit: int, *args: Any, **options: Any) -> list[Hit]:
        return self._current.by_entities(names, limit, *args, **options)

    def by_ids(self, ids: Sequence[str], *args: Any, **options: Any) -> list[Hit]:
        return self._current.by_ids(ids, *args, **options)

    def by_vector(self, vector: Any, limit: int, *args: Any, **options: Any) -> list[Hit]:
        return self._current.by_vector(vector, limit, *args, **options)

    def languages(self) -> frozenset[str]:
        return self._current.languages()

    def words(self) -> Any:
        return self._current.words()

    @property
    def _current(self) -> ItemStore:
        assert self._store is not None
        return self._store


@dataclass(frozen=True)
class Asked:
    """`draft` is the answer that was released, or that waits for a person."""

    draft: Answer
    is_released: bool
    seconds: float

    @property
    def abstains(self) -> bool:
        return self.draft.status == "abstained"


def ask(engine: Veracity, question: str, user: str) -> Asked:
    started = time.perf_counter()
    answer = engine.ask(question, user=user)
    seconds = time.perf_counter() - started
    if answer.status == "awaiting_approval":
        return Asked(engine.approval(answer.approval_id).draft, False, seconds)
    return Asked(answer, answer.status == "answered", seconds)


class Asker:
    def __init__(self, engine: Veracity, store: SwitchedStore) -> None:
        self._engine = engine
        self._store = store
        self._users = count(1)

    def ask(self, question: str, store: ItemStore) -> Asked:
        """Each question has a user of its own, so that no question is a weak point of another."""
        self._store.switch(store)
        return ask(self._engine, question, f"user{next(self._users)}")


@contextmanager
def asker(embedder: CachingEmbedder, settings: Settings | None = None) -> Iterator[Asker]:
    store = SwitchedStore()
    with tempfile.TemporaryDirectory() as folder, Veracity(Path(folder), settings=settings) as engine:
        parts = engine._parts  # no public way to replace the store: only benchmarks need one
        parts.built["library"] = SimpleNamespace(store=store)
        parts.built["embedder"] = embedder
        yield Asker(engine, store)
