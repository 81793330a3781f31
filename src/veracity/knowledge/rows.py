"""How documents and passages stand in the table: one row each, so that a document and its passages are one commit.

A document's row holds its whole text and no words or vector, so no search finds it. Knows nothing about the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veracity.models import Hit, KnownDocument, Passage
from veracity.models.documents import MetadataValue

DOCUMENT, PASSAGE = "document", "passage"
# What a search needs of a passage. The vector comes along, since what was found by words is compared by meaning too.
PASSAGE_COLUMNS = [
    "id", "document_id", "title", "location", "headings", "page", "start", "end", "language", "text", "entities",
    "metadata", "vector",
]  # fmt: skip
DOCUMENT_COLUMNS = ["document_id", "title", "location", "format", "language", "passages", "end", "added", "metadata"]
FINGERPRINT_COLUMNS = ["document_id", "location", "size", "modified", "digest", "added"]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """By what a file is known to be unchanged. Times in nanoseconds."""

    document_id: str
    location: str
    size: int
    modified: int
    digest: str
    added: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A document that is ready to be stored: `prepared` comes from `preparing`, `fingerprint` tells it again."""

    fingerprint: Fingerprint
    prepared: dict[str, Any]
    metadata: dict[str, MetadataValue]

    @property
    def passages(self) -> list[dict[str, Any]]:
        passages: list[dict[str, Any]] = self.prepared["passages"]
        return passages

    def text_of(self, passage: dict[str, Any]) -> str:
        text: str = self.prepared["text"]
        return text[passage["start"] : passage["end"]]


def schema(dimensions: int, recipe: dict[str, Any]) -> pa.Schema:
    """`recipe` tells how the rows were made; it is kept with them."""
    fields = {
        "id": pa.string(),
        "kind": pa.string(),
        "document_id": pa.string(),
        "title": pa.string(),
        "location": pa.string(),
        "format": pa.string(),
        "language": pa.string(),
        "headings": pa.list_(pa.string()),
        "page": pa.int32(),
        "start": pa.int64(),
        "end": pa.int64(),
        "text": pa.string(),
        "words": pa.string(),
        "entities": pa.string(),
        "vector": pa.list_(pa.float32(), dimensions),
        "metadata": pa.string(),
        "markdown": pa.bool_(),
        "pages": pa.list_(pa.int64()),
        "passages": pa.int32(),
        "size": pa.int64(),
        "modified": pa.int64(),
        "digest": pa.string(),
        "added": pa.int64(),
    }
    return pa.schema(list(fields.items()), metadata={b"veracity": json.dumps(recipe).encode()})


def recipe_of(found: pa.Schema) -> dict[str, Any]:
    recipe: dict[str, Any] = json.loads((found.metadata or {}).get(b"veracity", b"{}"))
    return recipe


def table_of(
    entries: Sequence[Entry], vectors: NDArray[np.float32], covered: NDArray[np.bool_], like: pa.Schema
) -> pa.Table:
    """The rows of the documents and their passages. `vectors` are those of the passages that are `covered`, in order."""
    rows = [row for entry in entries for row in _rows(entry)]
    is_passage = np.array([row["kind"] == PASSAGE for row in rows], bool)
    has_vector = np.zeros(len(rows), bool)
    has_vector[is_passage] = covered
    columns = {
        name: pa.array([row.get(name) for row in rows], like.field(name).type)
        for name in like.names
        if name != "vector"
    }
    columns["vector"] = _vector_column(vectors, has_vector, like.field("vector").type)
    return pa.table(columns, schema=like)


def _vector_column(vectors: NDArray[np.float32], present: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    full = np.zeros((len(present), kind.list_size), np.float32)
    full[present] = vectors
    return pa.FixedSizeListArray.from_arrays(pa.array(full.ravel()), type=kind, mask=pa.array(~present))


def _rows(entry: Entry) -> Iterator[dict[str, Any]]:
    mark, prepared = entry.fingerprint, entry.prepared
    shared = {
        "document_id": mark.document_id,
        "title": prepared["title"],
        "location": mark.location,
        "metadata": json.dumps(entry.metadata, ensure_ascii=False),
    }
    yield shared | {
        "id": mark.document_id,
        "kind": DOCUMENT,
        "format": prepared["format"],
        "language": prepared["language"],
        "text": prepared["text"],
        "end": len(prepared["text"]),
        "markdown": prepared["markdown"],
        "pages": prepared["pages"],
        "passages": len(prepared["passages"]),
        "size": mark.size,
        "modified": mark.modified,
        "digest": mark.digest,
        "added": mark.added,
    }
    for passage in prepared["passages"]:
        yield shared | {
            "id": f"{mark.document_id}.{passage['mark']}",
            "kind": PASSAGE,
            "language": passage["language"],
            "headings": passage["headings"],
            "page": passage["page"],
            "start": passage["start"],
            "end": passage["end"],
            "text": entry.text_of(passage),
            "words": passage["words"],
            "entities": " ".join(passage["entities"]),
        }


def passage_of(row: dict[str, Any]) -> Passage:
    return Passage(
        id=row["id"],
        text=row["text"],
        document_id=row["document_id"],
        title=row["title"],
        location=row["location"],
        headings=tuple(row["headings"] or ()),
        page=row["page"],
        start=row["start"],
        end=row["end"],
        language=row["language"],
        entities=tuple(row["entities"].split()),
        metadata=json.loads(row["metadata"]),
    )


def known_document_of(row: dict[str, Any]) -> KnownDocument:
    return KnownDocument(
        id=row["document_id"],
        title=row["title"],
        location=row["location"],
        format=row["format"],
        language=row["language"],
        passages=row["passages"],
        characters=row["end"],
        added=datetime.fromtimestamp(row["added"] / 1e9).astimezone(),
        metadata=json.loads(row["metadata"]),
    )


def hits_of(found: pa.Table, score: str) -> list[Hit]:
    """The vectors go straight to numpy: as Python numbers they would take longer than the search."""
    column = found["vector"].combine_chunks()
    vectors = column.values.to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)[column.offset :]
    others = found.drop_columns(["vector"]).to_pylist()
    return [
        Hit(passage_of(row), row[score], vector if present else None)
        for row, vector, present in zip(others, vectors, column.is_valid().to_pylist(), strict=False)
    ]
