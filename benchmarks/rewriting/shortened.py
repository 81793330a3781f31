"""Questions cut down to their two rarest words: does rewriting find the documents better (nDCG@10)?

Every question is rewritten once, whatever its grade, as a run would do it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.retrieval.sets import RetrievalSet, ndcg, workspace_of
from veracity.agents.local_rewriter import LocalRewriter
from veracity.agents.rewriter import RewriteTask
from veracity.knowledge.vocabulary import StoreVocabulary, Words
from veracity.language import search_tokens
from veracity.models import Evidence
from veracity.retrieval.quality import QualityChecker
from veracity.settings import QualitySettings

SOURCES = ("knowledge", "graph")
PASSAGES = 40


def measure(data: RetrievalSet, folder: Path) -> None:
    engine, _ = workspace_of(data, folder)
    before, after = [], []
    with engine:
        searcher, vocabulary = engine._searcher, StoreVocabulary(engine._library.store, engine._embedder).now()
        rewriter, checker = LocalRewriter(lambda: vocabulary), QualityChecker(QualitySettings())
        for row in data.queries:
            query, relevant = shortened(row["text"], vocabulary), data.relevant[row["_id"]]
            if not query:
                continue
            found = searcher.search(query, PASSAGES, SOURCES)
            task = RewriteTask(query, [query], found, checker.check(found, False), SOURCES, SOURCES)
            rewrite = rewriter.rewrite(task)
            again = searcher.search(rewrite.query, PASSAGES, SOURCES, rewrite.added) if rewrite else found
            before.append(ndcg(_documents(found), relevant))
            after.append(ndcg(_documents(again), relevant))
    difference = np.array(after) - np.array(before)
    print(
        f"{data.name}: {len(before)} questions cut down to two words: nDCG@10 {np.mean(before):.4f} → "
        f"{np.mean(after):.4f} ({difference.mean():+.4f}, p = {_chance(difference):.3f}; better "
        f"{int((difference > 0).sum())}, worse {int((difference < 0).sum())})",
        flush=True,
    )


def shortened(question: str, vocabulary: Words) -> str:
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


def _chance(differences: np.ndarray, times: int = 20_000) -> float:
    """How often a mean as far from 0 would come about if the sign of each difference were chance; two-sided."""
    if not differences.any():
        return 1.0
    signs = np.random.default_rng(0).choice((-1.0, 1.0), (times, len(differences)))
    return float(np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12))
