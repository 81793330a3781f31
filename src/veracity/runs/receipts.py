"""Builds a receipt from the steps the ledger stored (SPEC X3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from veracity.ledger import Ledger
from veracity.models import Draft, Evidence, Receipt, Review, Round, Scoring, Step, WebLookup
from veracity.models.evidence import EvidenceMetadata
from veracity.models.llm import NOTHING_USED
from veracity.models.steps import (
    DraftStep,
    GradedEvidence,
    GradeStep,
    ReviewStep,
    RewriteStep,
    RouteStep,
    ScoreStep,
    WebSearchStep,
)

REMOVED = "(removed: it came from a document that was forgotten)"


def receipt(ledger: Ledger, run_id: str) -> Receipt:
    steps, evidence, parameters = ledger.steps(run_id), ledger.evidence(run_id), ledger.parameters(run_id)
    routed = next((step for step in steps if isinstance(step, RouteStep) and step.facts.route), None)
    texts = routed.texts if routed else None
    removed_reason = REMOVED if routed and not texts else ""
    return Receipt(
        run=ledger.summary(run_id),
        route=(routed.facts.route if routed else None) or "",
        route_reason=texts.reason if texts else removed_reason,
        standalone=texts.standalone if texts else "",
        only=list(parameters.only),
        models=ledger.models(run_id),
        rounds=list(_rounds(steps, evidence)),
        drafts=list(_drafts(steps)),
        scorings=[scoring for step in steps if isinstance(step, ScoreStep) and (scoring := _scoring(step))],
        approvals=ledger.approvals_of(run_id),
        web=[_web_lookup(step, evidence) for step in steps if isinstance(step, WebSearchStep) and step.facts.provider],
        feedback=ledger.feedback(run_id),
        answer=ledger.answer(run_id),
        usage=parameters.usage,
        usage_by_role=parameters.usage_by_role,
        calls=ledger.calls(run_id),
        steps=steps,
    )


def _rounds(steps: Iterable[Step], evidence: Mapping[str, Evidence]) -> Iterable[Round]:
    """A rewrite's reason belongs to the round after it."""
    rewritten = ""
    for step in steps:
        if isinstance(step, RewriteStep):
            rewritten = step.texts.reason if step.texts else REMOVED
        elif isinstance(step, GradeStep) and step.facts.quality:
            graded = [_with_scores(evidence[item.id], item) for item in step.facts.evidence if item.id in evidence]
            yield Round(
                query=step.texts.query if step.texts else REMOVED,
                sources=step.facts.sources,
                evidence=graded,
                quality=step.facts.quality,
                rewritten=rewritten,
            )
            rewritten = ""


def _with_scores(evidence: Evidence, graded: GradedEvidence) -> Evidence:
    """The passage with the scores of that round: relevance depends on the query."""
    scores = graded.model_dump(exclude={"id", "source"})
    metadata = EvidenceMetadata.model_validate({**evidence.metadata.model_dump(), **scores})
    return evidence.model_copy(update={"source": graded.source, "metadata": metadata})


def _drafts(steps: Iterable[Step]) -> Iterable[Draft]:
    pending: Draft | None = None
    for step in steps:
        if isinstance(step, DraftStep) and step.facts.epoch is not None:
            text = step.texts.draft if step.texts else REMOVED
            draft = Draft(attempt=step.facts.attempt, epoch=step.facts.epoch, text=text)
            # After a crash the same draft is written again.
            if pending and (pending.attempt, pending.epoch) != (draft.attempt, draft.epoch):
                yield pending
            pending = draft
        elif isinstance(step, ReviewStep) and pending and step.facts.outcome:
            yield pending.model_copy(update={"review": _review(step)})
            pending = None
    if pending:
        yield pending


def _review(step: ReviewStep) -> Review | None:
    if step.texts:
        return step.texts.review
    facts = step.facts
    return Review(
        passed=facts.outcome == "passed",
        suggestions=[REMOVED],
        outcome=facts.outcome or "not_reviewed",
        confidence=facts.confidence,
        reviewer=facts.reviewer,
        usage=facts.usage or NOTHING_USED,
    )


def _scoring(step: ScoreStep) -> Scoring | None:
    facts = step.facts
    if facts.threshold is None:
        return None
    return Scoring(
        attempt=facts.attempt,
        threshold=facts.threshold,
        score=facts.score,
        result=step.texts.evaluation if step.texts else None,
        grounding=step.texts.grounding if step.texts else [],
        grounding_floor=facts.grounding_floor,
        problem=facts.failed,
    )


def _web_lookup(step: WebSearchStep, evidence: Mapping[str, Evidence]) -> WebLookup:
    facts, texts = step.facts, step.texts
    return WebLookup(
        attempt=facts.attempt,
        provider=facts.provider,
        query=texts.query if texts else REMOVED,
        pages=texts.pages if texts else [],
        evidence=[evidence[evidence_id] for evidence_id in facts.evidence if evidence_id in evidence],
        problem=facts.outcome,
    )
