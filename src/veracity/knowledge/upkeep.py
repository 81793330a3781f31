"""Keeps the table's indexes worth having. Rows that are not indexed yet are found all the same, only more slowly.

Knows nothing about what the rows hold.
"""

from __future__ import annotations

from datetime import timedelta

from lancedb.index import FTS, HnswSq
from lancedb.table import Table

# Looking through so many vectors one by one takes about as long as an index does.
VECTORS_WORTH_AN_INDEX = 10_000
ROWS_WORTH_INDEXING = 256
COMMITS_WORTH_MERGING = 32
# Readers hold on to a version for as long as a search takes.
KEPT_VERSIONS = timedelta(minutes=10)

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


def maintain(table: Table) -> None:
    indexed = {index.columns[0]: index for index in table.list_indices()}
    for column in ("words", "entities"):
        if column not in indexed:
            table.create_index(column, config=WORDS)
    if "vector" not in indexed and table.count_rows("vector IS NOT NULL") >= VECTORS_WORTH_AN_INDEX:
        table.create_index("vector", config=VECTORS)
    waiting = max((index.num_unindexed_rows or 0 for index in indexed.values()), default=0)
    if waiting > ROWS_WORTH_INDEXING or table.stats()["fragment_stats"]["num_small_fragments"] > COMMITS_WORTH_MERGING:
        table.optimize(cleanup_older_than=KEPT_VERSIONS)
