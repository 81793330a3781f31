"""nDCG@10 of questions cut to their two rarest words, before and after one rewrite, whatever the grade."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.retrieval.sets import RetrievalSet, ndcg, workspace_of
from veracity.agents.base import RewriteTask
from veracity.agents.local_rewriter import LocalRewriter
from veracity.knowledge.vocabulary import StoreVocabulary, VocabularySnapshot
from veracity.language import search_tokens
from veracity.models import Evidence
from veracity.retrieval.quality import QualityChecker
from veracity.settings import QualitySettings

SOURCES = ("knowledge", "graph")
PASSAGES = 40


def measure_short_queries(data: RetrievalSet, folder: Path) -> None:
    engine, _ = workspace_of(data, folder)
    before, after = [], []
    with engine:
        parts = engine._parts
        searcher = parts.searcher
        vocabulary = StoreVocabulary(parts.library.store, parts.embedder).current()
        rewriter, checker = LocalRewriter(lambda: vocabulary), QualityChecker(QualitySettings())
        for row in data.queries:
            query, relevant = shorten(row["text"], vocabulary), data.relevant[row["_id"]]
            if not query:
                continue
            first = searcher.search(query, PASSAGES, SOURCES)
            task = RewriteTask(query, [query], first, checker.check(first, False), SOURCES, SOURCES)
            rewrite = rewriter.rewrite(task)
            second = searcher.search(rewrite.query, PASSAGES, SOURCES, rewrite.added) if rewrite else first
            before.append(ndcg(_documents(first), relevant))
            after.append(ndcg(_documents(second), relevant))
    difference = np.array(after) - np.array(before)
    print(
        f"{data.name}: {len(before)} questions cut to two words: nDCG@10 {np.mean(before):.4f} → "
        f"{np.mean(after):.4f} ({difference.mean():+.4f}, p = {_p_value(difference):.3f}; better "
        f"{int((difference > 0).sum())}, worse {int((difference < 0).sum())})",
        flush=True,
    )


def shorten(question: str, vocabulary: VocabularySnapshot) -> str:
    """The two words that are rarest in the documents, in their order."""
    words: dict[str, str] = {}
    for word in re.findall(r"[^\W\d_]+", question):
        for stem in search_tokens(word, "en"):
            if vocabulary.frequency(stem):
                words.setdefault(stem, word)
    rarest = sorted(words, key=vocabulary.frequency)[:2]
    return " ".join(word for stem, word in words.items() if stem in rarest)


def _documents(evidence: Sequence[Evidence]) -> list[str]:
    return list(dict.fromkeys(item.document_id for item in evidence))


def _p_value(differences: np.ndarray, samples: int = 20_000) -> float:
    """Two-sided permutation test of paired differences."""
    if not differences.any():
        return 1.0
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (samples, len(differences)))
    return float(np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12))
