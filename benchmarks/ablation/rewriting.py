"""Rewritten queries: the handbook's poor queries, questions cut to two words, and well-spelt questions.

The rounds of a run are repeated here without the rest of it: search, grade, rewrite at most twice, take the best round.
"gold" is the share of the top three passages that come from a document with the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import benchmarks.rewrites
from benchmarks.ablation.items import Context, Item, Library
from benchmarks.answers.items import NAMES, load
from benchmarks.retrieval import sets
from benchmarks.rewrites.short_queries import PASSAGES, SOURCES, shorten
from benchmarks.rewrites.spelling import read_vocabulary
from veracity.agents import local_rewriter, spelling
from veracity.agents.base import RewriteTask
from veracity.knowledge.vocabulary import VocabularySnapshot
from veracity.models import Evidence
from veracity.retrieval.quality import QualityChecker
from veracity.settings import QualitySettings

QUERIES = Path(benchmarks.rewrites.__file__).with_name("queries.jsonl")
LIMIT = 20  # passages of a round
MAX_REWRITES = 2
SETTINGS = QualitySettings()
CHECKER = QualityChecker(SETTINGS)


def rewrite_poor_queries(context: Context, model: str) -> Iterator[Item]:
    library = context.library(sets.handbook("en"), model)
    for line in QUERIES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Item(row["language"], "", _PoorQuery(row, library))


class _PoorQuery:
    def __init__(self, row: dict[str, Any], library: Library) -> None:
        self._query, self._documents, self._library = row["query"], row["documents"], library
        self._figure = "misspelt queries, gold" if row["kind"] == "misspelt" else "other poor queries, gold"

    def __call__(self) -> Mapping[str, float]:
        best = self._library.search(self._query, LIMIT, SOURCES)
        quality = CHECKER.check(best, False)
        rewriter = local_rewriter.LocalRewriter(lambda: self._library.vocabulary)
        tried = [self._query]
        while quality.grade == "low" and not _has_strong_passage(best) and len(tried) <= MAX_REWRITES:
            rewrite = rewriter.rewrite(RewriteTask(self._query, tried, best, quality, SOURCES, SOURCES))
            if rewrite is None:
                break
            tried.append(rewrite.full_query)
            evidence = self._library.search(rewrite.query, LIMIT, SOURCES, rewrite.added)
            if (new := CHECKER.check(evidence, False)).score >= quality.score:
                best, quality = evidence, new
        return {self._figure: sum(item.document_id in self._documents for item in best[:3]) / 3}


def _has_strong_passage(evidence: Sequence[Evidence]) -> bool:
    return any(item.metadata.relevance_score >= SETTINGS.strong_passage for item in evidence)


def rewrite_short_queries(context: Context, model: str) -> Iterator[Item]:
    for name in ("scifact", "mtrag"):
        data = sets.load(context.directory, name, 300)
        library = context.library(data, model)
        for row in context.sample(data.queries):
            if query := shorten(row["text"], library.vocabulary):
                yield Item("en", name, _ShortQuery(query, library, data.relevant[row["_id"]]))


class _ShortQuery:
    def __init__(self, query: str, library: Library, relevant: dict[str, float]) -> None:
        self._query, self._library, self._relevant = query, library, relevant

    def __call__(self) -> Mapping[str, float]:
        first = self._library.search(self._query, PASSAGES, SOURCES)
        task = RewriteTask(self._query, [self._query], first, CHECKER.check(first, False), SOURCES, SOURCES)
        rewrite = local_rewriter.LocalRewriter(lambda: self._library.vocabulary).rewrite(task)
        query, added = (rewrite.query, rewrite.added) if rewrite else (self._query, ())
        documents = self._library.documents(query, PASSAGES, SOURCES, added)
        return {"two-word queries, nDCG": sets.ndcg(documents, self._relevant)}


def correct_well_spelt(context: Context, _model: str) -> Iterator[Item]:
    for name in NAMES:
        items, corpus = load(context.directory, name)
        questions = context.sample(list({item.question: item for item in items}.values()))
        whole = read_vocabulary(corpus.values()) if any(item.passages is None for item in questions) else None
        for item in questions:
            vocabulary = whole or read_vocabulary(item.passages or ())
            yield Item(item.language, item.language, _WellSpelt(item.question, vocabulary))


class _WellSpelt:
    def __init__(self, question: str, vocabulary: VocabularySnapshot) -> None:
        self._question, self._vocabulary = question, vocabulary

    def __call__(self) -> Mapping[str, float]:
        correction = spelling.correct_spelling(self._question, [], self._vocabulary)
        return {"well-spelt questions unchanged": float(not correction.changes)}
