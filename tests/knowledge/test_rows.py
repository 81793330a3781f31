"""Documents and passages as rows, and back."""

import json
from typing import Any

import numpy as np
import pyarrow as pa

from veracity.knowledge import rows
from veracity.knowledge.rows import Entry, Fingerprint
from veracity.models.documents import MetadataValue

TEXT = "Dublin. 上海办公室。大阪の社員。"
METADATA: dict[str, MetadataValue] = {
    "部門": "営業\ud800😀",
    "pages": 3,
    "share": 0.5,
    "draft": True,
    "quote": "a'\"\\",
}


def prepared(*spans: tuple[int, int], **changes: Any) -> dict[str, Any]:
    passages = [
        {"key": f"m{start}", "start": start, "end": end, "headings": ["休暇", "Leave"], "page": None,
         "language": "en", "words": f"w{start}", "entities": ["大阪", "dublin"]}
        for start, end in spans
    ]  # fmt: skip
    fields = {"text": TEXT, "title": "規程", "format": "text", "pages": [0, 9], "markdown": True, "digest": "d"}
    return {**fields, "language": "ja", "passages": passages, **changes}


def entry(name: str, *spans: tuple[int, int]) -> Entry:
    return Entry(Fingerprint(name, "/f/規程.md", 5, 6, "d", 7_000_000_000, 8), prepared(*spans), METADATA)


def table(*entries: Entry, vectors: Any, covered: list[bool], dimensions: int = 2) -> pa.Table:
    filled = np.array(vectors, np.float32).reshape(-1, dimensions)
    return rows.table_of(entries, filled, np.array(covered, bool), rows.schema(dimensions, {"embedder": "x"}))


def test_a_document_and_its_passages_round_trip() -> None:
    made = table(entry("a", (0, 7), (8, 14)), vectors=[[1, 0], [0, 1]], covered=[True, True])
    document, *passages = made.to_pylist()
    assert document["text"] == TEXT
    assert (document["words"], document["vector"], document["entities"]) == (None, None, None)
    known = rows.known_document_of(document)
    assert (known.id, known.title, known.passages, known.characters) == ("a", "規程", 2, len(TEXT))
    assert known.metadata == METADATA
    assert known.added.timestamp() == 7
    assert Fingerprint(**{name: document[name] for name in rows.FINGERPRINT_COLUMNS}) == entry("a").fingerprint
    first = rows.passage_of(passages[0])
    assert (first.text, first.headings, first.entities) == (TEXT[:7], ("休暇", "Leave"), ("大阪", "dublin"))
    assert first.metadata == METADATA
    assert [row["id"] for row in passages] == ["a.m0", "a.m8"]


def test_vectors_belong_to_covered_passages() -> None:
    made = table(entry("a", (0, 7), (8, 14)), entry("b", (0, 7)), vectors=[[1, 0], [0, 1]], covered=[False, True, True])
    passages = made.append_column("_score", pa.array([0.0] * 5)).slice(2)
    hits = rows.hits_of(passages, "_score")
    assert [None if hit.vector is None else hit.vector.tolist() for hit in hits] == [None, [1, 0], [0, 1]]


def test_non_finite_vectors_become_null() -> None:
    made = table(entry("a", (0, 7), (8, 14)), vectors=[[np.nan, 0], [np.inf, 1]], covered=[True, True])
    assert made["vector"].to_pylist() == [None] * 3


def test_row_ids_of_documents_and_passages_never_clash() -> None:
    made = table(entry("a", (0, 7)), entry("a.m0", (0, 7)), vectors=[], covered=[False, False])
    assert len(set(made["id"].to_pylist())) == 4


def test_no_entries_make_no_rows() -> None:
    made = table(vectors=[], covered=[])
    assert made.num_rows == 0
    assert rows.hits_of(made.append_column("_score", pa.array([], pa.float32())), "_score") == []
    assert table(entry("a"), vectors=[], covered=[]).num_rows == 1


def test_the_recipe_is_stored_in_the_schema() -> None:
    recipe = {"embedder": "ベクトル", "format": 1}
    assert rows.recipe_of(rows.schema(4, recipe)) == recipe
    assert rows.recipe_of(pa.schema([])) == {}
    assert rows.schema(4, recipe).field("vector").type.list_size == 4


def test_a_recent_modification_is_uncertain() -> None:
    def fingerprint(modified: int) -> Fingerprint:
        return Fingerprint("a", "/f", 1, modified, "", 0, 10_000_000_000)

    assert fingerprint(7_000_000_000).is_certain
    assert not fingerprint(9_000_000_000).is_certain
    assert not fingerprint(99_000_000_000).is_certain


def test_metadata_is_plain_ascii() -> None:
    (row,) = table(entry("a"), vectors=[], covered=[]).to_pylist()
    assert row["metadata"].isascii()
    assert json.loads(row["metadata"]) == METADATA
