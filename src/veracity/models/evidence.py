"""Passages of documents; evidence, which is a passage found for a question; and the quality of evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from veracity.models.documents import MetadataValue

Grade = Literal["high", "medium", "low"]
Shortfall = Literal["empty", "coverage", "relevance", "diversity", "count"]

Share = Field(ge=0, le=1)


class QualityIssue(BaseModel):
    model_config = ConfigDict(frozen=True)

    code: Shortfall
    text: str


class Quality(BaseModel):
    """Each dimension is from 0 to 1. `coverage` is None if none of the user's weak points matches the question."""

    model_config = ConfigDict(frozen=True)

    grade: Grade
    score: float = Share
    issues: list[QualityIssue] = []
    coverage: float | None = None
    relevance: float = 0.0
    diversity: float = 0.0
    count: float = 0.0


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document: `text` is `document[start:end]`. `headings` are those above it, outermost first."""

    id: str
    text: str
    document_id: str
    title: str
    location: str
    headings: tuple[str, ...]
    page: int | None
    start: int
    end: int
    language: str
    entities: tuple[str, ...]
    metadata: dict[str, MetadataValue]


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result of the store, found by its words (`score`) or its vector."""

    passage: Passage
    score: float
    words: str  # its search tokens, separated by spaces
    vector: Any  # a normalised numpy array, or None for a passage without one


class EvidenceMetadata(BaseModel):
    """`relevance_score` is the probability that the passage is relevant; docs/search.md explains it.

    `found_by` lists every source that found it. The document's own metadata are extra fields.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    relevance_score: float = Field(ge=0, le=1)
    found_by: list[str] = []


class Evidence(BaseModel):
    """A passage found for a question. The same text of the same document always has the same `id`."""

    model_config = ConfigDict(frozen=True)

    id: str
    text: str
    source: str = Field(description="the retrieval source that ranked it best: knowledge, graph, …")
    document_id: str
    title: str
    location: str = Field(description="the file or address the document came from")
    headings: list[str]
    page: int | None
    start: int
    end: int
    language: str
    metadata: EvidenceMetadata


class WebPage(BaseModel):
    """A web page that was opened. `problem` says why its text is missing; its search snippet may be used instead."""

    model_config = ConfigDict(frozen=True)

    url: str
    title: str = ""
    retrieved: datetime
    problem: str = ""
