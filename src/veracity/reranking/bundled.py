"""The reranker that comes with the installation: it reads the best passages with the bundled answer reader.

A passage's place depends on its relevance and on the best score of its sentences, added as log-odds. The scores of
passages in different languages cannot be compared, so each language keeps the places that it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from veracity.answer_reader import UNREAD, Passage
from veracity.answer_reader.bundled import BundledReader
from veracity.models import Evidence

MAX_READ = 12  # passages; more cost time, and help little (`python -m benchmarks.retrieval.reading`)
READING_WEIGHT = 0.2  # of the reader's log-odds, against those of the relevance
MIN_RELEVANCE, MAX_RELEVANCE = 0.003, 0.999  # the log-odds of 0 and 1 are infinite


class BundledReranker:
    name = "bundled"

    def __init__(self) -> None:
        self._reader = BundledReader()

    def rerank(self, query: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        """Reads the first `MAX_READ`; the others keep their place behind them."""
        head = evidence[:MAX_READ]
        readings = self._reader.read(query, [Passage.of(item) for item in head])
        scores = [_score(item, max(reading, default=UNREAD)) for item, reading in zip(head, readings, strict=True)]
        ordered = list(head)
        for language in {item.language for item in head}:
            places = [place for place, item in enumerate(head) if item.language == language]
            for place, best in zip(places, sorted(places, key=lambda place: -scores[place]), strict=True):
                ordered[place] = head[best]
        return [*ordered, *evidence[MAX_READ:]]


def _score(item: Evidence, reading: float) -> float:
    relevance = min(MAX_RELEVANCE, max(MIN_RELEVANCE, item.metadata.relevance_score))
    return log(relevance / (1 - relevance)) + READING_WEIGHT * reading
