"""What people decided about drafts, on a page. Knows nothing about how a decision is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veracity.models import Approval, Decision, Receipt
from veracity.pages.answers import with_links
from veracity.pages.drafts import difference
from veracity.pages.elements import Child, Safe, tag
from veracity.pages.labels import Words
from veracity.pages.layout import badge, facts, folded, moment, prose

TONES = {"approve": "good", "reject": "bad"}


def decisions(receipt: Receipt, words: Words) -> list[Safe]:
    if receipt.approvals:
        return [_approval(approval, words) for approval in receipt.approvals]
    return [_alone(decision, words) for decision in _told_by_the_answer(receipt)]


def _told_by_the_answer(receipt: Receipt) -> Sequence[Decision]:
    return receipt.answer.decisions if receipt.answer else []


def _approval(approval: Approval, words: Words) -> Safe:
    decision = approval.decision
    verdict = _verdict(decision, words) if decision else _state(approval, words)
    head = tag("h3", words("attempt", number=approval.attempt), " ", verdict)
    known = facts(
        (words("why"), words.named("why", approval.why)),
        (words("asked"), moment(approval.created)),
        *_who(decision, words),
        (words("on_reject"), None if decision else words.named("on_reject", approval.on_reject)),
    )
    return tag("article", head, known, *_texts(approval, words), class_="card")


def _texts(approval: Approval, words: Words) -> Iterator[Child]:
    """What was decided on, and what was made of it."""
    draft, decision = approval.draft, approval.decision
    if decision and decision.edit is not None:
        yield tag("h4", words("edit"))
        yield difference(draft.text, decision.edit, words)
    if draft.text:
        known = range(1, len(draft.evidence) + 1)
        yield folded(words("whole"), prose(*with_links(draft.text, approval.attempt, known, words)))
    else:
        yield tag("p", words("removed"), class_="quiet")


def _alone(decision: Decision, words: Words) -> Safe:
    head = tag("h3", words("attempt", number=decision.attempt), " ", _verdict(decision, words))
    edit = [tag("h4", words("edit")), prose(decision.edit)] if decision.edit is not None else []
    return tag("article", head, facts(*_who(decision, words)), *edit, class_="card")


def _who(decision: Decision | None, words: Words) -> list[tuple[str, Child]]:
    if decision is None:
        return []
    return [(words("by"), decision.by), (words("at"), moment(decision.at)), (words("reason"), decision.reason)]


def _verdict(decision: Decision, words: Words) -> Safe:
    return badge(words.named("verdict", decision.verdict), TONES[decision.verdict])


def _state(approval: Approval, words: Words) -> Safe:
    return badge(words.named("state", approval.state), "fair")
