"""Documents: as added, as stored, and the report of an ingestion."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

Status = Literal["added", "updated", "unchanged", "skipped", "failed", "removed"]
FileStatus = Literal["waiting", "received", "cancelled", Status]
MetadataValue = str | int | float | bool


class Document(BaseModel):
    """A text in memory. Adding another with the same `id` replaces it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]
    text: str
    title: Annotated[str, StringConstraints(max_length=1000)] = ""
    markdown: bool = False
    metadata: dict[str, MetadataValue] = {}

    @field_validator("metadata")
    @classmethod
    def _is_unicode(cls, metadata: dict[str, MetadataValue]) -> dict[str, MetadataValue]:
        for text in (*metadata, *(value for value in metadata.values() if isinstance(value, str))):
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise ValueError("the metadata contain a lone surrogate, which is not valid Unicode: remove it")
        return metadata


class KnownDocument(BaseModel):
    """A document of the workspace."""

    model_config = ConfigDict(frozen=True)

    id: str
    title: str
    location: str = Field(description="its file; `uploads/…` for an upload, empty for a text added from memory")
    format: str
    language: str
    passages: int
    characters: int
    added: datetime
    metadata: dict[str, MetadataValue]


class PageBox(BaseModel):
    """A rectangle of a page, in parts of its width and height."""

    model_config = ConfigDict(frozen=True)

    left: float
    top: float
    width: float
    height: float


class DocumentPage(BaseModel):
    """A page of a PDF document, and where a quote is on it."""

    model_config = ConfigDict(frozen=True)

    page: int = Field(description="counted from 1")
    pages: int
    width: float = Field(description="in points")
    height: float
    boxes: list[PageBox] = Field(description="cover the quote; empty if it is not found, as on a scanned page")


class ExampleQuestion(BaseModel):
    """A question that the documents are known to answer, made from a document and in its language."""

    model_config = ConfigDict(frozen=True)

    question: str
    language: str
    document_id: str
    content: str = Field(description="a hash of the document's text")


class Outcome(BaseModel):
    """The result for one file or document. `reason` is empty on success."""

    model_config = ConfigDict(frozen=True)

    name: str
    status: Status
    reason: str = ""
    document_id: str | None = None
    passages: int = 0


class IngestReport(BaseModel):
    model_config = ConfigDict(frozen=True)

    outcomes: list[Outcome]
    seconds: float
    left_out: dict[str, int] = Field(
        default={}, description="how many files and folders were not read, by reason: `hidden`, `style sheets`, …"
    )

    def count(self, status: Status) -> int:
        return self.counts[status]

    @property
    def counts(self) -> Counter[Status]:
        return Counter(outcome.status for outcome in self.outcomes)

    @property
    def passages(self) -> int:
        """Number of passages written."""
        return sum(outcome.passages for outcome in self.outcomes)


class AnnouncedFile(BaseModel):
    """A file that a person is going to upload. One with a `reason` is refused: it has failed already."""

    model_config = ConfigDict(frozen=True)

    name: str
    size: int
    document_id: str
    reason: str = ""


class ListedFile(BaseModel):
    """A file of a person's last upload."""

    model_config = ConfigDict(frozen=True)

    number: int = Field(description="its place in the upload")
    name: str
    size: int
    status: FileStatus = Field(description="`waiting` until the server has it, `received` until it was read")
    reason: str = Field(description="why it was not added")


class UploadList(BaseModel):
    """A person's last upload: the files that were announced, and what became of each."""

    model_config = ConfigDict(frozen=True)

    id: str
    files: list[ListedFile]
