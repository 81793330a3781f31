"""The gate: score the answer, and wait for a person's decision when a check fails (SPEC D5, D6, A14, A15).

A decision is in the ledger before the graph resumes. `human_approval` only reads it there, so it can run any number of
times and in any process.
"""

from __future__ import annotations

import logging
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from veracity.errors import EvaluationError, LackingContextError, VeracityError
from veracity.evaluator.metrics.base import BaseMetric
from veracity.evaluator.metrics.citation_accuracy import CitationAccuracy
from veracity.evaluator.metrics.groundedness import Groundedness
from veracity.graph.context import RunContext
from veracity.graph.report import report
from veracity.graph.state import Attempt, Plain, RunState, standalone_question
from veracity.models import ApprovalReason, Decision, EvaluationRequest, EvaluationResult, MetricScore, OnReject
from veracity.models.review import ReviewOutcome
from veracity.models.steps import ApprovalFacts, ApprovalTexts, ScoreFacts, ScoreTexts
from veracity.settings import ApprovalSettings

log = logging.getLogger("veracity")

GROUNDING_CHECKS: tuple[BaseMetric, ...] = (Groundedness(), CitationAccuracy())
# Notices about the writing and examination of a draft, which do not apply to the next one.
DRAFTING_NOTICES = (
    "revised",
    "review_failed",
    "uncertain",
    "deadline",
    "budget",
    "redraft_failed",
    "not_scored",
    "evaluator_warning",
)
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
    """Score the answer, and check its grounding beside the score (SPEC A15).

    A failed evaluation leaves the answer unscored, and an unscored answer never passes.
    """
    context, approval = runtime.context, _gate(state, runtime)
    request = EvaluationRequest(
        user_query=_answered_question(state),
        submission=state["final_answer"],
        team_id=state["user"],
        context=[_with_headings(evidence) for evidence in state["retrieved_nodes_score"]],
    )
    result, problem = _score(request, context)
    checks = _check_grounding(request, result)
    score = result.overall_score / 100 if result else None
    grounding = [check.model_dump(mode="json") for check in checks]
    outcome: Plain = {"failed": problem} if result is None else {"usage": result.usage}
    notices = [{"code": "not_scored", "problem": problem}] if result is None else _warnings(result)
    return {
        "evaluation": result.model_dump(mode="json") if result else None,
        "score": score,
        "grounding": grounding,
        "notices": [*state["notices"], *notices],
        **report(
            ScoreFacts(
                attempt=state["attempt"],
                threshold=approval.threshold,
                score=score,
                grounding=_lowest(grounding),
                grounding_floor=approval.grounding_floor,
                **outcome,
            ),
            ScoreTexts(evaluation=result, grounding=checks),
        ),
    }


def after_evaluate(state: RunState, runtime: Runtime[RunContext]) -> Literal["human_approval", "__end__"]:
    """Decides whether the answer waits for a person: if a check failed, unless the policy is "always" or "never"."""
    settings = _gate(state, runtime)
    if settings.policy == "never":
        return "__end__"
    return "human_approval" if settings.policy == "always" or _doubt(state, settings) else "__end__"


def human_approval(state: RunState, runtime: Runtime[RunContext]) -> Plain:
    """Interrupt the graph until the ledger holds a decision. Has no side effects: it runs again after a crash."""
    memory, run_id, attempt = runtime.context.memory, state["run_id"], state["attempt"]
    while (decision := memory.decision(run_id, attempt)) is None:
        settings = _gate(state, runtime)
        why, send_backs = _doubt(state, settings) or "policy", _send_backs_left(state, settings)
        interrupt({"why": why, "on_reject": _on_reject(state, runtime.context), "send_backs": send_backs})
    return {
        "decisions": [*state["decisions"], decision.model_dump(mode="json")],
        **_apply(state, decision),
        **report(
            ApprovalFacts(attempt=attempt, verdict=decision.verdict, by=decision.by, edited=decision.edit is not None),
            ApprovalTexts(reason=decision.reason, edit=decision.edit),
        ),
    }


def after_human_approval(state: RunState) -> Literal["prepare_messages", "web_search", "__end__"]:
    """A draft that was sent back is written again (SPEC D10). At most one web search per turn (D7)."""
    if state["decisions"][-1]["verdict"] == "send_back":
        return "prepare_messages"
    return "web_search" if _is_rejected(state) and not state["web_tried"] else "__end__"


def _score(request: EvaluationRequest, context: RunContext) -> tuple[EvaluationResult | None, str]:
    """The result, or why there is none."""
    try:
        limits, batch = context.limits, context.settings.evaluator.batch
        return context.gate.evaluate(request, budget=limits.budget, deadline=limits.deadline, batch=batch), ""
    except VeracityError as error:
        cause = error.cause if isinstance(error, EvaluationError) else error
        # Only the type is logged: the message may quote documents.
        log.warning("Run %s could not be scored (%s).", context.run.run_id, type(cause).__name__)
        return None, str(error)


def _check_grounding(request: EvaluationRequest, result: EvaluationResult | None) -> list[MetricScore]:
    """The grounding checks, without repeating those that are among the metrics. Empty without evidence."""
    known = {score.metric_name: score for score in result.metrics} if result else {}
    try:
        return [known.get(type(check).__name__) or check.evaluate(request) for check in GROUNDING_CHECKS]
    except LackingContextError:
        return []


def _lowest(grounding: list[Plain]) -> float:
    """The lowest check, from 0 to 1. Without evidence nothing is grounded."""
    return min((check["score"] for check in grounding), default=0.0) / 100


def _warnings(result: EvaluationResult) -> list[Plain]:
    return [{"code": "evaluator_warning", "problem": warning} for warning in result.warnings]


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


def _send_backs_left(state: RunState, settings: ApprovalSettings) -> int:
    """0 for an abstention: there is no draft to write again."""
    used = sum(decision["verdict"] == "send_back" for decision in state["decisions"])
    return 0 if state["abstains"] else max(0, settings.send_backs - used)


def _gate(state: RunState, runtime: Runtime[RunContext]) -> ApprovalSettings:
    return runtime.context.settings.approval.for_language(state["language"])


def _doubt(state: RunState, settings: ApprovalSettings) -> ApprovalReason | None:
    outcome = (state["final_review"] or {}).get("outcome")
    lowest = _lowest(state.get("grounding", []))
    return find_doubt(state["abstains"], outcome, state.get("tentative", False), state["score"], lowest, settings)


def find_doubt(
    abstains: bool,
    review: ReviewOutcome | None,
    tentative: bool,
    score: float | None,
    grounding: float,
    settings: ApprovalSettings,
) -> ApprovalReason | None:
    """The first reason why a person must decide, or None. A failed review counts whatever the score (SPEC A14)."""
    reasons: list[tuple[bool, ApprovalReason]] = [
        (abstains, "abstained"),
        (review == "not_reviewed", "not_reviewed"),
        (review == "failed" and settings.on_failed_review, "review_failed"),
        (tentative, "uncertain"),
        (score is None, "not_scored"),
        (grounding < settings.grounding_floor, "low_grounding"),
        (score is not None and score < settings.threshold, "low_score"),
    ]
    return next((reason for applies, reason in reasons if applies), None)


def _apply(state: RunState, decision: Decision) -> Plain:
    if decision.verdict == "reject":
        return {"rejected": {key: state[key] for key in REJECTED_KEYS if key in state}}  # type: ignore[literal-required]
    if decision.verdict == "send_back":
        return _send_back(state, decision.reason)
    if decision.edit is not None:
        return {"final_answer": decision.edit, "form": "edited", "abstains": False, "missing": []}
    return {}


def _send_back(state: RunState, note: str) -> Plain:
    """Start an attempt on the same evidence. It keeps the draft, in case that the next one cannot be written."""
    draft = {"text": state["final_answer"], "form": state["form"], "review": state["final_review"]}
    return {
        "attempt": state["attempt"] + 1,
        "notes": [*state.get("notes", []), note],
        "drafts": [draft],
        "last_answer": state["final_answer"],
        "last_evaluation": state["final_review"],
        "halted": False,
        "notices": [notice for notice in state["notices"] if notice["code"] not in DRAFTING_NOTICES],
        "evaluation": None,
        "score": None,
        "grounding": [],
    }


def _is_rejected(state: RunState) -> bool:
    """Whether the current attempt was rejected."""
    decisions = [decision for decision in state["decisions"] if decision["attempt"] == state["attempt"]]
    return bool(decisions) and decisions[-1]["verdict"] == "reject"
