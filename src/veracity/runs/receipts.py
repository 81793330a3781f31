"""How an answer came about, put together from what the ledger kept of each step (SPEC X3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from veracity.ledger import Ledger
from veracity.models import Draft, Evidence, Quality, Receipt, Review, Round, Step

REMOVED = "(removed: it came from a document that was forgotten)"


def receipt(ledger: Ledger, run_id: str) -> Receipt:
    steps = ledger.steps(run_id)
    return Receipt(
        run=ledger.summary(run_id),
        route=next((step.facts["route"] for step in steps if "route" in step.facts), ""),
        models=ledger.models(run_id),
        rounds=list(_rounds(steps, ledger.evidence(run_id))),
        drafts=list(_drafts(steps)),
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
        if step.name == "generate_answer" and "epoch" in step.facts and not step.facts["abstains"]:
            if waiting:
                yield waiting
            waiting = Draft(epoch=step.facts["epoch"], text=str(_text(step, "draft")))
        elif step.name == "eval_answer" and waiting and "outcome" in step.facts:
            yield waiting.model_copy(update={"review": _review(step)})
            waiting = None
    if waiting:
        yield waiting


def _review(step: Step) -> Review:
    if step.texts is None:
        facts = {name: step.facts[name] for name in ("outcome", "confidence", "reviewer", "usage")}
        return Review(passed=facts["outcome"] == "passed", suggestions=[REMOVED], **facts)
    return Review.model_validate(step.texts["review"])


def _text(step: Step, name: str) -> Any:
    return REMOVED if step.texts is None else step.texts.get(name, "")
