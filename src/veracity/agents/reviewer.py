"""The reviewer that calls a model: does the draft answer the question, and does the evidence support it?

Code checks the draft first. Faults that code is sure of (a mark without evidence, a missing mark, a number that the
source lacks) fail the draft whatever the model says. The model may overrule the others (a paraphrase, a part of the
question whose words do not recur) if it passes that dimension with enough confidence. An overruled sentence is still
marked as unsupported in the answer.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from veracity.agents.base import ReviewTask
from veracity.agents.local_reviewer import Fault, LocalCheck, check_draft
from veracity.agents.prompts import load_prompt
from veracity.agents.writer import number_evidence, to_json
from veracity.errors import VeracityError
from veracity.language.excerpts import excerpt
from veracity.llm import LLM, Question
from veracity.models import Dimension, Review, Usage, WritableText

ROLE = "reviewer"
MIN_OVERRULING_CONFIDENCE = 0.75
MAX_SUGGESTIONS = 10
MAX_TEXT_LENGTH = 600


def _reject_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("confidence is a number from 0 to 1, not true or false")
    return value


Detail = Annotated[WritableText, Field(min_length=1, json_schema_extra={"maxLength": MAX_TEXT_LENGTH})]


class Verdict(BaseModel):
    """The review: for each dimension first what was found, then whether it passes."""

    evidence_detail: Detail
    evidence_passed: bool
    reasonableness_detail: Detail
    reasonableness_passed: bool
    suggestions: list[WritableText] = Field(json_schema_extra={"maxItems": MAX_SUGGESTIONS})
    confidence: Annotated[float, BeforeValidator(_reject_boolean)] = Field(ge=0, le=1, allow_inf_nan=False)

    @model_validator(mode="after")
    def _require_suggestion(self) -> Verdict:
        if not self.passed and not any(suggestion.strip() for suggestion in self.suggestions):
            raise ValueError("a dimension that does not pass needs at least one suggestion")
        return self

    @property
    def passed(self) -> bool:
        return self.reasonableness_passed and self.evidence_passed


class LLMReviewer:
    """`model` should differ from the writer's (SPEC A9); if not, the role still separates them."""

    def __init__(self, llm: LLM, model: str, instructions: str | None = None) -> None:
        self.model = model
        self.instructions = instructions or load_prompt(f"instructions/{ROLE}")
        self._llm = llm

    def review(self, task: ReviewTask) -> Review:
        """A failing model, or one without time or budget, leaves the draft "not reviewed" (SPEC A13)."""
        check = check_draft(task.question, task.draft, task.evidence)
        request = Question(self.model, ROLE, self.instructions, _make_request(task, check), Verdict)
        try:
            answer = self._llm.ask(request, budget=task.budget, deadline=task.deadline)
        except VeracityError as problem:
            return Review(
                passed=False,
                suggestions=[fault.suggestion for fault in check.faults],
                outcome="not_reviewed",
                confidence=0.0,
                reviewer=self.model,
                problem=str(problem),
            )
        return _merge(answer.value, check, self.model, answer.usage)


def _make_request(task: ReviewTask, check: LocalCheck) -> str:
    wanted = f"{task.draft}\n{task.question}"
    material = {
        "evidence": number_evidence(task.evidence, lambda text: excerpt(text, wanted)),
        "question": task.question,
        "answer": task.draft,
        "found_by_code": [fault.suggestion for fault in check.faults],
    }
    return load_prompt(f"{check.language}/reviewer", material=to_json(material))


def _merge(verdict: Verdict, check: LocalCheck, model: str, usage: Usage) -> Review:
    faults = [fault for fault in check.faults if not _is_overruled(fault, verdict)]
    failed = {fault.dimension for fault in faults}
    reasonableness = Dimension(
        passed=verdict.reasonableness_passed and "reasonableness" not in failed,
        detail=verdict.reasonableness_detail[:MAX_TEXT_LENGTH],
    )
    evidence = Dimension(
        passed=verdict.evidence_passed and "evidence" not in failed,
        detail=f"{verdict.evidence_detail[:MAX_TEXT_LENGTH]} {check.detail('evidence')}",
    )
    passed = reasonableness.passed and evidence.passed
    suggestions = [fault.suggestion for fault in faults] + ([] if verdict.passed else _suggestions(verdict))
    confidences = [fault.confidence for fault in faults] + (
        [verdict.confidence] if passed or not verdict.passed else []
    )
    return Review(
        passed=passed,
        suggestions=list(dict.fromkeys(suggestions)),
        outcome="passed" if passed else "failed",
        reasonableness=reasonableness,
        evidence=evidence,
        confidence=max(confidences),
        reviewer=model,
        usage=usage,
    )


def _is_overruled(fault: Fault, verdict: Verdict) -> bool:
    passed = {"reasonableness": verdict.reasonableness_passed, "evidence": verdict.evidence_passed}
    return not fault.sure and passed[fault.dimension] and verdict.confidence >= MIN_OVERRULING_CONFIDENCE


def _suggestions(verdict: Verdict) -> list[str]:
    tidy = (" ".join(suggestion.split())[:MAX_TEXT_LENGTH] for suggestion in verdict.suggestions)
    return [suggestion for suggestion in tidy if suggestion][:MAX_SUGGESTIONS]
