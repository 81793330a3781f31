"""The evaluator: the configured metrics, and scoring an answer with them.

Requests choose among the workspace's metrics but never set models or instructions.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from veracity.engine import Stop
from veracity.errors import Stopped
from veracity.evaluator.evaluator import EvaluatorDescription
from veracity.models import EvaluationResult
from veracity.server.auth import AuthenticatedRoute, Caller, Engine, from_state
from veracity.server.errors import RefusedError, error_responses
from veracity.server.limits import ConcurrencyLimit, Limits
from veracity.server.permissions import redact_paths
from veracity.server.sse import unless_disconnected

MAX_TEXT_LENGTH = 100_000
MAX_CONTEXT = 50
MAX_METRICS = 100

router = APIRouter(prefix="/api", tags=["evaluator"], route_class=AuthenticatedRoute)

Text = Annotated[str, Field(max_length=MAX_TEXT_LENGTH)]
RateLimits = Annotated[Limits, from_state("limits")]
Evaluations = Annotated[ConcurrencyLimit, from_state("evaluations")]


class GateDescription(EvaluatorDescription):
    """The evaluator as runs use it."""

    threshold: float = Field(description="answers that score lower need approval, depending on the policy")
    policy: str


class EvaluateRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: Text
    answer: Text
    context: list[Text] = Field(default=[], max_length=MAX_CONTEXT, description="the evidence for the answer")
    metrics: list[Annotated[str, Field(max_length=200)]] | None = Field(
        default=None,
        max_length=MAX_METRICS,
        description="metrics to use, equally weighted; the configured ones with their weights if omitted",
    )


@router.get("/evaluator", responses=error_responses(500))
def describe_evaluator(caller: Caller, engine: Engine) -> GateDescription:
    """The configured metrics and the approval threshold."""
    approval, description = engine.settings.approval, engine.describe_metrics().model_dump()
    gate = GateDescription(**description, threshold=approval.threshold, policy=approval.policy)
    return redact_paths(gate, caller)


@router.post("/evaluate", responses=error_responses(400, 413, 500, 502))
async def evaluate(
    limits: RateLimits,
    evaluations: Evaluations,
    caller: Caller,
    engine: Engine,
    body: EvaluateRequest,
    request: Request,
) -> EvaluationResult:
    """Score an answer, within `evaluator.deadline` seconds. Counts as a question towards the rate limit. A client that
    disconnects ends the evaluation."""
    limits.require_ask(caller.name)
    stop = Stop()
    score = engine.evaluate if request.app.state.works else engine.evaluation_queue.evaluate

    def work() -> EvaluationResult | None:
        try:
            return score(**body.model_dump(), user=caller.name, stop=stop)
        except Stopped:
            return None

    try:
        result = await unless_disconnected(request, evaluations(caller.name, work))
    finally:
        stop.set()  # the client is gone, or the server is stopping
    if result is None:
        raise RefusedError(400, "Disconnected", "The client disconnected before the answer was scored.")
    return redact_paths(result, caller)
