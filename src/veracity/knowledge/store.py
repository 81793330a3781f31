"""The LanceDB table of a workspace: stores documents and passages, searches by words, entities and vectors.

Every change is one commit, which readers see whole or not at all. Writers hold the lock of `library.py`.
"""

import hashlib
import json
import os.path
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import pyarrow as pa

from veracity.errors import BusyError, FullDiskError, KnowledgeError, OutdatedIndexError
from veracity.knowledge import rows
from veracity.knowledge.document_filter import sql_condition, sql_string
from veracity.knowledge.lance import FTS, HnswSq, MatchQuery, Table, lancedb
from veracity.knowledge.location import FolderLocation, Location, as_location
from veracity.knowledge.move_mark import require_here
from veracity.knowledge.purge import (
    MAX_CHEAP_ROWS,
    clear_rewrite_note,
    is_cleanup_due,
    is_purge_due,
    note_removal,
    note_rewrite,
)
from veracity.knowledge.rows import DOCUMENT, PASSAGE, Fingerprint
from veracity.models import Hit, KnownDocument

TABLE = "passages"
TABLE_FOLDER = f"{TABLE}.lance"
MAX_QUERY_WORDS = 200
MAX_IDS_PER_CONDITION = 1000
ON_MISSING_VECTOR: Literal["null"] = "null"  # the default raises

# Below these thresholds, maintenance costs more than it saves.
MIN_INDEXED_VECTORS = 10_000  # scanning fewer is about as fast as an index
MAX_UNINDEXED_ROWS = 256
MAX_SMALL_FRAGMENTS = 32
MAX_SUPERSEDED_VERSIONS = 64
# A search may still be reading a superseded version.
KEEP_VERSIONS_SECONDS = 600.0
CLOCK_TOLERANCE_SECONDS = 2.0  # between the time recorded in a version and the time of its file

# Words are tokenized before they are stored: the index only splits at spaces.
WORD_INDEX = FTS(
    base_tokenizer="whitespace",
    stem=False,
    remove_stop_words=False,
    lower_case=False,
    ascii_folding=False,
    max_token_length=None,
    with_position=False,
)
VECTOR_INDEX = HnswSq(distance_type="dot", m=16, ef_construction=100)

MAX_REASON_LENGTH = 200
# Source locations and wrappers in LanceDB's messages.
_NOISE = re.compile(r",? ?/\S+\.rs:\d+(:\d+)?.*|\blance error: |\bLanceError\(\w+\): |\bExternal error: ", re.S)
_NO_ROOM = re.compile(r"no space left|storage ?full|disk quota|os error (28|122)\b", re.I)
_REMEDIES = [
    (_NO_ROOM, "free some disk space."),
    (re.compile(r"permission denied|read-only file|os error (13|30)\b", re.I), "make it readable and writable."),
    (re.compile(r"too many open files|os error 24\b", re.I), "allow more open files (ulimit -n)."),
]
DEFAULT_REMEDY = "if it persists, restore the folder from a backup, or delete it and ingest again."


class Store:
    """`recipe` says how rows are made now. A folder is created with the first document."""

    def __init__(self, place: Path | Location, dimensions: int | Callable[[], int], recipe: dict[str, Any]) -> None:
        self._dimensions = dimensions
        self.location = as_location(place)
        self._recipe = recipe
        self._opened: Table | None = None
        self._own_version: int | None = None  # of the table after this store's last commit
        self._languages: tuple[object, frozenset[str]] = (None, frozenset())
        self._condition = ""  # SQL that every passage found must meet

    @cached_property
    def schema(self) -> pa.Schema:
        """Only needed for writing: a remote embedder has to be called to find its dimensions."""
        dimensions = self._dimensions if isinstance(self._dimensions, int) else self._dimensions()
        return rows.schema(dimensions, self._recipe)

    @property
    def version(self) -> tuple[int, int]:
        """Differs after every change, also when the table was deleted and created again."""
        with self._explain_errors():
            table = self._table
            return (0, 0) if table is None else (self._identity_of(table), int(table.version))

    def limited_to(self, patterns: Sequence[str]) -> Self:
        """The same store, but searches find only passages of documents that match a path or pattern."""
        limited = copy(self)
        limited._condition = sql_condition(patterns)
        return limited

    def has_document(self, pattern: str) -> bool:
        """Whether a document matches the path or pattern."""
        found = self._scan(["id"], _join(f"kind = '{DOCUMENT}'", sql_condition([pattern])), limit=1)
        return bool(found.num_rows)

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]:
        """The passages that contain any of the words, ranked by BM25."""
        return self._by_text("words", words, limit, language)

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]:
        """The passages that mention any of the names, ranked by BM25."""
        return self._by_text("entities", names, limit, None)

    def by_vector(self, vector: Any, limit: int) -> list[Hit]:
        """The passages with the nearest vectors. `score` is LanceDB's distance. None if the vectors are outdated."""
        if self.has_outdated_vectors:
            return []

        def query(table: Any) -> Any:
            return table.search(vector, vector_column_name="vector").distance_type("dot")

        return self._hits(query, limit, "_distance")

    def by_ids(self, ids: Sequence[str]) -> list[Hit]:
        """The passages with these ids that still exist. `score` is 0."""
        wanted = list(dict.fromkeys(ids))[:MAX_IDS_PER_CONDITION]
        if not wanted:
            return []
        self._searchable()
        condition = _join(f"id IN ({_sql_list(wanted)}) AND kind = '{PASSAGE}'", self._condition)
        table = self._scan(list(rows.PASSAGE_COLUMNS), condition)
        found = rows.hits_of(table.append_column("_score", pa.array([0.0] * table.num_rows)), "_score")
        return self._without_outdated_vectors(found)

    def words(self) -> pa.ChunkedArray:
        """The search words of each passage, separated by spaces."""
        return self._scan(["words"], f"kind = '{PASSAGE}'")["words"]

    def languages(self) -> frozenset[str]:
        """The languages of the documents."""
        version = self.version
        if self._languages[0] != version:
            self._languages = version, frozenset(self._scan(["language"])["language"].unique().to_pylist())
        return self._languages[1]

    def documents(self, patterns: Sequence[str] = ()) -> list[KnownDocument]:
        """All documents, or those that match a path or pattern, ordered by location, then id."""
        where = _join(f"kind = '{DOCUMENT}'", sql_condition(patterns))
        documents = [rows.known_document_of(row) for row in self._scan(rows.DOCUMENT_COLUMNS, where).to_pylist()]
        return sorted(documents, key=lambda document: (document.location, document.id))

    def document(self, document_id: str) -> KnownDocument | None:
        row = self._document_row(document_id, rows.DOCUMENT_COLUMNS)
        return rows.known_document_of(row) if row else None

    def fingerprints(self) -> list[Fingerprint]:
        return [Fingerprint(**row) for row in self._scan(rows.FINGERPRINT_COLUMNS).to_pylist()]

    def fingerprint(self, document_id: str) -> Fingerprint | None:
        row = self._document_row(document_id, rows.FINGERPRINT_COLUMNS)
        return Fingerprint(**row) if row else None

    def content_hash(self) -> str:
        """Of the names and contents of all documents. Equal for copies of them in another folder."""
        documents = self.fingerprints()
        places = [Path(document.location) for document in documents]
        folders = [str(place.parent) for place in places if place.is_absolute()]
        common = os.path.commonpath(folders) if folders else ""
        contents = sorted(
            (
                document.location.removeprefix(common) or document.document_id,
                document.digest or _hash(self.text(document.document_id) or ""),
            )
            for document in documents
        )
        return _hash(json.dumps(contents))

    def text(self, document_id: str) -> str | None:
        """The whole text of a document. Offsets of passages refer to it."""
        row = self._document_row(document_id, ["text"])
        return str(row["text"]) if row else None

    def text_hash(self, document_id: str) -> str:
        """Differs after a change of the document. Empty if there is none."""
        row = self._document_row(document_id, ["digest"])
        return "" if row is None else str(row["digest"] or "") or _hash(self.text(document_id) or "")

    def page_starts(self, document_id: str) -> list[int]:
        """The offset of each page in the document's text; empty if its source has no pages."""
        row = self._document_row(document_id, ["pages"])
        return list(row["pages"] or []) if row else []

    def is_markdown(self, document_id: str) -> bool:
        row = self._document_row(document_id, ["markdown"])
        return bool(row and row["markdown"])

    def document_rows(self, batch: int = 64) -> Iterator[dict[str, Any]]:
        """The complete rows of all documents, with their texts, from the version at the first call."""
        with self._explain_errors():
            table = self._table
            if table is not None:
                for some in table.search().where(f"kind = '{DOCUMENT}'").to_batches(batch_size=batch):
                    yield from some.drop_columns(["vector"]).to_pylist()

    def fence(self) -> None:
        """Call it under the writer lock, before reading what the next commits rely on.

        In a shared location, a commit of a writer that was killed may still be under way. This makes an empty commit:
        afterwards the object store refuses the other one, because its version exists.
        """
        if self.location.is_shared:
            with self._explain_errors():
                table = self._table
                self._own_version = None if table is None else table.delete("false").version

    def replace(self, table: pa.Table, known: Iterable[str]) -> None:
        """Write the rows, and delete all other rows of the `known` documents, in one commit."""
        self.require_same_recipe()
        replaced = _sql_list(known)
        with self._explain_errors():
            existing = self._table
            target = self._create() if existing is None else existing  # an empty table is falsy
            self._require_only_writer(target)
            if not replaced:
                self._own_version = target.add(table, on_bad_vectors=ON_MISSING_VECTOR).version
                return
            self._own_version = (
                target.merge_insert("id")
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .when_not_matched_by_source_delete(f"document_id IN ({replaced})")
                .execute(table, on_bad_vectors=ON_MISSING_VECTOR)
                .version
            )

    def confirm(self, fingerprints: Sequence[Fingerprint]) -> None:
        """Record that these files were read and have not changed, so the next run need not read them."""
        with self._explain_errors():
            table = self._table
            if table is None or not fingerprints:
                return
            columns: dict[str, list[Any]] = {
                name: [getattr(fingerprint, name) for fingerprint in fingerprints]
                for name in ("size", "modified", "checked")
            }
            columns["id"] = [rows.row_id(fingerprint.document_id) for fingerprint in fingerprints]
            self._own_version = table.merge_insert("id").when_matched_update_all().execute(pa.table(columns)).version

    def rebuild(self, tables: Iterator[pa.Table]) -> None:
        """Replace all rows in one commit. Until then the old rows stay."""
        failures: list[BaseException] = []

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for table in tables:
                    yield from table.to_batches()
            except BaseException as problem:
                failures.append(problem)
                raise

        try:
            with self._explain_errors():
                reader = pa.RecordBatchReader.from_batches(self.schema, batches())
                self._opened = self._connect().create_table(
                    TABLE, reader, schema=self._new_schema(), mode="overwrite", on_bad_vectors=ON_MISSING_VECTOR
                )
        except KnowledgeError:
            if failures:  # LanceDB replaces it by an error of its own
                raise failures[0] from None
            raise

    def forget(self, document_ids: Sequence[str]) -> None:
        with self._explain_errors():
            table = self._table
            if table is not None and document_ids:
                note_removal(self.location)
                for start in range(0, len(document_ids), MAX_IDS_PER_CONDITION):
                    ids = document_ids[start : start + MAX_IDS_PER_CONDITION]
                    self._own_version = table.delete(f"document_id IN ({_sql_list(ids)})").version

    def maintain(self, purge: bool = False) -> None:
        """Update the indexes and compact the table if it pays. With `purge`, delete all earlier versions from disk.

        Removes documents from the disk that were forgotten a while ago, unless the table is large (see `purge`).
        """
        with self._explain_errors():
            table = self._table
            if table is None:
                return
            if not purge and is_purge_due(self.location) and table.count_rows() <= MAX_CHEAP_ROWS:
                self.purge()
                return
            compact(table, self.location, purge)
            if purge:
                note_rewrite(self.location)

    def purge(self) -> None:
        """Rewrite the table without the rows that were deleted, and delete all earlier versions from disk.

        In a shared location the versions are deleted by a later call, when no search on another machine reads them.
        """
        with self._explain_errors():
            table = self._table
            if table is None:
                return
            if is_cleanup_due(self.location):
                compact(table, self.location, purge=True)
                clear_rewrite_note(self.location)
                if not is_purge_due(self.location):
                    return
            reader = pa.RecordBatchReader.from_batches(table.schema, table.search().to_batches())
            self._opened = self._connect().create_table(
                TABLE, reader, schema=table.schema, mode="overwrite", on_bad_vectors=ON_MISSING_VECTOR
            )
        self.maintain(purge=True)

    def require_readable(self) -> None:
        """Raise KnowledgeError if the documents cannot be read now."""
        self._scan(["id"], limit=1)

    def require_complete(self) -> None:
        """Read every row and use every index. Raises KnowledgeError if a part of the table is missing."""
        with self._explain_errors():
            table = self._table
            if table is not None:
                read_all(table)

    def stored_embedder(self) -> tuple[str, int] | None:
        """The name and dimensions of the embedder that made the stored vectors; None if nothing is stored."""
        with self._explain_errors():
            table = self._table
            stored = None if table is None else table.schema
        return None if stored is None else (rows.recipe_of(stored)["embedder"], stored.field("vector").type.list_size)

    @property
    def has_outdated_vectors(self) -> bool:
        """Whether another embedder made the stored vectors. Until the documents are reindexed, they are found by their
        words alone."""
        stored = self.stored_embedder()
        return stored is not None and stored[0] != self._recipe["embedder"]

    def require_same_recipe(self) -> None:
        """Raise OutdatedIndexError if the rows were made with other settings."""
        self._require(self._recipe)

    def _searchable(self) -> Table | None:
        """Search by words needs no vectors, so the embedder may be another one."""
        return self._require({name: value for name, value in self._recipe.items() if name != "embedder"})

    def _require(self, recipe: dict[str, Any]) -> Table | None:
        with self._explain_errors():
            table = self._table
            stored = recipe if table is None else rows.recipe_of(table.schema)
        if changed := [name for name in recipe if stored.get(name) != recipe[name]]:
            differences = " and ".join(f"{name} {stored.get(name)}, not {recipe[name]}" for name in changed)
            raise OutdatedIndexError(
                f'The documents in "{self.location}" were indexed with {differences}: run "veracity reindex", '
                "or restore the previous settings."
            )
        return table

    def _without_outdated_vectors(self, hits: list[Hit]) -> list[Hit]:
        return [replace(hit, vector=None) for hit in hits] if self.has_outdated_vectors else hits

    @property
    def _table(self) -> Table | None:
        """None if nothing was stored yet, or if the folder was deleted."""
        if self.location.lacks(TABLE_FOLDER):
            self._opened = None
        elif self._opened is None:
            self._opened = self._open()
        return self._opened

    def _identity_of(self, table: Table) -> int:
        """Differs for a table that was deleted and created again."""
        if isinstance(self.location, FolderLocation):
            return (self.location.folder / TABLE_FOLDER).stat().st_ctime_ns
        return rows.created_of(table.schema)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            with explain_errors(self.location):
                yield
        except KnowledgeError:
            if self.location.is_shared:  # the table may have been deleted and created again; a folder shows that itself
                self._opened = None
            raise

    def _open(self) -> Table | None:
        try:
            return self._connect().open_table(TABLE)
        except ValueError:  # not found: another process has created the folder, but not yet the table
            if any(file.name.endswith(".lance") for file in self.location.files(TABLE_FOLDER)):
                raise
            return None

    def _create(self) -> Table:
        """Creates the indexes too, so that the first words are tokenized like all others."""
        # In a shared location, a writer that was killed may have created it a moment ago.
        self._opened = self._connect().create_table(TABLE, schema=self._new_schema(), exist_ok=self.location.is_shared)
        create_indexes(self._opened)
        return self._opened

    def _require_only_writer(self, table: Table) -> None:
        """Raise BusyError if another process has changed a shared table since the last commit of this one.

        Then this process has lost its lock, for example because it was suspended, and what it has read is outdated.
        """
        if self.location.is_shared and self._own_version is not None and self._own_version != int(table.version):
            raise BusyError(
                f'The documents in "{self.location}" are being changed by another process: try again when that has '
                "finished."
            )

    def _new_schema(self) -> pa.Schema:
        """A folder shows by itself when it was created."""
        return rows.with_creation_time(self.schema) if self.location.is_shared else self.schema

    def _connect(self) -> lancedb.DBConnection:
        """Called late, because it creates the folder. The interval 0 makes every query look for a new version."""
        place = self.location
        place.open()
        require_here(place, "knowledge")
        return lancedb.connect(place.uri, read_consistency_interval=timedelta(0), storage_options=place.storage_options)

    def _by_text(self, column: str, words: Sequence[str], limit: int, language: str | None) -> list[Hit]:
        wanted = list(dict.fromkeys(words))[:MAX_QUERY_WORDS]
        if not wanted:
            self._searchable()
            return []
        match = MatchQuery(" ".join(wanted), column)  # type: ignore[call-arg]  # the others have defaults

        def query(table: Any) -> Any:
            return table.search(match, query_type="fts")

        return self._hits(query, limit, "_score", f"language = {sql_string(language)}" if language else "")

    def _hits(self, query: Callable[[Table], Any], limit: int, score: str, condition: str = "") -> list[Hit]:
        """Retries once, since another process may delete the version that is being read."""
        condition = _join(condition, self._condition)

        def run() -> list[Hit]:
            table = self._searchable()
            if table is None:
                return []
            search = query(table).limit(limit).select([*rows.PASSAGE_COLUMNS, score])
            found = search.where(condition, prefilter=True) if condition else search
            return self._without_outdated_vectors(rows.hits_of(found.to_arrow(), score))

        try:
            return run()
        except (OSError, RuntimeError, ValueError):
            self._opened = None
            with self._explain_errors():
                return run()

    def _document_row(self, document_id: str, columns: list[str]) -> dict[str, Any] | None:
        return next(iter(self._scan(columns, f"id = {sql_string(rows.row_id(document_id))}").to_pylist()), None)

    def _scan(self, columns: list[str], where: str = f"kind = '{DOCUMENT}'", limit: int | None = None) -> pa.Table:
        with self._explain_errors():
            table = self._table
            if table is None:
                return rows.schema(1, {}).empty_table().select(columns)
            return table.search().where(where).select(columns).limit(limit).to_arrow()


def read_all(table: Table) -> None:
    """Read every row and use every index."""
    for _ in table.search().to_batches(batch_size=1000):
        pass
    for index in table.list_indices():
        column = index.columns[0]
        query: Any = MatchQuery("a", column)  # type: ignore[call-arg]  # the others have defaults
        if column == "vector":
            query = [0.0] * table.schema.field(column).type.list_size
        table.search(query, query_type="vector" if column == "vector" else "fts").limit(1).to_arrow()


def compact(table: Table, location: Location, purge: bool = False) -> None:
    """Create missing indexes, merge small fragments and delete old versions.

    With `purge`, the old versions in a folder are deleted at once: a search that is reading one retries.
    """
    create_indexes(table)
    # Unreferenced files in a folder were left by a crash, because the lock file excludes other writers. In a shared
    # location they may belong to a writer on another machine that has lost its lock: LanceDB keeps them for 7 days.
    is_alone = not location.is_shared
    if purge and is_alone:
        table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)
        return
    versions = sorted(file.modified for file in location.files(f"{TABLE_FOLDER}/_versions"))
    if purge or _needs_compaction(table) or _superseded(versions) >= MAX_SUPERSEDED_VERSIONS:
        table.optimize(cleanup_older_than=_age_to_delete(versions), delete_unverified=is_alone)


def create_indexes(table: Table) -> None:
    """Create the missing indexes. The word indexes cost nothing on an empty table."""
    indexed = {index.columns[0] for index in table.list_indices()}
    for column in ("words", "entities"):
        if column not in indexed:
            table.create_index(column, config=WORD_INDEX)
    if "vector" not in indexed and table.count_rows("vector IS NOT NULL") >= MIN_INDEXED_VECTORS:
        table.create_index("vector", config=VECTOR_INDEX)


def _needs_compaction(table: Table) -> bool:
    unindexed = max((index.num_unindexed_rows or 0 for index in table.list_indices()), default=0)
    statistics: Any = table.stats()
    fragments: int = statistics["fragment_stats"]["num_small_fragments"]
    return unindexed > MAX_UNINDEXED_ROWS or fragments > MAX_SMALL_FRAGMENTS


def _superseded(versions: list[float]) -> int:
    """How many versions were superseded so long ago that no search reads them."""
    return max(0, sum(written <= time.time() - KEEP_VERSIONS_SECONDS for written in versions) - 1)


def _age_to_delete(versions: list[float]) -> timedelta:
    """The version that was current when the keep period began may still be read, however old it is."""
    now = time.time()
    oldest = now - KEEP_VERSIONS_SECONDS
    current = max((written for written in versions if written <= oldest), default=oldest)
    return timedelta(seconds=max(0.001, now - current + CLOCK_TOLERANCE_SECONDS))


@contextmanager
def explain_errors(location: Location) -> Iterator[None]:
    """Turn LanceDB's errors into KnowledgeError with a reason and a remedy."""
    try:
        yield
    except (RuntimeError, OSError, ValueError, pa.ArrowException) as problem:
        kind = FullDiskError if _NO_ROOM.search(str(problem)) else KnowledgeError
        raise kind(_sentence(location, problem)) from problem
    except BaseException as problem:
        if type(problem).__name__ == "PanicException":  # LanceDB's Rust panics do not derive from Exception
            raise KnowledgeError(_sentence(location, problem)) from None
        raise


def _sentence(location: Location, problem: BaseException) -> str:
    if sentence := location.explain(problem):
        return sentence
    text = " ".join(str(problem).split())
    reason = _NOISE.sub("", text)[:MAX_REASON_LENGTH].strip(" ,.:") or type(problem).__name__
    remedy = next((remedy for pattern, remedy in _REMEDIES if pattern.search(text)), DEFAULT_REMEDY)
    return f'The documents in "{location}" cannot be used ({reason}): {remedy}'


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _sql_list(texts: Iterable[str]) -> str:
    return ", ".join(map(sql_string, texts))


def _join(*conditions: str) -> str:
    return " AND ".join(f"({condition})" for condition in conditions if condition)
