"""A language model as the judge of one metric: one call, or several for the median (SPEC B15)."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from veracity.deadlines import Deadline
from veracity.llm import LLM, Answer, Budget, Question
from veracity.models import Usage, WritableText

ROLE = "judge"


def _refuse_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a score is a number, not true or false")
    return value


class Verdict(BaseModel):
    """The judge's verdict: first the reason, then the score that follows from it."""

    reason: WritableText = Field(
        min_length=1, description="why the submission deserves its score, in one to three sentences"
    )
    score: Annotated[float, BeforeValidator(_refuse_boolean)] = Field(
        ge=0, le=100, allow_inf_nan=False, description="0 (worst) to 100 (best)"
    )


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The resolved LLM parameters of one metric."""

    model: str
    system_instruction: str | None
    temperature: float
    max_tokens: int | None
    max_retries: int
    samples: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """`reason` is that of the sample nearest to the median."""

    score: float
    reason: str
    samples: list[float]
    spread: float | None
    usage: Usage


@dataclass(frozen=True, slots=True)
class Judge:
    llm: LLM
    options: JudgeOptions
    budget: Budget
    deadline: Deadline | None = None

    def ask(self, system_instruction: str, prompt: str) -> Judgement:
        """A configured instruction replaces the metric's own completely (SPEC B1)."""
        question = Question(
            model=self.options.model,
            role=ROLE,
            instructions=self.options.system_instruction or system_instruction,
            prompt=prompt,
            output=Verdict,
            temperature=self.options.temperature,
            max_tokens=self.options.max_tokens,
            max_retries=self.options.max_retries,
        )
        return _take_median([self.llm.ask(question, self.budget, self.deadline) for _ in range(self.options.samples)])


def _take_median(answers: list[Answer[Verdict]]) -> Judgement:
    scores = [answer.value.score for answer in answers]
    median = statistics.median(scores)
    nearest = min(answers, key=lambda answer: abs(answer.value.score - median))
    return Judgement(
        score=median,
        reason=nearest.value.reason,
        samples=scores,
        spread=max(scores) - min(scores) if len(scores) > 1 else None,
        usage=sum((answer.usage for answer in answers), Usage()),
    )
