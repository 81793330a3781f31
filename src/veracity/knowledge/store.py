"""The documents of a workspace in LanceDB: one table, searched by words, by names and by vectors.

Every change is one commit, which readers see whole or not at all; who writes holds the lock (`locking`). A store that
was opened before there was a table sees it as soon as it is there. Knows nothing about files, how texts are cut, or
what makes a passage a good one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from veracity.errors import KnowledgeError, OutdatedIndexError
from veracity.knowledge import rows
from veracity.knowledge.lance import FTS, HnswSq, MatchQuery, Table, lancedb
from veracity.knowledge.rows import DOCUMENT, PASSAGE, Fingerprint
from veracity.models import Hit, KnownDocument

LONGEST = 200
# What follows is for who writes the database: its source files, and words around the reason.
_NOISE = re.compile(r",? ?/\S+\.rs:\d+(:\d+)?.*|\blance error: |\bLanceError\(\w+\): |\bExternal error: ", re.S)
_REMEDIES = [
    (re.compile(r"no space left|storage ?full|disk quota|os error (28|122)\b", re.I), "make room on the disk."),
    (
        re.compile(r"permission denied|read-only file|os error (13|30)\b", re.I),
        "make it readable and writable.",
    ),
    (re.compile(r"too many open files|os error 24\b", re.I), "allow more open files (ulimit -n)."),
]
OTHERWISE = "if it stays so, bring the folder back from a backup, or remove it and ingest again."


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, OSError, ValueError, pa.ArrowException) as problem:
        raise KnowledgeError(_sentence(folder, problem)) from problem
    except BaseException as problem:
        if type(problem).__name__ == "PanicException":  # of the database; it is no Exception
            raise KnowledgeError(_sentence(folder, problem)) from None
        raise


def _sentence(folder: Path, problem: BaseException) -> str:
    text = " ".join(str(problem).split())
    reason = _NOISE.sub("", text)[:LONGEST].strip(" ,.:") or type(problem).__name__
    remedy = next((told for sign, told in _REMEDIES if sign.search(text)), OTHERWISE)
    return f'The documents in "{folder}" cannot be used ({reason}): {remedy}'


# Looking through so many vectors one by one takes about as long as an index does.
VECTORS_WORTH_AN_INDEX = 10_000
ROWS_WORTH_INDEXING = 256
COMMITS_WORTH_MERGING = 32
VERSIONS_WORTH_REMOVING = 64
# A reader may be in the midst of a search: what is superseded stays for so many seconds.
KEPT = 600.0
LEEWAY = 2.0  # seconds between the time in a version and the time of its file, at most

# The words come to the database as we cut them: all it does is split at spaces.
WORDS = FTS(
    base_tokenizer="whitespace",
    stem=False,
    remove_stop_words=False,
    lower_case=False,
    ascii_folding=False,
    max_token_length=None,
    with_position=False,
)
VECTORS = HnswSq(distance_type="dot", m=16, ef_construction=100)


def maintain(table: Table, folder: Path, purge: bool = False) -> None:
    """`folder` is where the table is."""
    create_indexes(table)
    if purge:  # a reader in the midst of a search begins again
        table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)
        return
    versions = _written(folder)
    if _is_due(table) or _superseded(versions) >= VERSIONS_WORTH_REMOVING:
        # No one else writes, so what belongs to no version was left behind by someone who was killed.
        table.optimize(cleanup_older_than=_age_to_remove(versions), delete_unverified=True)


def create_indexes(table: Table) -> None:
    """Those that are missing, where they pay. On an empty table they cost nothing."""
    there = {index.columns[0] for index in table.list_indices()}
    for column in ("words", "entities"):
        if column not in there:
            table.create_index(column, config=WORDS)
    if "vector" not in there and table.count_rows("vector IS NOT NULL") >= VECTORS_WORTH_AN_INDEX:
        table.create_index("vector", config=VECTORS)


def _is_due(table: Table) -> bool:
    waiting = max((index.num_unindexed_rows or 0 for index in table.list_indices()), default=0)
    statistics: Any = table.stats()
    scattered: int = statistics["fragment_stats"]["num_small_fragments"]
    return waiting > ROWS_WORTH_INDEXING or scattered > COMMITS_WORTH_MERGING


def _written(folder: Path) -> list[float]:
    """When each version was written, the oldest first."""
    return sorted(version.stat().st_mtime for version in (folder / "_versions").iterdir())


def _superseded(versions: list[float]) -> int:
    """How many versions were followed by another long enough ago for no one to read them any more."""
    return max(0, sum(written <= time.time() - KEPT for written in versions) - 1)


def _age_to_remove(versions: list[float]) -> timedelta:
    """Older versions can go. The one that was current when `KEPT` began may still be read, however old it is."""
    now = time.time()
    current = max((written for written in versions if written <= now - KEPT), default=now - KEPT)
    return timedelta(seconds=now - current + LEEWAY)


TABLE = "passages"
MOST_WORDS = 200  # of a query; one with more is a document
NO_VECTOR: Literal["null"] = "null"  # otherwise the database would complain of rows that have none
MOST_NAMED = 1000  # documents in one condition


class Store:
    """`recipe` tells how rows are made now. The folder need not be there: it is created with the first document."""

    def __init__(self, folder: Path, dimensions: int | Callable[[], int], recipe: dict[str, Any]) -> None:
        self._dimensions = dimensions
        self._folder = folder
        self._home = folder / f"{TABLE}.lance"
        self._recipe = recipe
        self._opened: Table | None = None
        self._languages: tuple[object, frozenset[str]] = (None, frozenset())

    @cached_property
    def schema(self) -> pa.Schema:
        """Made when something is written: a provider has to be asked how many dimensions its vectors have."""
        dimensions = self._dimensions if isinstance(self._dimensions, int) else self._dimensions()
        return rows.schema(dimensions, self._recipe)

    @property
    def version(self) -> tuple[int, int]:
        """Another one after every change, also when all was removed and began anew."""
        with explained(self._folder):
            table = self._table
            return (0, 0) if table is None else (self._home.stat().st_ctime_ns, int(table.version))

    def by_words(self, words: Sequence[str], limit: int, language: str | None = None) -> list[Hit]:
        """The passages that hold the words, by BM25."""
        return self._by_text("words", words, limit, language)

    def by_entities(self, names: Sequence[str], limit: int) -> list[Hit]:
        """The passages that hold the names, those with rare ones first."""
        return self._by_text("entities", names, limit, None)

    def by_vector(self, vector: Any, limit: int) -> list[Hit]:
        """The passages nearest in meaning. `score` is 0: the caller has the vectors."""

        def query(table: Any) -> Any:
            return table.search(vector, vector_column_name="vector").distance_type("dot")

        return self._hits(query, limit, "_distance")

    def by_ids(self, ids: Sequence[str]) -> list[Hit]:
        """The passages with these ids, as far as they are still there. `score` is 0."""
        wanted = list(dict.fromkeys(ids))[:MOST_NAMED]
        if not wanted:
            return []
        self.require_same_recipe()
        columns = list(rows.PASSAGE_COLUMNS)
        found = self._scan(columns, f"id IN ({_listed(wanted)}) AND kind = '{PASSAGE}'")
        return rows.hits_of(found.append_column("_score", pa.array([0.0] * found.num_rows)), "_score")

    def words(self) -> pa.ChunkedArray:
        """The words by which each passage is found, separated by spaces."""
        return self._scan(["words"], f"kind = '{PASSAGE}'")["words"]

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

    def document(self, document_id: str) -> KnownDocument | None:
        found = self._scan(rows.DOCUMENT_COLUMNS, f"id = {_quoted(rows.row_id(document_id))}").to_pylist()
        return rows.known_document_of(found[0]) if found else None

    def fingerprints(self) -> list[Fingerprint]:
        return [Fingerprint(**row) for row in self._scan(rows.FINGERPRINT_COLUMNS).to_pylist()]

    def text(self, document_id: str) -> str | None:
        """The whole text of a document, into which the offsets of its passages point."""
        found = self._scan(["text"], f"id = {_quoted(rows.row_id(document_id))}")
        return str(found["text"][0]) if found.num_rows else None

    def page_starts(self, document_id: str) -> list[int]:
        """Where each page of a document begins in its text; none where its source has no pages."""
        found = self._scan(["pages"], f"id = {_quoted(rows.row_id(document_id))}").to_pylist()
        return list(found[0]["pages"] or []) if found else []

    def bodies(self, batch: int = 64) -> Iterator[dict[str, Any]]:
        """All there is to know of each document, its whole text included, as it was when the first one is taken."""
        with explained(self._folder):
            table = self._table
            if table is not None:
                for some in table.search().where(f"kind = '{DOCUMENT}'").to_batches(batch_size=batch):
                    yield from some.drop_columns(["vector"]).to_pylist()

    def replace(self, table: pa.Table, known: Iterable[str]) -> None:
        """Write the rows. Of the documents that are `known`, everything that was there before goes: in one commit."""
        self.require_same_recipe()
        gone = _listed(known)
        with explained(self._folder):
            there = self._table
            target = self._create() if there is None else there  # an empty one counts as False
            if not gone:
                target.add(table, on_bad_vectors=NO_VECTOR)
                return
            (
                target.merge_insert("id")
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .when_not_matched_by_source_delete(f"document_id IN ({gone})")
                .execute(table, on_bad_vectors=NO_VECTOR)
            )

    def confirm(self, marks: Sequence[Fingerprint]) -> None:
        """Note that these files were read again and hold what they held: the next time their looks will do."""
        columns = ("size", "modified", "checked")
        with explained(self._folder):
            table = self._table
            if table is None or not marks:
                return
            told = {name: [getattr(mark, name) for mark in marks] for name in columns}
            told["id"] = [rows.row_id(mark.document_id) for mark in marks]
            table.merge_insert("id").when_matched_update_all().execute(pa.table(told))

    def rebuild(self, tables: Iterator[pa.Table]) -> None:
        """Write everything anew, in one commit at the end. Until then the old rows stay."""
        source = _Remembering(tables)
        try:
            with explained(self._folder):
                reader = pa.RecordBatchReader.from_batches(self.schema, source.batches())
                self._opened = self._connected().create_table(
                    TABLE, reader, schema=self.schema, mode="overwrite", on_bad_vectors=NO_VECTOR
                )
        except KnowledgeError:
            if source.problem is not None:  # it comes back from the database as something else
                raise source.problem from None
            raise

    def forget(self, document_ids: Sequence[str]) -> None:
        with explained(self._folder):
            table = self._table
            if table is not None:
                for start in range(0, len(document_ids), MOST_NAMED):
                    table.delete(f"document_id IN ({_listed(document_ids[start : start + MOST_NAMED])})")

    def maintain(self, purge: bool = False) -> None:
        """Bring the indexes up to date where that pays. With `purge`, nothing of earlier versions stays on the disk."""
        with explained(self._folder):
            table = self._table
            if table is not None:
                maintain(table, self._home, purge)

    def require_same_recipe(self) -> None:
        """Raise unless the rows were made as rows are made now."""
        self._searchable()

    def _searchable(self) -> Table | None:
        with explained(self._folder):
            table = self._table
            made = self._recipe if table is None else rows.recipe_of(table.schema)
        if made != self._recipe:
            changed = [name for name in self._recipe if made.get(name) != self._recipe[name]]
            told = " and ".join(f"{name} {made.get(name)}, not {self._recipe[name]}" for name in changed)
            raise OutdatedIndexError(
                f'The documents in "{self._folder}" were indexed with {told}: run "veracity reindex", '
                "or set back what was changed."
            )
        return table

    @property
    def _table(self) -> Table | None:
        """None as long as nothing was ever stored, and when someone has removed it all."""
        if not self._home.is_dir():
            self._opened = None
        elif self._opened is None:
            self._opened = self._open()
        return self._opened

    def _open(self) -> Table | None:
        try:
            return self._connected().open_table(TABLE)
        except ValueError:  # it is not there: all there is to see is that someone began to create it
            if any(self._home.rglob("*.lance")):
                raise
            return None

    def _create(self) -> Table:
        """With its indexes, so that the first words are split as all others."""
        self._opened = self._connected().create_table(TABLE, schema=self.schema)
        create_indexes(self._opened)
        return self._opened

    def _connected(self) -> lancedb.DBConnection:
        """Connecting creates the folder, so it is put off. At every question the database looks for a new version."""
        return lancedb.connect(self._folder, read_consistency_interval=timedelta(0))

    def _by_text(self, column: str, words: Sequence[str], limit: int, language: str | None) -> list[Hit]:
        wanted = list(dict.fromkeys(words))[:MOST_WORDS]
        if not wanted:
            self.require_same_recipe()
            return []
        match = MatchQuery(" ".join(wanted), column)  # type: ignore[call-arg]  # the others have defaults

        def query(table: Any) -> Any:
            found = table.search(match, query_type="fts")
            return found.where(f"language = {_quoted(language)}", prefilter=True) if language else found

        return self._hits(query, limit, "_score")

    def _hits(self, query: Callable[[Table], Any], limit: int, score: str) -> list[Hit]:
        """What is read may be replaced and removed by another process in the midst of it: then once more."""
        columns = [*rows.PASSAGE_COLUMNS, score]
        table = self._searchable()
        if table is None:
            return []
        try:
            found = query(table).limit(limit).select(columns).to_arrow()
        except (OSError, RuntimeError, ValueError):
            self._opened = None
            table = self._searchable()
            if table is None:
                return []
            with explained(self._folder):
                found = query(table).limit(limit).select(columns).to_arrow()
        return rows.hits_of(found, score)

    def _scan(self, columns: list[str], where: str = f"kind = '{DOCUMENT}'") -> pa.Table:
        with explained(self._folder):
            table = self._table
            if table is None:
                return rows.schema(1, {}).empty_table().select(columns)
            return table.search().where(where).select(columns).limit(None).to_arrow()


class _Remembering:
    """The batches of some tables, and what went wrong while they were made."""

    def __init__(self, tables: Iterator[pa.Table]) -> None:
        self._tables = tables
        self.problem: BaseException | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for table in self._tables:
                yield from table.to_batches()
        except BaseException as problem:
            self.problem = problem
            raise


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(map(_quoted, texts))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
