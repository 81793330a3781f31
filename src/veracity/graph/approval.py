"""The gate: what stands is scored, and a person decides on what scores low (SPEC D5, D6).

The ledger holds the decision before the graph goes on; the node that waits only reads it there, so that it may run any
number of times and in any process.
"""

from __future__ import annotations

import logging
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from veracity.errors import EvaluationError, VeracityError
from veracity.graph.context import Parts
from veracity.graph.state import Attempt, Plain, RunState, asked
from veracity.graph.steps import trace
from veracity.models import ApprovalReason, Decision, EvaluationRequest, OnReject

log = logging.getLogger("veracity")

KEPT = (*Attempt.__annotations__, "attempt", "evidence_from", "best_round", "notices")  # of what is rejected


def after_settle_answer(state: RunState, runtime: Runtime[Parts]) -> Literal["evaluate", "human_approval", "__end__"]:
    """What could not be reviewed goes to the person whatever its score would be (SPEC A13); an abstention only where
    the web could still be searched (X2)."""
    policy, review = runtime.context.settings.approval.policy, state["final_review"]
    if state["abstains"]:
        may_search = runtime.context.web is not None and not state["web_tried"]
        return "human_approval" if may_search and policy != "never" else "__end__"
    if _is_rejected(state):
        return "__end__"
    if review and review["outcome"] == "not_reviewed" and policy != "never":
        return "human_approval"
    return "evaluate"


def evaluate(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """A judge that fails leaves it "not scored", which never passes by itself."""
    parts = runtime.context
    threshold = parts.settings.approval.threshold
    request = EvaluationRequest(
        user_query=_answered(state),
        submission=state["final_answer"],
        team_id=state["user"],
        context=[_with_headings(one) for one in state["retrieved_nodes_score"]],
    )
    facts = {"attempt": state["attempt"], "threshold": threshold}
    try:
        result = parts.gate.evaluate(request, budget=parts.limits.budget, deadline=parts.limits.run)
    except VeracityError as problem:
        cause = problem.cause if isinstance(problem, EvaluationError) else problem
        log.warning("Run %s could not be scored (%s).", state["run_id"], type(cause).__name__)  # its words may quote
        notice = {"code": "not_scored", "problem": str(problem)}
        failed = {**facts, "score": None, "failed": str(problem)}
        return {"evaluation": None, "score": None, "notices": [*state["notices"], notice], **trace(failed)}
    score = round(result.overall_score / 100, 6)
    warnings = [{"code": "evaluator_warning", "problem": one} for one in result.warnings]
    return {
        "evaluation": result.model_dump(mode="json"),
        "score": score,
        "notices": [*state["notices"], *warnings],
        **trace(
            {**facts, "score": score, "usage": result.usage.model_dump()},
            {"evaluation": result.model_dump(mode="json")},
        ),
    }


def after_evaluate(state: RunState, runtime: Runtime[Parts]) -> Literal["human_approval", "__end__"]:
    settings = runtime.context.settings.approval
    if settings.policy == "never":
        return "__end__"
    passed = state["score"] is not None and state["score"] >= settings.threshold
    return "__end__" if passed and settings.policy == "ask" else "human_approval"


def human_approval(state: RunState, runtime: Runtime[Parts]) -> Plain:
    """Nothing happens here but waiting: this node may run again after a kill."""
    memory, run_id, attempt = runtime.context.memory, state["run_id"], state["attempt"]
    while (decision := memory.decision(run_id, attempt)) is None:
        interrupt({"why": _why(state, runtime.context), "on_reject": _on_reject(state, runtime.context)})
    decided = [*state["decisions"], decision.model_dump(mode="json")]
    told = trace(
        {"attempt": attempt, "verdict": decision.verdict, "by": decision.by, "edited": decision.edit is not None},
        {"reason": decision.reason, "edit": decision.edit},
    )
    return {"decisions": decided, **_changed(state, decision), **told}


def after_human_approval(state: RunState) -> Literal["web_search", "__end__"]:
    """At most one search of the web in a turn (SPEC D7)."""
    return "web_search" if _is_rejected(state) and not state["web_tried"] else "__end__"


def _answered(state: RunState) -> str:
    """The question that the text is an answer to: an earlier answer was one to an earlier question."""
    given = state["retrieved_nodes_score"]
    return str(given[0]["title"]) if state["evidence_from"] == "history" and given else asked(state)


def _with_headings(evidence: Plain) -> str:
    """A text on leave need not say whose: what stands above it does."""
    above = " › ".join(dict.fromkeys(one for one in (evidence["title"], *evidence["headings"]) if one))
    return f"{above}\n{evidence['text']}" if above else str(evidence["text"])


def _on_reject(state: RunState, parts: Parts) -> OnReject:
    if state["web_tried"]:
        return "searched"
    return "search" if parts.web else "end"


def _why(state: RunState, parts: Parts) -> ApprovalReason:
    if state["abstains"]:
        return "abstained"
    if state["final_review"] and state["final_review"]["outcome"] == "not_reviewed":
        return "not_reviewed"
    if state["score"] is None:
        return "not_scored"
    return "low_score" if state["score"] < parts.settings.approval.threshold else "policy"


def _changed(state: RunState, decision: Decision) -> Plain:
    if decision.verdict == "reject":
        return {"rejected": {name: state[name] for name in KEPT}}  # type: ignore[literal-required]
    if decision.edit is not None:
        return {"final_answer": decision.edit, "form": "edited", "abstains": False, "missing": []}
    return {}


def _is_rejected(state: RunState) -> bool:
    """This attempt, not an earlier one."""
    decided = [one for one in state["decisions"] if one["attempt"] == state["attempt"]]
    return bool(decided) and decided[-1]["verdict"] == "reject"
