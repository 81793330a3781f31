"""Questions cut down to their two rarest words: does rewriting find the documents better (nDCG@10)?

Every question is rewritten, whatever its grade. Parameters were chosen on every other question; the rest are to check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.retrieval.sets import RetrievalSet, ndcg, workspace_of
from benchmarks.rewriting.looping import AVAILABLE
from benchmarks.rewriting.weighing import weighed
from veracity.agents.leading import leading_words
from veracity.knowledge.vocabulary import StoreVocabulary
from veracity.language import search_tokens
from veracity.models import Evidence

PASSAGES = 40
WORDS = {"1 word added": 1, "3 words added": 3, "8 words added": 8}
WEIGHED = 10


def measure(data: RetrievalSet, folder: Path) -> None:
    engine, _ = workspace_of(data, folder)
    with engine:
        searcher, vocabulary = engine._searcher, StoreVocabulary(engine._library.store, engine._embedder)
        hybrid, graph = searcher._sources["knowledge"], searcher._sources["graph"]
        gains: dict[str, list[float]] = {}
        for row in data.queries:
            query, relevant = shortened(row["text"], vocabulary), data.relevant[row["_id"]]
            if not query:
                continue
            found = searcher.search(query, PASSAGES, AVAILABLE)
            gains.setdefault("two words", []).append(ndcg(_documents(found), relevant))
            for name, most in WORDS.items():
                longer = " ".join([query, *leading_words(query, found, vocabulary, most)])
                again = searcher.search(longer, PASSAGES, AVAILABLE)
                gains.setdefault(name, []).append(ndcg(_documents(again), relevant))
            added = leading_words(query, found, vocabulary, WEIGHED)
            ranked = weighed(query, added, hybrid, graph, engine._embedder)  # type: ignore[arg-type]
            gains.setdefault("10 words, weighed", []).append(ndcg(ranked, relevant))
    _tell(data.name, gains)


def shortened(question: str, vocabulary: StoreVocabulary) -> str:
    """The two words that the documents hold least often, in their order."""
    known: dict[str, str] = {}
    for word in re.findall(r"[^\W\d_]+", question):
        for stem in search_tokens(word, "en"):
            if vocabulary.frequency(stem):
                known.setdefault(stem, word)
    rarest = sorted(known, key=vocabulary.frequency)[:2]
    return " ".join(word for stem, word in known.items() if stem in rarest)


def _documents(evidence: Sequence[Evidence]) -> list[str]:
    return list(dict.fromkeys(item.document_id for item in evidence))


def _tell(name: str, gains: dict[str, list[float]]) -> None:
    before = np.array(gains["two words"])
    print(f"\n{name}: {len(before)} questions cut down to two words: nDCG@10, difference, p (paired, by permutation)")
    for way, values in gains.items():
        cells = []
        for part in (slice(None), slice(0, None, 2), slice(1, None, 2)):
            after = np.array(values)[part]
            difference = after - before[part]
            cells.append(f"{after.mean():.4f} {difference.mean():+.4f} p={_chance(difference):.3f}")
        print(f"  {way:18} all {cells[0]}   chosen on {cells[1]}   checked on {cells[2]}", flush=True)


def _chance(differences: np.ndarray, times: int = 20_000) -> float:
    """How often a mean as far from 0 would come about if the sign of each difference were chance; two-sided."""
    if not differences.any():
        return 1.0
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (times, len(differences)))
    return float(np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12))
