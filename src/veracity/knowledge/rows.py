"""The rows of the LanceDB table: one for each document and one for each passage, so that both change in one commit.

A document's row holds the whole text, and neither words nor a vector, so no search returns it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from time import time_ns
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veracity.models import Hit, KnownDocument, Passage
from veracity.models.documents import MetadataValue

DOCUMENT, PASSAGE = "document", "passage"
CREATED = b"veracity-created"  # in the table's metadata
# What a search returns. Includes the vector, since passages found by words are also compared by meaning.
PASSAGE_COLUMNS = [
    "id", "document_id", "title", "location", "headings", "page", "start", "end", "language", "text", "entities",
    "metadata", "words", "vector",
]  # fmt: skip
DOCUMENT_COLUMNS = ["document_id", "title", "location", "format", "language", "passages", "end", "added", "metadata"]
FINGERPRINT_COLUMNS = ["document_id", "location", "size", "modified", "digest", "added", "checked"]
# A file modified this shortly before it was read may change again without a new timestamp.
UNCERTAIN_NANOSECONDS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Tells whether a file has changed. Times are in nanoseconds; `checked` is when the file was last read."""

    document_id: str
    location: str
    size: int
    modified: int
    digest: str
    added: int
    checked: int

    @property
    def is_certain(self) -> bool:
        """True if a change after `checked` would show in the file's timestamp."""
        return self.checked - self.modified > UNCERTAIN_NANOSECONDS

    def describes(self, location: str, size: int, modified: int) -> bool:
        return (location, size, modified) == (self.location, self.size, self.modified)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document that is ready to be stored. `prepared` is the reply of `prepare`."""

    fingerprint: Fingerprint
    prepared: dict[str, Any]
    metadata: dict[str, MetadataValue]

    @property
    def passages(self) -> list[dict[str, Any]]:
        passages: list[dict[str, Any]] = self.prepared["passages"]
        return passages

    def text_of(self, passage: dict[str, Any]) -> str:
        return str(self.prepared["text"])[passage["start"] : passage["end"]]


def schema(dimensions: int, recipe: dict[str, Any]) -> pa.Schema:
    """`recipe` says how the rows are made (embedder, passage size …). It is stored in the table's metadata."""
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


def with_creation_time(schema: pa.Schema) -> pa.Schema:
    return schema.with_metadata({**(schema.metadata or {}), CREATED: str(time_ns()).encode()})


def created_of(stored: pa.Schema) -> int:
    """When the table was created, in nanoseconds; 0 if that was not recorded."""
    return int((stored.metadata or {}).get(CREATED, 0))


def recipe_of(stored: pa.Schema) -> dict[str, Any]:
    return dict(json.loads((stored.metadata or {}).get(b"veracity", b"{}")))


def row_id(document_id: str, passage_key: str = "") -> str:
    """The id of a passage's row, or of the document's own row. They never clash: only the latter ends in a dot."""
    return f"{document_id}.{passage_key}"


def table_of(
    entries: Sequence[Entry], vectors: NDArray[np.float32], covered: NDArray[np.bool_], like: pa.Schema
) -> pa.Table:
    """The rows of the documents and their passages. `vectors` belong to the `covered` passages, in order."""
    passages = _passage_columns(entries)
    passages["vector"] = _vector_column(vectors, covered, like.field("vector").type)
    return pa.concat_tables([_table(_document_columns(entries), like), _table(passages, like)])


def _table(columns: dict[str, Any], like: pa.Schema) -> pa.Table:
    """Missing columns become null."""
    count = len(columns["id"])
    arrays = [
        pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in like
    ]
    return pa.Table.from_arrays(arrays, schema=like)


def _vector_column(vectors: NDArray[np.float32], present: NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Vectors with NaN or infinity become null."""
    full = np.zeros((len(present), kind.list_size), np.float32)
    full[present] = vectors
    usable = present & np.isfinite(full).all(axis=1)
    return pa.FixedSizeListArray.from_arrays(pa.array(full.ravel()), type=kind, mask=pa.array(~usable))


def _document_columns(entries: Sequence[Entry]) -> dict[str, Any]:
    fingerprints, replies = [entry.fingerprint for entry in entries], [entry.prepared for entry in entries]
    copied = ("title", "format", "language", "text", "markdown", "pages")
    return {
        "id": [row_id(fingerprint.document_id) for fingerprint in fingerprints],
        "kind": [DOCUMENT] * len(entries),
        "end": [len(reply["text"]) for reply in replies],
        "passages": [len(reply["passages"]) for reply in replies],
        "metadata": [json.dumps(entry.metadata) for entry in entries],
        **{name: [getattr(fingerprint, name) for fingerprint in fingerprints] for name in FINGERPRINT_COLUMNS},
        **{name: [reply[name] for reply in replies] for name in copied},
    }


def _passage_columns(entries: Sequence[Entry]) -> dict[str, Any]:
    pairs = [(entry, passage) for entry in entries for passage in entry.passages]
    metadata = [(json.dumps(entry.metadata), len(entry.passages)) for entry in entries]
    copied = ("language", "headings", "page", "start", "end", "words")
    return {
        "id": [row_id(entry.fingerprint.document_id, passage["key"]) for entry, passage in pairs],
        "kind": [PASSAGE] * len(pairs),
        "document_id": [entry.fingerprint.document_id for entry, _ in pairs],
        "title": [entry.prepared["title"] for entry, _ in pairs],
        "location": [entry.fingerprint.location for entry, _ in pairs],
        "text": [entry.text_of(passage) for entry, passage in pairs],
        "entities": [" ".join(passage["entities"]) for _, passage in pairs],
        "metadata": [text for text, count in metadata for _ in range(count)],
        **{name: [passage[name] for _, passage in pairs] for name in copied},
    }


def fingerprint_of(table: pa.Table) -> Fingerprint:
    """Of the one document in the table."""
    [row] = table.select([*FINGERPRINT_COLUMNS, "kind"]).filter(pc.field("kind") == DOCUMENT).to_pylist()
    return Fingerprint(**{name: row[name] for name in FINGERPRINT_COLUMNS})


def passage_of(row: dict[str, Any]) -> Passage:
    return Passage(
        **{
            name: row[name]
            for name in ("id", "text", "document_id", "title", "location", "page", "start", "end", "language")
        },
        headings=tuple(row["headings"] or ()),
        entities=tuple(row["entities"].split()),
        metadata=json.loads(row["metadata"]),
    )


def known_document_of(row: dict[str, Any]) -> KnownDocument:
    return KnownDocument(
        **{name: row[name] for name in ("title", "location", "format", "language", "passages")},
        id=row["document_id"],
        characters=row["end"],
        added=datetime.fromtimestamp(row["added"] / 1e9).astimezone(),
        metadata=json.loads(row["metadata"]),
    )


def hits_of(table: pa.Table, score: str) -> list[Hit]:
    """Vectors go straight to numpy: converting them to Python numbers takes longer than the search."""
    column = table["vector"].combine_chunks()
    vectors = column.values.to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)[column.offset :]
    others = table.drop_columns(["vector"]).to_pylist()
    return [
        Hit(passage_of(row), row[score], row["words"], vector if present else None)
        for row, vector, present in zip(others, vectors, column.is_valid().to_pylist(), strict=False)
    ]
