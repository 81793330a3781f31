"""Keeps the table's indexes and its folder worth having. Rows that are not indexed yet are found all the same, only
more slowly.

Whoever calls holds the writer's lock. Knows nothing about what the rows hold.
"""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from veracity.knowledge.lance import FTS, HnswSq, Table

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
