"""The documents' own words: which they hold, how often, and which are near another in form or in meaning.

Counted once for each version of the store; of a large one a part, evenly spread, since counting all of it would take
longer than a search may. Whether a word is known at all is then asked of the index. Words are in the form in which
they are searched for (`search_tokens`). Knows nothing about what is asked or why.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from veracity.embedding import Embedder
from veracity.embedding.bundled import FOLDER
from veracity.models import Hit

COUNTED = 20_000  # passages


class WordStore(Protocol):
    @property
    def version(self) -> object: ...

    def words(self) -> pa.ChunkedArray: ...

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]: ...


class StoreVocabulary:
    """Can be shared by threads. Without an embedder, no word is near another in meaning."""

    def __init__(self, store: WordStore, embedder: Embedder | None = None) -> None:
        self._store = store
        self._embedder = embedder
        self._counting = threading.Lock()
        self._counted: tuple[object, _Count] | None = None

    def now(self) -> Words:
        """Those of the store as it is now: to ask it for its version takes longer than to look up a word."""
        with self._counting:
            version = self._store.version
            if self._counted is None or self._counted[0] != version:
                self._counted = version, _Count(self._store.words())
            return Words(self._store, self._embedder, self._counted[1])


class Words:
    """The words of one version of the store."""

    def __init__(self, store: WordStore, embedder: Embedder | None, count: _Count) -> None:
        self._store = store
        self._embedder = embedder
        self._count = count

    def frequency(self, word: str) -> int:
        """How often it stands in the passages that were counted."""
        return self._count.of.get(word, 0)

    @property
    def size(self) -> int:
        """All words of those passages, repetitions included."""
        return self._count.size

    def knows(self, word: str) -> bool:
        """Whether any passage holds it."""
        return word in self._count.of or (not self._count.is_all and bool(self._store.by_words([word], 1)))

    def is_ordinary(self, word: str) -> bool:
        """Whether it is common English, whatever the documents hold: the bundled model has a list of such words."""
        return _ordinary_words().token_to_id(word.lower()) is not None

    def sharing(self, character: str) -> Sequence[str]:
        """The longer words that hold the character."""
        return self._count.sharing.get(character, ())

    def nearness(self, word: str, others: Sequence[str]) -> list[float]:
        """How near each of the others is in meaning, from 0 to 1."""
        if self._embedder is None or not others or not self._embedder.covers(word):
            return [0.0] * len(others)
        found = self._embedder.embed_passages(others) @ self._embedder.embed_query(word)
        return [float(value) for value in np.clip(np.nan_to_num(found), 0, 1)]


@lru_cache(maxsize=1)
def _ordinary_words() -> Tokenizer:
    return Tokenizer.from_file(str(FOLDER / "tokenizer.json"))


class _Count:
    def __init__(self, passages: pa.ChunkedArray) -> None:
        step = -(-len(passages) // COUNTED)
        self.is_all = step <= 1
        counted = passages if self.is_all else passages.take(pa.array(range(0, len(passages), step)))
        self.of: Mapping[str, int] = _counts(counted)

    @cached_property
    def size(self) -> int:
        return sum(self.of.values())

    @cached_property
    def sharing(self) -> Mapping[str, Sequence[str]]:
        """Of words that are not Latin: there a character says something."""
        found: dict[str, list[str]] = defaultdict(list)
        for word in self.of:
            if len(word) > 1 and not word.isascii():
                for character in set(word):
                    found[character].append(word)
        return found


def _counts(passages: pa.ChunkedArray) -> dict[str, int]:
    pieces = [pc.split_pattern(chunk, " ").flatten() for chunk in passages.chunks]
    counts = pc.value_counts(pa.chunked_array(pieces, pa.string()))
    found = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
    return {word: count for word, count in found if word}
