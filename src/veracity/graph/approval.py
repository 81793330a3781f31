"""The gate: score the answer, and wait for a person's decision when the score is low (SPEC D5, D6).

A decision is in the ledger before the graph resumes. `human_approval` only reads it there, so it can run any number of
times and in any process.
"""

from __future__ import annotations

import logging
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from veracity.errors import EvaluationError, VeracityError
from veracity.graph.context import RunContext
from veracity.graph.report import report
from veracity.graph.state import Attempt, Plain, RunState, standalone_question
from veracity.models import ApprovalReason, Decision, EvaluationRequest, OnReject
from veracity.models.steps import ApprovalFacts, ApprovalTexts, ScoreFacts, ScoreTexts

log = logging.getLogger("veracity")

REJECTED_KEYS = (*Attempt.__annotations__, "attempt", "evidence_from", "best_round", "notices")


def after_settle_answer(
    state: RunState, runtime: Runtime[RunContext]
) -> Literal["evaluate", "human_approval", "__end__"]:
    """An unreviewed answer waits for a person whatever its score (SPEC A13), an abstention only if the web can still
    be searched (X2)."""
    policy, review = runtime.context.settings.approval.policy, state["final_review"]
    if state["abstains"]:
        can_search = runtime.context.web is not None and not state["web_tried"]
        return "human_approval" if can_search and policy != "never" else "__end__"
    if _is_rejected(state):
        return "__end__"
    if review and review["outcome"] == "not_reviewed" and policy != "never":
        return "human_approval"
    return "evaluate"


def evaluate(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Score the answer. A failed evaluation leaves it unscored, and an unscored answer never passes."""
    context, attempt = runtime.context, state["attempt"]
    threshold = context.settings.approval.threshold
    request = EvaluationRequest(
        user_query=_answered_question(state),
        submission=state["final_answer"],
        team_id=state["user"],
        context=[_with_headings(evidence) for evidence in state["retrieved_nodes_score"]],
    )
    try:
        result = context.gate.evaluate(request, budget=context.limits.budget, deadline=context.limits.deadline)
    except VeracityError as error:
        cause = error.cause if isinstance(error, EvaluationError) else error
        # Only the type is logged: the message may quote documents.
        log.warning("Run %s could not be scored (%s).", state["run_id"], type(cause).__name__)
        notice = {"code": "not_scored", "problem": str(error)}
        facts = ScoreFacts(attempt=attempt, threshold=threshold, score=None, failed=str(error))
        return {"evaluation": None, "score": None, "notices": [*state["notices"], notice], **report(facts)}
    score = round(result.overall_score / 100, 6)
    warnings = [{"code": "evaluator_warning", "problem": warning} for warning in result.warnings]
    return {
        "evaluation": result.model_dump(mode="json"),
        "score": score,
        "notices": [*state["notices"], *warnings],
        **report(
            ScoreFacts(attempt=attempt, threshold=threshold, score=score, usage=result.usage),
            ScoreTexts(evaluation=result),
        ),
    }


def after_evaluate(state: RunState, runtime: Runtime[RunContext]) -> Literal["human_approval", "__end__"]:
    """Decides whether the answer waits for a person: by the score, unless the policy is "always" or "never"."""
    settings = runtime.context.settings.approval
    if settings.policy == "never":
        return "__end__"
    passed = state["score"] is not None and state["score"] >= settings.threshold
    return "__end__" if passed and settings.policy == "ask" else "human_approval"


def human_approval(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Interrupt the graph until the ledger holds a decision. Has no side effects: it runs again after a crash."""
    memory, run_id, attempt = runtime.context.memory, state["run_id"], state["attempt"]
    while (decision := memory.decision(run_id, attempt)) is None:
        interrupt({"why": _reason(state, runtime.context), "on_reject": _on_reject(state, runtime.context)})
    return {
        "decisions": [*state["decisions"], decision.model_dump(mode="json")],
        **_apply(state, decision),
        **report(
            ApprovalFacts(attempt=attempt, verdict=decision.verdict, by=decision.by, edited=decision.edit is not None),
            ApprovalTexts(reason=decision.reason, edit=decision.edit),
        ),
    }


def after_human_approval(state: RunState) -> Literal["web_search", "__end__"]:
    """At most one web search per turn (SPEC D7)."""
    return "web_search" if _is_rejected(state) and not state["web_tried"] else "__end__"


def _answered_question(state: RunState) -> str:
    """A recalled answer is scored against the question it once answered."""
    evidence = state["retrieved_nodes_score"]
    is_recalled = state["evidence_from"] == "history" and evidence
    return str(evidence[0]["title"]) if is_recalled else standalone_question(state)


def _with_headings(evidence: Plain) -> str:
    """A passage may depend on its title and headings for its subject."""
    headings = " › ".join(dict.fromkeys(text for text in (evidence["title"], *evidence["headings"]) if text))
    return f"{headings}\n{evidence['text']}" if headings else str(evidence["text"])


def _on_reject(state: RunState, context: RunContext) -> OnReject:
    if state["web_tried"]:
        return "searched"
    return "search" if context.web else "end"


def _reason(state: RunState, context: RunContext) -> ApprovalReason:
    if state["abstains"]:
        return "abstained"
    if state["final_review"] and state["final_review"]["outcome"] == "not_reviewed":
        return "not_reviewed"
    if state["score"] is None:
        return "not_scored"
    return "low_score" if state["score"] < context.settings.approval.threshold else "policy"


def _apply(state: RunState, decision: Decision) -> Plain:
    if decision.verdict == "reject":
        return {"rejected": {key: state[key] for key in REJECTED_KEYS}}  # type: ignore[literal-required]
    if decision.edit is not None:
        return {"final_answer": decision.edit, "form": "edited", "abstains": False, "missing": []}
    return {}


def _is_rejected(state: RunState) -> bool:
    """Whether the current attempt was rejected."""
    decisions = [decision for decision in state["decisions"] if decision["attempt"] == state["attempt"]]
    return bool(decisions) and decisions[-1]["verdict"] == "reject"
