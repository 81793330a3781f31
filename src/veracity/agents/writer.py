"""The writer: from the question and the numbered evidence to a draft, in which [n] cites the n-th evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from veracity.deadlines import Deadline
from veracity.llm import Budget, Message
from veracity.models import NOTHING_USED, AnswerForm, Evidence, Usage


@dataclass(frozen=True, slots=True)
class WritingTask:
    """`messages` hold it all for a model, feedback on the last draft included (SPEC A10)."""

    question: str
    evidence: Sequence[Evidence]
    messages: Sequence[Message]
    deadline: Deadline = field(default_factory=Deadline)
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A draft, or, when it `abstains`, what the evidence does not say."""

    text: str
    abstains: bool = False
    missing: tuple[str, ...] = ()
    usage: Usage = NOTHING_USED


class Writer(Protocol):
    @property
    def form(self) -> AnswerForm: ...

    @property
    def model(self) -> str:
        """Empty for the local form."""
        ...

    def write(self, task: WritingTask) -> Written: ...
