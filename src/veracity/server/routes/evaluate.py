"""The evaluator over HTTP: which metrics there are, and scoring an answer with them.

What is asked here chooses among the metrics of the workspace; models and instructions are never taken from outside.
Knows nothing about how they score.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from veracity.evaluator.evaluator import EvaluatorDescription
from veracity.models import EvaluationResult
from veracity.server.auth import Caller, Engine, KnownFirst
from veracity.server.errors import refusals
from veracity.server.limits import Computing, Limits
from veracity.server.permissions import shown

LONGEST_TEXT = 100_000  # characters
MOST_CONTEXT = 50
MOST_METRICS = 100

router = APIRouter(prefix="/api", tags=["evaluator"], route_class=KnownFirst)

Text = Annotated[str, Field(max_length=LONGEST_TEXT)]


class GateDescription(EvaluatorDescription):
    """As runs use it: below the `threshold` a person is asked, as the `policy` says."""

    threshold: float
    policy: str


class Evaluation(BaseModel):
    """`context` is the evidence that the answer was given. The `metrics` that are named count in equal parts; without
    them, those in force do as they are weighed."""

    model_config = ConfigDict(extra="forbid")

    question: Text
    answer: Text
    context: list[Text] = Field(default=[], max_length=MOST_CONTEXT)
    metrics: list[Annotated[str, Field(max_length=200)]] | None = Field(default=None, max_length=MOST_METRICS)


@router.get("/evaluator", responses=refusals(500))
def describe_evaluator(caller: Caller, engine: Engine) -> GateDescription:
    approval = engine.settings.approval
    described = engine.describe_metrics()
    gate = GateDescription(**described.model_dump(), threshold=approval.threshold, policy=approval.policy)
    return shown(gate, caller)


@router.post("/evaluate", responses=refusals(400, 413, 500, 502))
async def evaluate(request: Request, caller: Caller, engine: Engine, given: Evaluation) -> EvaluationResult:
    """Counts as a question, for the limits."""
    limits: Limits = request.app.state.limits
    limits.require_ask(caller.name)
    evaluations: Computing = request.app.state.evaluations

    def scored() -> EvaluationResult:
        texts = (given.question, given.answer, given.context)
        return shown(engine.evaluate(*texts, metrics=given.metrics, user=caller.name), caller)

    return await evaluations(caller.name, scored)
