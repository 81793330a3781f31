"""The loop of searches: search, grade, rewrite, until the grade is good enough or two rewrites are spent.

What the engine does in a run, as one function. Three ways to grade a rewritten round are kept, to be compared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from veracity.agents.rewriter import Rewrite, Rewriter, RewriteTask
from veracity.models import Evidence, Quality
from veracity.retrieval import Searcher
from veracity.retrieval.quality import QualityChecker

AVAILABLE = ("knowledge", "graph")
GRADED = 20
ENOUGH = 0.5
MOST_REWRITES = 2
DEEP = 200  # passages of the question by which others are judged

# A rewritten round is graded by its relevance to the query as it was searched, to the query without the words that
# passages brought in, or to both (their geometric mean).
Judging = Literal["searched", "asked", "both"]


@dataclass(frozen=True)
class Round:
    query: str
    evidence: Sequence[Evidence]
    quality: Quality
    seconds: dict[str, float]


def rounds_of(
    question: str, searcher: Searcher, checker: QualityChecker, rewriter: Rewriter, judging: Judging
) -> list[Round]:
    rounds = [_searched(question, searcher, checker, AVAILABLE, GRADED)]
    sources, width = AVAILABLE, GRADED
    while best_of(rounds).quality.score < ENOUGH and len(rounds) <= MOST_REWRITES:
        best = best_of(rounds)
        tried = [one.query for one in rounds]
        started = time.perf_counter()
        rewrite = rewriter.rewrite(RewriteTask(question, tried, best.evidence, best.quality, sources, AVAILABLE))
        seconds = time.perf_counter() - started
        if rewrite is None:
            break
        width *= 2 if rewrite.widen else 1
        found = _searched(rewrite.query, searcher, checker, rewrite.sources, width, rewrite, judging)
        rounds.append(Round(found.query, found.evidence, found.quality, {**found.seconds, "rewrite": seconds}))
    return rounds


def best_of(rounds: Sequence[Round]) -> Round:
    """The later of equals."""
    return max(reversed(rounds), key=lambda one: one.quality.score)


def _searched(
    query: str,
    searcher: Searcher,
    checker: QualityChecker,
    sources: Sequence[str],
    width: int,
    rewrite: Rewrite | None = None,
    judging: Judging = "searched",
) -> Round:
    started = time.perf_counter()
    evidence = searcher.search(query, width, sources)
    if rewrite and rewrite.added and judging != "searched":
        evidence = judged(evidence, without_added(rewrite), searcher, judging)
    found = time.perf_counter()
    quality = checker.check(evidence, weak_point_matches=False)
    return Round(query, evidence, quality, {"search": found - started, "grade": time.perf_counter() - found})


def without_added(rewrite: Rewrite) -> str:
    query = rewrite.query
    for word in reversed(rewrite.added):
        query = query.removesuffix(word).rstrip()
    return query


def judged(evidence: Sequence[Evidence], asked: str, searcher: Searcher, judging: Judging) -> list[Evidence]:
    """With the relevance that the passages have to what was asked; 0 for those that it does not find."""
    known = {item.id: item.metadata.relevance_score for item in searcher.search(asked, DEEP, AVAILABLE)}
    return [_with_relevance(item, known.get(item.id, 0.0), judging) for item in evidence]


def _with_relevance(item: Evidence, asked: float, judging: Judging) -> Evidence:
    searched = item.metadata.relevance_score
    value = asked if judging == "asked" else (asked * searched) ** 0.5
    return item.model_copy(update={"metadata": item.metadata.model_copy(update={"relevance_score": value})})
