"""The verdict on an answer in one line: review, support, score and decision.

The page shows the same in the same words (`server/static/answer/verdict.js`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from veracity.locales import text
from veracity.models.answer import Answer
from veracity.models.evaluation import points
from veracity.models.strength import TONES, Scale, Tone

Finding = tuple[str, Tone, dict[str, Any]]  # a key of the texts, its tone, and values

REVIEW_TONES: dict[str, Tone] = {"passed": "good", "failed": "bad", "doubtful": "fair", "not_reviewed": "fair"}


class VerdictPart(NamedTuple):
    text: str
    tone: Tone


def verdict(answer: Answer, threshold: float, language: str) -> list[VerdictPart]:
    """What is known about an answer or a draft, in the order of its examination."""
    findings = _examined(answer, threshold) if answer.status == "answered" else _unanswered(answer)
    return [VerdictPart(text(language, "verdict", key, **values), tone) for key, tone, values in findings]


def _unanswered(answer: Answer) -> Iterator[Finding]:
    decision = answer.decisions[-1] if answer.decisions else None
    by = {"name": decision.by if decision else ""}
    if answer.status == "awaiting_approval":
        yield "waiting", "fair", {}
    elif answer.status == "rejected":
        is_expired = decision is not None and decision.verdict == "expire"
        yield "expired" if is_expired else "rejected" if decision else "rejected.nobody", "bad", by
    else:
        yield "abstained", "fair", {}
        if decision:
            keys = {"approve": "approved", "expire": "expired"}
            yield keys.get(decision.verdict, "rejected.draft"), "", by


def _examined(answer: Answer, threshold: float) -> Iterator[Finding]:
    if answer.form == "direct":
        yield "direct", "", {}
        return
    yield from _review(answer)
    yield from _support(answer)
    yield from _score(answer, threshold)
    for decision in answer.decisions[-1:]:
        if decision.verdict == "approve":
            yield "edited" if answer.form == "edited" else "approved", "good", {"name": decision.by}


def _review(answer: Answer) -> Iterator[Finding]:
    if review := answer.review:
        is_local = review.outcome == "passed" and review.reviewer == "local"
        yield "review.local" if is_local else f"review.{review.outcome}", REVIEW_TONES[review.outcome], {}
    if any(notice.code == "uncertain" for notice in answer.notices):
        yield "uncertain", "fair", {}


def _support(answer: Answer) -> Iterator[Finding]:
    stated = [sentence for sentence in answer.sentences if sentence.states]
    if stated:
        supported = sum(sentence.supported for sentence in stated)
        tone: Tone = "good" if supported == len(stated) else "fair" if supported else "bad"
        yield "support.one" if len(stated) == 1 else "support", tone, {"supported": supported, "n": len(stated)}


def _score(answer: Answer, threshold: float) -> Iterator[Finding]:
    if answer.score is not None:
        scale = Scale.of_score(threshold)
        strength = scale.rate(answer.score)
        values = {"score": scale.points(answer.score), "threshold": points(threshold)}
        yield f"score.{strength}", TONES[strength], values
    elif answer.form not in ("edited", "recalled"):
        yield "not_scored", "fair", {}
