"""The rewriter: from a query that found too little to one that should find more (SPEC C4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from veracity.deadlines import Deadline
from veracity.llm import Budget
from veracity.models import NOTHING_USED, Evidence, Quality, Usage


@dataclass(frozen=True, slots=True)
class RewriteTask:
    """`tried` are all queries so far, the question first and the last one last. `evidence` is the best found so far,
    and `quality` its grade. `sources` are those that were asked, `available` all there are."""

    question: str
    tried: Sequence[str]
    evidence: Sequence[Evidence]
    quality: Quality
    sources: Sequence[str]
    available: Sequence[str]
    weak_points: Sequence[str] = ()
    deadline: Deadline = field(default_factory=Deadline)
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """`reason` tells in a sentence what was done and why. `sources` are those to ask now; `widen` asks for more
    passages of each."""

    query: str
    sources: tuple[str, ...]
    reason: str
    widen: bool = False
    usage: Usage = NOTHING_USED


class Rewriter(Protocol):
    @property
    def model(self) -> str:
        """Empty for the local form."""
        ...

    def rewrite(self, task: RewriteTask) -> Rewrite | None:
        """None where there is nothing new to try: a query that was tried is never given again."""
        ...
