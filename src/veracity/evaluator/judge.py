"""A language model as the judge of one or several metrics: one call, or several for the median (SPEC B12, B15)."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, create_model

from veracity.deadlines import Deadline
from veracity.llm import LLM, Answer, Budget, Question
from veracity.models import NOTHING_USED, Usage, WritableText

ROLE = "judge"
MAX_REASON_LENGTH = 600  # characters

T = TypeVar("T", bound=BaseModel)


def _refuse_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a score is a number, not true or false")
    return value


class Verdict(BaseModel):
    """The judge's verdict: first the reason, then the score that follows from it."""

    reason: WritableText = Field(
        min_length=1,
        description="why the submission deserves its score, in one to three sentences",
        json_schema_extra={"maxLength": MAX_REASON_LENGTH},
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
        answers = self._ask(self.options.system_instruction or system_instruction, prompt, Verdict, 1)
        return _take_median([answer.value for answer in answers], _total_usage(answers))

    def ask_together(self, metrics: Sequence[str], instructions: str, prompt: str) -> list[Judgement]:
        """One judgement per metric, from the same calls. Their usage is that of the first judgement."""
        answers = self._ask(instructions, prompt, verdicts_schema(tuple(metrics)), len(metrics))
        verdicts = [[getattr(answer.value, field) for answer in answers] for field in _field_names(len(metrics))]
        usages = [_total_usage(answers), *[NOTHING_USED] * (len(metrics) - 1)]
        return [_take_median(*judged) for judged in zip(verdicts, usages, strict=True)]

    def _ask(self, instructions: str, prompt: str, output: type[T], verdicts: int) -> list[Answer[T]]:
        """`max_tokens` is for one verdict."""
        question = Question(
            model=self.options.model,
            role=ROLE,
            instructions=instructions,
            prompt=prompt,
            output=output,
            temperature=self.options.temperature,
            max_tokens=self.options.max_tokens and self.options.max_tokens * verdicts,
            max_retries=self.options.max_retries,
        )
        return [self.llm.ask(question, self.budget, self.deadline) for _ in range(self.options.samples)]


@lru_cache
def verdicts_schema(metrics: tuple[str, ...]) -> type[BaseModel]:
    """An object with a verdict for each metric, by its name. A name need not be a valid name of a field."""
    names = zip(_field_names(len(metrics)), metrics, strict=True)
    fields: dict[str, Any] = {field: (Verdict, Field(alias=metric)) for field, metric in names}
    return create_model("Verdicts", __doc__="One verdict for each metric.", **fields)


def _field_names(count: int) -> list[str]:
    return [f"metric_{number}" for number in range(1, count + 1)]


def _total_usage(answers: Sequence[Answer[Any]]) -> Usage:
    return sum((answer.usage for answer in answers), NOTHING_USED)


def _take_median(verdicts: Sequence[Verdict], usage: Usage) -> Judgement:
    scores = [verdict.score for verdict in verdicts]
    median = statistics.median(scores)
    nearest = min(verdicts, key=lambda verdict: abs(verdict.score - median))
    return Judgement(
        score=median,
        reason=nearest.reason[:MAX_REASON_LENGTH],
        samples=scores,
        spread=max(scores) - min(scores) if len(scores) > 1 else None,
        usage=usage,
    )
