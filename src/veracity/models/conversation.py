"""A conversation: one user's questions and answers in order (SPEC D2, D4)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from veracity.models.examination import Examination

# The same values as `RunStatus`, whose module imports this one.
TurnStatus = Literal["running", "interrupted", "awaiting_approval", "answered", "abstained", "rejected", "failed"]


class PastTurn(BaseModel):
    """`answer` is empty if there is none to reuse. `number` counts the conversation's turns from 1. `similarity` is
    the match with the search, if one was made; `status` is the run's."""

    model_config = ConfigDict(frozen=True)

    run_id: str
    number: int
    question: str
    answer: str
    asked: datetime
    similarity: float = Field(default=0.0, ge=0, le=1)
    status: TurnStatus = "answered"


class Remembered(BaseModel):
    """A summary of the turns up to number `folded`, and the turns after it verbatim."""

    model_config = ConfigDict(frozen=True)

    summary: str = ""
    folded: int = 0
    turns: list[PastTurn] = []


class ConversationSummary(BaseModel):
    """`title` is the user's, or the first question. `status` and `examined` are those of the turn that needs most: the
    last one that waits for approval, otherwise the last one. `examined` is None if that has no answer."""

    model_config = ConfigDict(frozen=True)

    conversation: str
    user: str
    title: str
    turns: int
    started: datetime
    last: datetime
    status: TurnStatus = "answered"
    pinned: bool = False
    examined: Examination | None = None


class TranscriptSource(BaseModel):
    """A passage that an answer cites as [`number`]. `quotes` are the cited sentences, `pages` those of a PDF."""

    model_config = ConfigDict(frozen=True)

    number: int
    title: str
    location: str
    pages: list[int] = []
    quotes: list[str]


class TranscriptTurn(BaseModel):
    """`answer` is empty if none was released. `only` limited the documents."""

    model_config = ConfigDict(frozen=True)

    number: int
    run_id: str
    asked: datetime
    question: str
    only: list[str] = []
    status: TurnStatus
    answer: str
    verdict: list[str] = Field(default=[], description="how the answer was examined, and who approved it")
    sources: list[TranscriptSource] = []


class Transcript(BaseModel):
    """A conversation to keep or to give away: its questions, released answers and their sources."""

    model_config = ConfigDict(frozen=True)

    conversation: str
    user: str
    title: str
    started: datetime
    last: datetime
    turns: list[TranscriptTurn]
