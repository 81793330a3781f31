"""Drafts on a page: what changed from one to the next, and what the reviewer said. Knows nothing about evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veracity.models import Draft, Review
from veracity.models.review import Dimension
from veracity.pages.differences import Change, changes
from veracity.pages.elements import Child, Safe, joined, tag
from veracity.pages.labels import Words
from veracity.pages.layout import badge, bullets, facts, folded, language_of, prose

TONES = {"passed": "good", "failed": "bad", "doubtful": "fair", "not_reviewed": "fair"}
ELEMENTS = {"removed": "del", "added": "ins"}


def drafts(written: Sequence[Draft], words: Words) -> Iterator[Safe]:
    """Each beside the one before it; another attempt begins anew."""
    many = len({draft.attempt for draft in written}) > 1
    before: Draft | None = None
    for draft in written:
        name = words("draft", number=draft.epoch)
        if many or draft.attempt > 1:
            name = f"{words('attempt', number=draft.attempt)} · {name}"
        body = _draft(before if before and before.attempt == draft.attempt else None, draft, words)
        yield tag("article", tag("h3", name), *body, class_="card")
        before = draft


def difference(before: str, after: str, words: Words) -> Safe:
    found = changes(before, after)
    if all(change.kind == "same" for change in found):
        return tag("p", words("unchanged"), class_="quiet")
    return prose(*(_changed(change) for change in found))


def review_of(review: Review, words: Words) -> Safe:
    who = words("local") if review.reviewer == "local" else review.reviewer
    head = tag("p", tag("strong", words("review")), " ", badge(*_outcome(review, words)))
    is_told = review.outcome != "not_reviewed"
    known = facts(
        (words("reviewer"), who),
        (words("confidence"), f"{review.confidence:.2f}" if is_told else None),
        (words("reasonableness"), _dimension(review.reasonableness, words)),
        (words("attribution"), _dimension(review.evidence, words)),
        (words("problem"), review.problem),
    )
    wanted = bullets(review.suggestions, language_of("".join(review.suggestions), words.tag))
    return tag("div", head, known, tag("h4", words("suggestions")) if wanted else None, wanted, class_="review")


def _draft(before: Draft | None, draft: Draft, words: Words) -> Iterator[Child]:
    if before is None:
        yield prose(draft.text) if draft.text else tag("p", words("removed"), class_="quiet")
    else:
        yield difference(before.text, draft.text, words)
        yield folded(words("whole"), prose(draft.text))
    if draft.review:
        yield review_of(draft.review, words)


def _changed(change: Change) -> Child:
    return change.text if change.kind == "same" else tag(ELEMENTS[change.kind], change.text)


def _outcome(review: Review, words: Words) -> tuple[str, str]:
    return words.named("outcome", review.outcome), TONES[review.outcome]


def _dimension(dimension: Dimension | None, words: Words) -> Safe | None:
    if dimension is None:
        return None
    outcome = "passed" if dimension.passed else "failed"
    detail = tag("span", dimension.detail, lang=language_of(dimension.detail, words.tag)) if dimension.detail else None
    return joined(badge(words.named("outcome", outcome), TONES[outcome]), " " if detail else None, detail)
