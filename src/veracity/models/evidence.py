"""A passage of a document, and evidence: a passage that was found for a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from veracity.models.documents import MetadataValue

# FOLDED models/quality.py: How good the evidence for a question is (SPEC C1, C2).

Grade = Literal["high", "medium", "low"]
Shortfall = Literal["empty", "coverage", "relevance", "diversity", "count"]

Share = Field(ge=0, le=1)


class QualityIssue(BaseModel):
    model_config = ConfigDict(frozen=True)

    code: Shortfall
    text: str


class Quality(BaseModel):
    """Each dimension from 0 to 1. `coverage` is None where no weak point of the asker matches the question."""

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
    """A stretch of a document's text: `text` is `document[start:end]`. `headings` lead to it, outermost first."""

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
    """A passage that a search of the store found: by its words (`score` is theirs) or by its vector."""

    passage: Passage
    score: float
    words: str  # those by which it is found, separated by spaces
    vector: Any  # a numpy array of length 1, or None for a passage that has none


class EvidenceMetadata(BaseModel):
    """`relevance_score` is the chance that the passage bears on the question; docs/search.md tells how it is found.

    `found_by` names every source that found it. The document's own metadata stands beside these.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    relevance_score: float = Field(ge=0, le=1)
    found_by: list[str] = []


class Evidence(BaseModel):
    """A passage that was found, and how well it fits. The `id` is the same for the same text of the same document."""

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
