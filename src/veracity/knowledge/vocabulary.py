"""The words of the documents: which occur, how often, and which are similar in form or meaning.

Counted once for each version of the store. A large store is sampled evenly, since counting all passages takes too long;
whether a word occurs at all is then looked up in the index. Words have the form of `search_tokens`.
"""

import re
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from veracity.embedding import Embedder
from veracity.embedding.bundled import FOLDER
from veracity.knowledge.store import Store
from veracity.language import search_tokens

MAX_COUNTED_PASSAGES = 20_000
MAX_READ_PASSAGES = 5  # to see how a word is written


class VocabularySnapshot:
    """The words of one version of the store."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self._store = store
        self._embedder = embedder
        passages = store.words()
        step = -(-len(passages) // MAX_COUNTED_PASSAGES)
        self._is_complete = step <= 1
        sample = passages if self._is_complete else passages.take(pa.array(range(0, len(passages), step)))
        words = [pc.split_pattern(chunk, " ").flatten() for chunk in sample.chunks]
        counts = pc.value_counts(pa.chunked_array(words, pa.string()))
        pairs = zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True)
        self._counts: dict[str, int] = {word: count for word, count in pairs if word}

    def frequency(self, word: str) -> int:
        """How often the word occurs in the counted passages."""
        return self._counts.get(word, 0)

    @cached_property
    def size(self) -> int:
        """The number of words in the counted passages, with repetitions."""
        return sum(self._counts.values())

    def knows(self, word: str) -> bool:
        """True if any passage contains the word."""
        return word in self._counts or (not self._is_complete and bool(self._store.by_words([word], 1)))

    def is_ordinary(self, word: str) -> bool:
        """True if the word is common English: it is in the vocabulary of the bundled model."""
        return _ordinary_words().token_to_id(word.lower()) is not None

    def is_written(self, word: str) -> bool:
        """True if the passages with the most forms of a Latin word have it exactly as written, in any letter case."""
        stems = search_tokens(word, "en")
        hits = self._store.by_words(stems, MAX_READ_PASSAGES) if stems else []
        pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
        return any(pattern.search(f"{hit.passage.title}\n{hit.passage.text}") for hit in hits)

    def words_containing(self, character: str) -> Sequence[str]:
        """The words of two or more characters that contain the character. Non-Latin words only."""
        return self._words_by_character.get(character, ())

    def similarities(self, word: str, others: Sequence[str]) -> list[float]:
        """How similar in meaning each of the others is, from 0 to 1."""
        if self._embedder is None or not others or not self._embedder.covers(word):
            return [0.0] * len(others)
        products = self._embedder.embed_passages(others) @ self._embedder.embed_query(word)
        return [float(value) for value in np.clip(np.nan_to_num(products), 0, 1)]

    @cached_property
    def _words_by_character(self) -> Mapping[str, Sequence[str]]:
        index: dict[str, list[str]] = defaultdict(list)
        for word in self._counts:
            if len(word) > 1 and not word.isascii():
                for character in set(word):
                    index[character].append(word)
        return index


class StoreVocabulary:
    """Thread-safe. Without an embedder, no two words are similar in meaning."""

    def __init__(self, store: Store, embedder: Embedder | None = None) -> None:
        self._store = store
        self._embedder = embedder
        self._lock = threading.Lock()
        self._last: tuple[object, VocabularySnapshot] | None = None

    def current(self) -> VocabularySnapshot:
        """The words of the store's current version. Take one per query: reading the version is slow."""
        with self._lock:
            version = self._store.version
            if self._last is None or self._last[0] != version:
                self._last = version, VocabularySnapshot(self._store, self._embedder)
            return self._last[1]


@lru_cache(maxsize=1)
def _ordinary_words() -> Tokenizer:
    return Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
