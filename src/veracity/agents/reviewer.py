"""The reviewer: is a draft reasonable, and does it say what the evidence says?

The form that asks a model first lets code check the draft, and both have their say. What code is sure of (a mark that
names no evidence, a missing mark, a number the source has not) fails the draft whatever the model says. What looks
wrong by form only (a paraphrase, a part of the question whose words do not recur) the model overrules where it passes
that dimension and is sure of itself: such a sentence stays marked as unsupported in the answer, so nobody is misled,
and the draft is not sent back for being well put. Knows nothing about redrafts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from veracity.agents.checking import LocalCheck, check
from veracity.agents.excerpts import excerpt
from veracity.agents.faults import Fault
from veracity.agents.messages import as_json, numbered
from veracity.agents.verdict import INSTRUCTIONS, PROMPT, Verdict
from veracity.deadlines import Deadline
from veracity.errors import VeracityError
from veracity.llm import LLM, Budget, Question
from veracity.models import Dimension, Evidence, Review, Usage

__all__ = ["INSTRUCTIONS", "LLMReviewer", "ReviewTask", "Reviewer"]

ROLE = "reviewer"
OVERRULES = 0.75  # so sure a model must be to pass what looks wrong by form
MOST_SUGGESTIONS = 10
LONGEST_TEXT = 600


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


class LLMReviewer:
    """`model` should not be the writer's (SPEC A9); the role keeps the instances apart even so."""

    def __init__(self, llm: LLM, model: str, instructions: str = INSTRUCTIONS) -> None:
        self._llm = llm
        self._model = model
        self.instructions = instructions

    @property
    def model(self) -> str:
        return self._model

    def review(self, task: ReviewTask) -> Review:
        """A model that fails, or has no time or budget left, leaves the draft "not reviewed" (SPEC A13)."""
        local = check(task.question, task.draft, task.evidence)
        asked = Question(self._model, ROLE, self.instructions, _prompt(task, local), Verdict)
        try:
            answer = self._llm.ask(asked, budget=task.budget, deadline=task.deadline)
        except VeracityError as problem:
            return Review(
                passed=False,
                suggestions=[fault.suggestion for fault in local.faults],
                outcome="not_reviewed",
                confidence=0.0,
                reviewer=self._model,
                problem=str(problem),
            )
        return _merged(answer.value, local, self._model, answer.usage)


def _merged(verdict: Verdict, local: LocalCheck, model: str, usage: Usage) -> Review:
    standing = [fault for fault in local.faults if not _is_overruled(fault, verdict)]
    failed = {fault.dimension for fault in standing}
    reasonableness = Dimension(
        passed=verdict.reasonableness_passed and "reasonableness" not in failed,
        detail=verdict.reasonableness_detail[:LONGEST_TEXT],
    )
    evidence = Dimension(
        passed=verdict.evidence_passed and "evidence" not in failed,
        detail=f"{verdict.evidence_detail[:LONGEST_TEXT]} {local.detail('evidence')}",
    )
    passed = reasonableness.passed and evidence.passed
    model_failed = not (verdict.reasonableness_passed and verdict.evidence_passed)
    found = [fault.suggestion for fault in standing] + (_suggestions(verdict) if model_failed else [])
    sure = [fault.confidence for fault in standing] + ([verdict.confidence] if passed or model_failed else [])
    return Review(
        passed=passed,
        suggestions=list(dict.fromkeys(found)),
        outcome="passed" if passed else "failed",
        reasonableness=reasonableness,
        evidence=evidence,
        confidence=max(sure),
        reviewer=model,
        usage=usage,
    )


def _is_overruled(fault: Fault, verdict: Verdict) -> bool:
    judged = {"reasonableness": verdict.reasonableness_passed, "evidence": verdict.evidence_passed}
    return not fault.sure and judged[fault.dimension] and verdict.confidence >= OVERRULES


def _suggestions(verdict: Verdict) -> list[str]:
    tidy = (" ".join(suggestion.split())[:LONGEST_TEXT] for suggestion in verdict.suggestions)
    return [suggestion for suggestion in tidy if suggestion][:MOST_SUGGESTIONS]


def _prompt(task: ReviewTask, local: LocalCheck) -> str:
    """All that is reviewed travels as JSON: no text in it can end its own string and pass for ours."""
    wanted = f"{task.draft}\n{task.question}"
    material = {
        "question": task.question,
        "evidence": numbered(task.evidence, lambda text: excerpt(text, wanted)),
        "answer": task.draft,
        "found_by_code": [fault.suggestion for fault in local.faults],
    }
    return PROMPT[local.language].format(material=as_json(material))
