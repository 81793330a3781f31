"""How documents and passages stand in the table: one row each, so that a document and its passages are one commit.

A document's row holds its whole text and no words or vector, so no search finds it. Knows nothing about the database.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    "metadata", "words", "vector",
]  # fmt: skip
DOCUMENT_COLUMNS = ["document_id", "title", "location", "format", "language", "passages", "end", "added", "metadata"]
FINGERPRINT_COLUMNS = ["document_id", "location", "size", "modified", "digest", "added", "checked"]
# A file changed this shortly before it was read may have been changed once more at the "same" time: nanoseconds.
UNCERTAIN = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """By what a document is known to be unchanged. `checked` is when its file was last read; nanoseconds, all times."""

    document_id: str
    location: str
    size: int
    modified: int
    digest: str
    added: int
    checked: int

    @property
    def is_certain(self) -> bool:
        """Would a change after `checked` show in the time of the file?"""
        return self.checked - self.modified > UNCERTAIN


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
        "checked": pa.int64(),
    }
    return pa.schema(list(fields.items()), metadata={b"veracity": json.dumps(recipe).encode()})


def recipe_of(found: pa.Schema) -> dict[str, Any]:
    recipe: dict[str, Any] = json.loads((found.metadata or {}).get(b"veracity", b"{}"))
    return recipe


def row_id(document_id: str, mark: str = "") -> str:
    """Of a passage, or of the document itself: different even where a document is called like another's passage."""
    return f"{document_id}.{mark}"


def table_of(
    entries: Sequence[Entry], vectors: NDArray[np.float32], covered: NDArray[np.bool_], like: pa.Schema
) -> pa.Table:
    """The rows of documents and their passages. `vectors` are those of the passages that are `covered`, in order."""
    passages = _passages(entries)
    passages["vector"] = _vector_column(vectors, covered, like.field("vector").type)
    return pa.concat_tables([_table(_documents(entries), like), _table(passages, like)])


def _table(columns: dict[str, Any], like: pa.Schema) -> pa.Table:
    """With nothing in the columns that are not given."""
    count = len(columns["id"])
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in like
    ]
    return pa.Table.from_arrays(arrays, schema=like)


def _vector_column(vectors: NDArray[np.float32], present: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """A vector that holds anything but numbers is as good as none."""
    full = np.zeros((len(present), kind.list_size), np.float32)
    full[present] = vectors
    usable = present & np.isfinite(full).all(axis=1)
    return pa.FixedSizeListArray.from_arrays(pa.array(full.ravel()), type=kind, mask=pa.array(~usable))


def _documents(entries: Sequence[Entry]) -> dict[str, Any]:
    marks, prepared = [entry.fingerprint for entry in entries], [entry.prepared for entry in entries]
    told = ("title", "format", "language", "text", "markdown", "pages")
    return {
        "id": [row_id(mark.document_id) for mark in marks],
        "kind": [DOCUMENT] * len(entries),
        "end": [len(one["text"]) for one in prepared],
        "passages": [len(one["passages"]) for one in prepared],
        "metadata": [json.dumps(entry.metadata) for entry in entries],
        **{name: [getattr(mark, name) for mark in marks] for name in FINGERPRINT_COLUMNS},
        **{name: [one[name] for one in prepared] for name in told},
    }


def _passages(entries: Sequence[Entry]) -> dict[str, Any]:
    pairs = [(entry, passage) for entry in entries for passage in entry.passages]
    metadata = [(json.dumps(entry.metadata), len(entry.passages)) for entry in entries]
    told = ("language", "headings", "page", "start", "end", "words")
    return {
        "id": [row_id(entry.fingerprint.document_id, passage["mark"]) for entry, passage in pairs],
        "kind": [PASSAGE] * len(pairs),
        "document_id": [entry.fingerprint.document_id for entry, _ in pairs],
        "title": [entry.prepared["title"] for entry, _ in pairs],
        "location": [entry.fingerprint.location for entry, _ in pairs],
        "text": [entry.text_of(passage) for entry, passage in pairs],
        "entities": [" ".join(passage["entities"]) for _, passage in pairs],
        "metadata": [text for text, count in metadata for _ in range(count)],
        **{name: [passage[name] for _, passage in pairs] for name in told},
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
        Hit(passage_of(row), row[score], row["words"], vector if present else None)
        for row, vector, present in zip(others, vectors, column.is_valid().to_pylist(), strict=False)
    ]
