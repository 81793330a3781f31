"""The documents of a workspace in LanceDB: one table, searched by words, by names and by vectors.

Every change is one commit, which readers see whole or not at all; who writes holds the lock (`locking`). Knows nothing
about files, how texts are cut, or what makes a passage a good one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import lancedb
import pyarrow as pa
from lancedb.query import LanceQueryBuilder, MatchQuery

from veracity.errors import KnowledgeError, OutdatedIndexError
from veracity.knowledge import rows, upkeep
from veracity.knowledge.rows import DOCUMENT, Fingerprint
from veracity.models import Hit, KnownDocument

TABLE = "passages"
MOST_WORDS = 200  # of a query; one with more is a document


class Store:
    """`location` is a folder, or the address of one in an object store. `recipe` tells how rows are made now."""

    def __init__(self, location: str, dimensions: int, recipe: dict[str, Any]) -> None:
        self._location = location
        self.schema = rows.schema(dimensions, recipe)
        self._recipe = recipe
        self._languages: tuple[int, frozenset[str]] = (-1, frozenset())
        with _told(location):
            self._database = lancedb.connect(location, read_consistency_interval=timedelta(0))
            self._table = self._database.open_table(TABLE) if self._exists() else None

    @property
    def version(self) -> int:
        """Another number after every change."""
        with _told(self._location):
            return 0 if self._table is None else int(self._table.version)

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]:
        """The passages that hold the words, by BM25."""
        return self._by_text("words", words, limit, language)

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]:
        """The passages that hold the names, those with rare ones first."""
        return self._by_text("entities", names, limit, None)

    def by_vector(self, vector: Any, limit: int) -> list[Hit]:
        """The passages nearest in meaning. `score` is 0: the caller has the vectors."""
        if self._table is None:
            return []
        query = self._table.search(vector, vector_column_name="vector").distance_type("dot")
        return self._hits(query, limit, "_distance")

    def languages(self) -> frozenset[str]:
        """Those of the documents."""
        version = self.version
        if self._languages[0] != version:
            self._languages = version, frozenset(self._scan(["language"])["language"].unique().to_pylist())
        return self._languages[1]

    def documents(self) -> list[KnownDocument]:
        """In the order of their locations, then ids."""
        found = [rows.known_document_of(row) for row in self._scan(rows.DOCUMENT_COLUMNS).to_pylist()]
        return sorted(found, key=lambda document: (document.location, document.id))

    def fingerprints(self) -> list[Fingerprint]:
        return [Fingerprint(**row) for row in self._scan(rows.FINGERPRINT_COLUMNS).to_pylist()]

    def text(self, document_id: str) -> str | None:
        """The whole text of a document, into which the offsets of its passages point."""
        found = self._scan(["text"], f"id = {_quoted(document_id)}")
        return str(found["text"][0]) if found.num_rows else None

    def bodies(self, batch: int = 64) -> Iterator[dict[str, Any]]:
        """All there is to know of each document, its whole text included, as it was when the first one is taken."""
        if self._table is not None:
            query = self._table.search().where(f"kind = '{DOCUMENT}'")
            for some in query.to_batches(batch_size=batch):
                yield from some.to_pylist()

    def replace(self, table: pa.Table, known: Iterable[str]) -> None:
        """Write the rows. Of the documents that are `known`, everything that was there before goes: in one commit."""
        self.require_same_recipe()
        gone = ", ".join(_quoted(one) for one in known)
        with _told(self._location):
            if self._table is None:
                self._table = self._database.create_table(TABLE, schema=self.schema)
            if not gone:
                self._table.add(table, on_bad_vectors="null")
                return
            (
                self._table.merge_insert("id")
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .when_not_matched_by_source_delete(f"document_id IN ({gone})")
                .execute(table, on_bad_vectors="null")
            )

    def rebuild(self, tables: Iterator[pa.Table]) -> None:
        """Write everything anew, in one commit at the end. Until then the old rows stay."""
        batches = (batch for table in tables for batch in table.to_batches())
        with _told(self._location):
            reader = pa.RecordBatchReader.from_batches(self.schema, batches)
            self._table = self._database.create_table(TABLE, reader, schema=self.schema, mode="overwrite",
                                                      on_bad_vectors="null")  # fmt: skip

    def forget(self, document_ids: Iterable[str]) -> None:
        gone = ", ".join(_quoted(one) for one in document_ids)
        if self._table is not None and gone:
            with _told(self._location):
                self._table.delete(f"document_id IN ({gone})")

    def maintain(self) -> None:
        """Bring the indexes up to date where that pays."""
        if self._table is not None:
            with _told(self._location):
                upkeep.maintain(self._table)

    def require_same_recipe(self) -> None:
        """Raise unless the rows were made as rows are made now."""
        if self._table is None:
            return
        made = rows.recipe_of(self._table.schema)
        if made == self._recipe:
            return
        changed = [name for name in self._recipe if made.get(name) != self._recipe[name]]
        told = " and ".join(f"{name} {made.get(name)}, not {self._recipe[name]}" for name in changed)
        raise OutdatedIndexError(
            f'The documents in "{self._location}" were indexed with {told}: run "veracity reindex", '
            "or set back what was changed."
        )

    def _exists(self) -> bool:
        return TABLE in self._database.list_tables().tables

    def _by_text(self, column: str, words: Sequence[str], limit: int, language: str | None) -> list[Hit]:
        wanted = list(dict.fromkeys(words))[:MOST_WORDS]
        if self._table is None or not wanted:
            return []
        query = self._table.search(MatchQuery(" ".join(wanted), column), query_type="fts")
        if language:
            query = query.where(f"language = {_quoted(language)}", prefilter=True)
        return self._hits(query, limit, "_score")

    def _hits(self, query: LanceQueryBuilder, limit: int, score: str) -> list[Hit]:
        self.require_same_recipe()
        with _told(self._location):
            found = query.limit(limit).select([*rows.PASSAGE_COLUMNS, score]).to_arrow()
        return rows.hits_of(found, score)

    def _scan(self, columns: list[str], where: str = f"kind = '{DOCUMENT}'") -> pa.Table:
        if self._table is None:
            return pa.table({name: [] for name in columns})
        with _told(self._location):
            return self._table.search().where(where).select(columns).limit(None).to_arrow()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextmanager
def _told(location: str) -> Iterator[None]:
    """What the database complains about, as one sentence of ours."""
    try:
        yield
    except (RuntimeError, OSError, ValueError, pa.ArrowException) as problem:
        reason = " ".join(str(problem).split())[:300]
        raise KnowledgeError(f'The documents in "{location}" cannot be used: {reason}') from problem
