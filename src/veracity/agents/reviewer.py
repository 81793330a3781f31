"""The reviewer: is a draft reasonable, and does it say what the evidence says?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from veracity.deadlines import Deadline
from veracity.llm import Budget
from veracity.models import Evidence, Review


@dataclass(frozen=True, slots=True)
class ReviewTask:
    question: str
    draft: str
    evidence: Sequence[Evidence]
    deadline: Deadline = field(default_factory=Deadline)
    budget: Budget | None = None


class Reviewer(Protocol):
    @property
    def model(self) -> str:
        """Empty for the local form."""
        ...

    def review(self, task: ReviewTask) -> Review: ...
