"""How an answer came about, put together from what the ledger kept of each step (SPEC X3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from veracity.ledger import Ledger
from veracity.models import (
    Draft,
    EvaluationResult,
    Evidence,
    Quality,
    Receipt,
    Review,
    Round,
    Scoring,
    Step,
    WebLookup,
    WebPage,
)

REMOVED = "(removed: it came from a document that was forgotten)"


def receipt(ledger: Ledger, run_id: str) -> Receipt:
    steps, evidence = ledger.steps(run_id), ledger.evidence(run_id)
    routed = next((step for step in steps if step.name == "decide_route" and "route" in step.facts), None)
    return Receipt(
        run=ledger.summary(run_id),
        route=routed.facts["route"] if routed else "",
        route_reason=str(_text(routed, "reason")) if routed else "",
        standalone=(routed.texts or {}).get("standalone", "") if routed else "",
        models=ledger.models(run_id),
        rounds=list(_rounds(steps, evidence)),
        drafts=list(_drafts(steps)),
        scorings=[_scoring(step) for step in steps if step.name == "evaluate" and "threshold" in step.facts],
        approvals=ledger.approvals_of(run_id),
        web=[_web(step, evidence) for step in steps if step.name == "web_search" and "provider" in step.facts],
        feedback=ledger.feedback(run_id),
        answer=ledger.answer(run_id),
        usage=ledger.usage(run_id),
        steps=steps,
    )


def _rounds(steps: Iterable[Step], known: Mapping[str, Evidence]) -> Iterable[Round]:
    """Each search with its grade. A rewrite tells of the round that comes after it."""
    rewritten = ""
    for step in steps:
        if step.name == "rewrite_query":
            rewritten = str(_text(step, "reason"))
        elif step.name == "grade_documents" and "quality" in step.facts:
            yield Round(
                query=str(_text(step, "query")),
                sources=step.facts["sources"],
                evidence=[_scored(known[one["id"]], one) for one in step.facts["evidence"] if one["id"] in known],
                quality=Quality.model_validate(step.facts["quality"]),
                rewritten=rewritten,
            )
            rewritten = ""


def _scored(evidence: Evidence, scores: dict[str, Any]) -> Evidence:
    """The passage with the scores of that round: another query finds another relevance."""
    metadata = {name: value for name, value in scores.items() if name not in ("id", "source")}
    merged = {**evidence.metadata.model_dump(), **metadata}
    return evidence.model_copy(
        update={"source": scores["source"], "metadata": type(evidence.metadata).model_validate(merged)}
    )


def _drafts(steps: Iterable[Step]) -> Iterable[Draft]:
    waiting: Draft | None = None
    for step in steps:
        if step.name == "generate_answer" and "epoch" in step.facts:
            draft = Draft(attempt=step.facts["attempt"], epoch=step.facts["epoch"], text=str(_text(step, "draft")))
            if waiting and _place(waiting) != _place(draft):  # else it was written again after a kill
                yield waiting
            waiting = draft
        elif step.name == "eval_answer" and waiting and "outcome" in step.facts:
            yield waiting.model_copy(update={"review": _review(step)})
            waiting = None
    if waiting:
        yield waiting


def _place(draft: Draft) -> tuple[int, int]:
    return draft.attempt, draft.epoch


def _scoring(step: Step) -> Scoring:
    facts, result = step.facts, (step.texts or {}).get("evaluation")
    return Scoring(
        attempt=facts["attempt"],
        threshold=facts["threshold"],
        score=facts["score"],
        result=EvaluationResult.model_validate(result) if result else None,
        problem=facts.get("failed", ""),
    )


def _web(step: Step, known: Mapping[str, Evidence]) -> WebLookup:
    facts = step.facts
    return WebLookup(
        attempt=facts["attempt"],
        provider=facts["provider"],
        query=str(_text(step, "query")),
        pages=[WebPage.model_validate(page) for page in (step.texts or {}).get("pages", [])],
        evidence=[known[one] for one in facts["evidence"] if one in known],
        problem=facts.get("outcome", ""),
    )


def _review(step: Step) -> Review:
    if step.texts is None:
        facts = {name: step.facts[name] for name in ("outcome", "confidence", "reviewer", "usage")}
        return Review(passed=facts["outcome"] == "passed", suggestions=[REMOVED], **facts)
    return Review.model_validate(step.texts["review"])


def _text(step: Step, name: str) -> Any:
    return REMOVED if step.texts is None else step.texts.get(name, "")
