"""The parts of a stored answer that its verdict rests on, for lists: without texts, sources and calls.

The fields have the names that they have in `Answer`, so that one component of the page shows the verdict of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from veracity.models.answer import AnswerForm, AnswerStatus, NoticeCode
from veracity.models.review import ReviewOutcome, Verdict


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class ExaminedReview(_Part):
    outcome: ReviewOutcome
    reviewer: str = "local"


class ExaminedSentence(_Part):
    states: bool
    supported: bool


class ExaminedDecision(_Part):
    verdict: Verdict | Literal["expire"]
    by: str


class ExaminedNotice(_Part):
    code: NoticeCode


class Examination(_Part):
    """What is known about an answer: how it was reviewed, supported, scored and decided."""

    status: AnswerStatus
    form: AnswerForm
    language: str = "en"
    review: ExaminedReview | None = None
    sentences: list[ExaminedSentence] = []
    score: float | None = None
    decisions: list[ExaminedDecision] = []
    notices: list[ExaminedNotice] = []


def read_examination(stored: Mapping[str, Any]) -> Examination | None:
    """From the fields of a stored answer. None if there is no answer."""
    known = {name: stored[name] for name in Examination.model_fields if stored.get(name) is not None}
    return Examination.model_validate(known) if "status" in known else None
