"""Passages that were gathered for one question and are kept nowhere, searched as those of the store are.

Knows nothing about where they come from.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import log
from typing import Any

from veracity.models import Hit

# BM25, as the store weighs words: how soon repetition counts no more, and how much long passages lose.
REPETITION, LENGTH = 1.2, 0.75


class Gathered:
    """A `PassageStore` in memory. The hits come with their words, and with vectors where there are any."""

    version = 0

    def __init__(self, hits: Iterable[Hit]) -> None:
        self._hits = {hit.passage.id: hit for hit in hits}
        self._words = {name: Counter(hit.words.split()) for name, hit in self._hits.items()}

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]:
        held = {
            name: counted
            for name, counted in self._words.items()
            if language in (None, self._hits[name].passage.language)
        }
        return self._by_terms(words, held, limit)

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]:
        return self._by_terms(names, {name: Counter(hit.passage.entities) for name, hit in self._hits.items()}, limit)

    def by_vector(self, vector: Any, limit: int) -> list[Hit]:
        near = [hit for hit in self._hits.values() if hit.vector is not None]
        return sorted(near, key=lambda hit: (-float(vector @ hit.vector), hit.passage.id))[:limit]

    def by_ids(self, ids: Sequence[str]) -> list[Hit]:
        return [self._hits[name] for name in ids if name in self._hits]

    def languages(self) -> frozenset[str]:
        return frozenset(hit.passage.language for hit in self._hits.values())

    def _by_terms(self, terms: Sequence[str], held: dict[str, Counter[str]], limit: int) -> list[Hit]:
        mean = sum(counted.total() for counted in held.values()) / max(1, len(held)) or 1.0
        scores: defaultdict[str, float] = defaultdict(float)
        for term in dict.fromkeys(terms):
            holders = [name for name, counted in held.items() if term in counted]
            rarity = log(1 + (len(held) - len(holders) + 0.5) / (len(holders) + 0.5))
            for name in holders:
                count, length = held[name][term], held[name].total() / mean
                scores[name] += rarity * count / (count + REPETITION * (1 - LENGTH + LENGTH * length))
        best = sorted(scores, key=lambda name: (-scores[name], name))
        return [replace(self._hits[name], score=scores[name]) for name in best[:limit]]
